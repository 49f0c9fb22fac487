"""The readers' API over HTTP: live articles, and nothing that is not live."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import User
from django.db import connection
from rest_framework.test import APIClient

from articles.models import Article, Tag
from tests.articles.factories import make_article, make_channel, soon

URL = "/api/v1/articles/"
Status = Article.Status

pytestmark = pytest.mark.django_db


def get(url: str = URL, **query: Any) -> Any:
    return APIClient().get(url, query)


def titles(**query: Any) -> list[str]:
    """The titles of the page that the query brings."""
    return [article["title"] for article in get(**query).json()["results"]]


def publish(title: str = "Harbour bridge reopens", **values: Any) -> Article:
    """An article that is out since a minute."""
    return make_article(title, **({"status": Status.PUBLISHED, "publish_at": soon(minutes=-1)} | values))


def test_a_live_article_has_all_fields() -> None:
    author = User.objects.create_user("ada", first_name="Ada", last_name="Lin")
    channel = make_channel("Politics", description="Who decides what")
    article = publish(body="<p>Cars roll again.</p><script>alert(1)</script>", channel=channel, author=author)
    article.tags.add(Tag.objects.create(name="高铁"))
    shown = get(f"{URL}{article.pk}/").json()
    assert shown["body"] == "<p>Cars roll again.</p>"
    assert shown["byline"] == "Ada Lin"
    assert shown["channel"] == {"name": "Politics", "slug": "politics", "description": "Who decides what"}
    assert shown["tags"] == [{"name": "高铁", "slug": "高铁"}]
    assert shown["url"].startswith("http") and shown["url"].endswith(article.get_absolute_url())
    assert datetime.fromisoformat(shown["publish_at"]) == article.publish_at
    assert "body" not in get().json()["results"][0]


def test_login_names_are_never_shown() -> None:
    article = publish(author=User.objects.create_user("ada.l"))
    assert "ada.l" not in get(f"{URL}{article.pk}/").content.decode()


def hidden_articles() -> dict[str, Article]:
    """One of each kind that readers must not see."""
    past, future = soon(minutes=-1), soon(minutes=1)
    hidden: dict[str, dict[str, Any]] = {
        str(status.label): {"status": status, "publish_at": past} for status in set(Status) - set(Status.visible())
    }
    hidden["scheduled"] = {"status": Status.APPROVED, "publish_at": future}
    hidden["embargoed"] = {"status": Status.PUBLISHED, "publish_at": past, "embargo_until": future}
    hidden["over"] = {"status": Status.PUBLISHED, "publish_at": soon(hours=-1), "unpublish_at": past}
    hidden["no time"] = {"status": Status.APPROVED}
    return {name: make_article(name, **values) for name, values in hidden.items()}


def test_articles_that_are_not_live_give_404() -> None:
    unknown = get(f"{URL}987654321/")
    assert (unknown.status_code, unknown.json()["code"]) == (404, "not_found")
    for article in hidden_articles().values():
        response = get(f"{URL}{article.pk}/")
        assert (response.status_code, response.content) == (404, unknown.content)
    assert titles() == []


def test_an_approved_article_is_visible_at_its_second_without_any_worker() -> None:
    article = publish(status=Status.APPROVED)
    assert titles() == [article.title]
    assert datetime.fromisoformat(get(f"{URL}{article.pk}/").json()["published_at"]) == article.goes_live_at


def test_a_web_server_with_a_wrong_clock_shows_nothing_early() -> None:
    """The database's clock decides, which on SQLite is the web server's own."""
    article = publish(status=Status.APPROVED, publish_at=soon(hours=1))
    with time_machine.travel(datetime.now(UTC) + timedelta(hours=2)):
        response = get(f"{URL}{article.pk}/")
    assert response.status_code == (200 if connection.vendor == "sqlite" else 404)


def test_the_list_is_newest_first_and_filtered() -> None:
    """R5.8"""
    politics, sport = make_channel("Politics"), make_channel("Sport")
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    publish("Old", publish_at=noon, channel=sport, summary="Rowing in the rain")
    publish("Middle", publish_at=noon + timedelta(hours=1), channel=politics, body="<p>rain and budget</p>")
    publish("新闻 New", publish_at=noon + timedelta(hours=2))
    assert titles() == ["新闻 New", "Middle", "Old"]
    assert titles(channel="sport") == ["Old"]
    assert get(channel="nothing").status_code == 400
    assert titles(since="2026-03-01T13:00:00Z") == ["新闻 New", "Middle"]
    assert titles(until="2026-03-01T21:00:00+08:00") == ["Old"]
    assert get(f"{URL}?until=2026-03-01T21:00:00+08:00").json() == get(f"{URL}?until=2026-03-01T13:00:00Z").json()
    assert titles(since="2026-03-01T13:00:00Z", until="2026-03-01T14:00:00Z") == ["Middle"]


@pytest.mark.parametrize(
    ("query", "field", "code"),
    [
        ({"since": "2026-03-01T12:00:00"}, "since", "naive_time"),
        ({"until": "2026-03-01"}, "until", "naive_time"),
        ({"since": "yesterday"}, "since", "invalid"),
        ({"until": "0001-01-01T00:00:00+14:00"}, "until", "out_of_range"),
        ({"until": "9999-12-31T23:59:59-14:00"}, "until", "out_of_range"),
        ({"q": "x" * 101}, "q", "max_length"),
        ({"q": "a\0b"}, "q", "null_characters_not_allowed"),
        ({"page_size": "0"}, "page_size", "invalid"),
        ({"page_size": "-1"}, "page_size", "invalid"),
        ({"page_size": "many"}, "page_size", "invalid"),
        ({"page_size": "٣"}, "page_size", "invalid"),
    ],
)
def test_a_wrong_parameter_is_reported(query: dict[str, str], field: str, code: str) -> None:
    response = get(**query)
    assert (response.status_code, response.json()["code"]) == (400, code)
    assert response.json()[field]


def test_a_naive_time_is_refused_with_advice() -> None:
    assert "give one with an offset" in get(since="2026-03-01T12:00:00").json()["since"][0]


def test_pages_lead_through_articles_of_the_same_instant() -> None:
    """Neither skipped nor repeated, also when one more goes live in between."""
    instant = soon(minutes=-5)
    expected = [publish(f"Result {number}", publish_at=instant).title for number in range(7)][::-1]
    page, found, back = get(page_size=3).json(), list[str](), list[str]()
    publish("Breaking")
    while True:
        found += [article["title"] for article in page["results"]]
        if page["next"] is None:
            break
        page = get(page["next"]).json()
    assert found == expected
    while page["previous"] is not None:
        page = get(page["previous"]).json()
        back = [article["title"] for article in page["results"]] + back
    assert back == ["Breaking", *expected[:6]]


def test_live_articles_are_found_by_what_names_them_and_no_others() -> None:
    first, second, third = (publish(title=title, slug=title.lower()) for title in ("One", "Two", "Three"))
    draft = make_article("Secret", slug="secret")
    later = publish(title="Later", slug="later", publish_at=soon(hours=1))
    Article.objects.filter(pk=first.pk).update(external_id="wire:1")

    def found(**query: Any) -> list[int]:
        response = get(**query)
        assert response.status_code == 200, response.content
        return [row["id"] for row in response.json()["results"]]

    hidden = f"{draft.pk},{later.pk},987654321"
    assert found(ids=f"{first.pk},{third.pk},{hidden}") == [third.pk, first.pk]
    assert found(ids=hidden) == found(slug="secret") == found(slug="later") == []
    assert found(slug="two") == found(address=f"/article/{second.pk}/a-former-slug/") == [second.pk]
    assert found(address=later.get_absolute_url()) == found(address="/about/") == []
    assert found(ids=f"{first.pk},{third.pk}", ordering="published_at") == [first.pk, third.pk]
    for wrong, field in (
        ({"external_id": "wire:1"}, "external_id"), ({"ordering": "title"}, "ordering"), ({"ids": "x"}, "ids"),
        ({"q": "One", "slug": "one"}, "q"), ({"updated_since": "2020-01-01T00:00:00Z", "ids": "1"}, "updated_since"),
    ):  # fmt: skip
        refused = get(**wrong)
        assert (refused.status_code, field in refused.json()) == (400, True), wrong


def test_readers_pick_fields() -> None:
    article = publish()
    assert get(fields="id,title").json()["results"] == [{"id": article.pk, "title": article.title}]
    assert get(f"{URL}{article.pk}/", fields="title").json() == {"title": article.title}
    assert get(updated_since="2000-01-01T00:00:00Z", fields="id").json()["results"] == [{"id": article.pk}]
    assert get(f"{URL}{article.pk}/").json().keys() > {"title", "body"}, "the whole article is cached apart"
    for url in (URL, f"{URL}{article.pk}/"):
        assert get(url, fields="title,author").json()["code"] == "unknown_field"


def test_the_oldest_come_first_on_request() -> None:
    at = soon(minutes=-1)
    made = [publish(title=title, publish_at=at).pk for title in ("One", "Two", "Three")]
    made.insert(0, publish(title="Oldest", publish_at=soon(hours=-1)).pk)
    ids, address = [], f"{URL}?ordering=published_at&page_size=1"
    while address:
        page = get(address).json()
        ids += [row["id"] for row in page["results"]]
        address = page["next"]
    assert ids == made


def test_a_page_keeps_its_filter() -> None:
    sport = make_channel("Sport")
    for number in range(3):
        publish(f"Match {number}", channel=sport)
        publish(f"Other {number}")
    page = get(page_size=2, channel="sport").json()
    assert [article["title"] for article in get(page["next"]).json()["results"]] == ["Match 0"]


def test_no_page_is_longer_than_fifty() -> None:
    Article.objects.bulk_create(
        Article(title=f"Item {number}", status=Status.PUBLISHED, publish_at=soon(minutes=-1)) for number in range(60)
    )
    assert (len(titles()), len(titles(page_size=1000)), len(titles(page_size="9" * 5000))) == (20, 50, 50)


@pytest.mark.parametrize("cursor", ["", "x", "cD0yMDI2", "WzEsMl0:forged", "ü", "a" * 4000, "\0"])
def test_a_forged_cursor_is_refused(cursor: str) -> None:
    response = get(cursor=cursor)
    assert (response.status_code, response.json()["code"]) == (404, "invalid_cursor")


@pytest.mark.parametrize("pk", ["0", "-1", "9" * 30, "9" * 5000, "x", "1e3"])
def test_an_impossible_id_is_not_found(pk: str) -> None:
    assert get(f"{URL}{pk}/").status_code == 404


def test_a_list_costs_three_queries_however_long_it_is(django_assert_num_queries: Any) -> None:
    author = User.objects.create_user("ada")
    tag = Tag.objects.create(name="elections")
    for number in range(8):
        channel = make_channel(f"Channel {number}")
        article = publish(f"Item {number}", channel=channel, author=author)
        article.tags.add(tag)
    with django_assert_num_queries(3) as list_queries:  # the next change; articles with channel and author; tags
        assert len(titles()) == 8
    assert "body" not in list_queries.captured_queries[1]["sql"]
    with django_assert_num_queries(4):  # and corrections
        get(f"{URL}{article.pk}/")
    with django_assert_num_queries(2):
        get("/api/v1/channels/")


def test_channels_come_in_the_order_of_the_site_without_disabled_ones() -> None:
    make_channel("Weather", position=2)
    make_channel("Politics", position=1)
    make_channel("Closed", position=0, enabled=False)
    assert [channel["slug"] for channel in get("/api/v1/channels/").json()] == ["politics", "weather"]


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
def test_the_readers_api_is_read_only(method: str) -> None:
    article = publish()
    for url in (URL, f"{URL}{article.pk}/", "/api/v1/channels/"):
        response = getattr(APIClient(), method)(url, {})
        assert (response.status_code, response.json()["code"]) == (405, "method_not_allowed")


def test_many_requests_from_one_address_are_throttled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headline.api.throttling.AddressThrottle.rate", "2/min", raising=False)
    responses = [get() for _ in range(3)]
    assert [response.status_code for response in responses] == [200, 200, 429]
    assert responses[2].json()["code"] == "throttled"
    spoofed = APIClient().get(URL, headers={"X-Forwarded-For": "10.0.0.9"})
    assert spoofed.status_code == 429
