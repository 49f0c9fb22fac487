"""The readers' pages: contents, redirects, headers and languages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.test import Client
from django.utils import timezone

from articles import publishing
from articles.models import Article, Tag
from articles.site.pagination import SIZE
from tests.articles.factories import APPROVED, approve, make_article, make_channel, make_editor, make_user, soon

pytestmark = pytest.mark.django_db

Status = Article.Status


def live(title: str = "Harbour bridge reopens", **values: object) -> Article:
    return make_article(title, **{"status": Status.PUBLISHED, "publish_at": soon(hours=-1), **values})


def hidden_articles() -> list[Article]:
    """One of each kind that readers must not see."""
    statuses = set(Status) - set(Status.visible())
    return [
        *(make_article(f"Hidden {status.name}", status=status, publish_at=soon(hours=-1)) for status in statuses),
        make_article("Hidden without a time", status=APPROVED),
        make_article("Hidden until later", status=APPROVED, publish_at=soon(hours=1)),
        make_article("Hidden by embargo", status=APPROVED, publish_at=soon(hours=-1), embargo_until=soon(hours=1)),
        make_article("Hidden since its end", status=APPROVED, publish_at=soon(hours=-2), unpublish_at=soon(hours=-1)),
    ]


@pytest.mark.cases(2)
@pytest.mark.parametrize("address", ["/", "/latest/", "/channel/politics/", "/tag/bridges/"])
def test_lists_show_what_is_live_and_nothing_else(client: Client, address: str) -> None:
    channel, tag = make_channel(), Tag.objects.create(name="Bridges")
    article = live(channel=channel)
    article.tags.add(tag)
    for hidden in hidden_articles():
        hidden.channel = channel
        hidden.save()
        hidden.tags.add(tag)
    page = client.get(address)
    assert article.title in page.text
    assert "Hidden" not in page.text


def test_an_article_that_is_not_live_has_no_page(client: Client) -> None:
    for article in hidden_articles():
        assert client.get(article.get_absolute_url()).status_code == 404


def test_an_approved_article_is_live_at_its_time_without_any_worker(client: Client) -> None:
    """R0.2"""
    article = make_article(status=APPROVED, publish_at=soon(seconds=-1))
    assert article.title in client.get("/").text
    assert client.get(article.get_absolute_url()).status_code == 200


def test_an_article_shows_its_text_author_tags_and_time_with_zone(client: Client) -> None:
    author = make_user("alice")
    author.first_name, author.last_name = "Alice", "Warren"
    author.save()
    article = live(author=author, body="First.\n\nSecond.", publish_at=datetime(2026, 7, 1, 5, tzinfo=UTC))
    article.tags.add(Tag.objects.create(name="Harbour"))
    with timezone.override(ZoneInfo("Europe/Berlin")):
        text = client.get(article.get_absolute_url()).text
    for expected in ("<p>First.</p>", "<p>Second.</p>", "Alice Warren", "Harbour", "1 Jul 2026, 07:00 UTC+2"):
        assert expected in text
    assert 'datetime="2026-07-01T07:00:00+02:00"' in text


def test_a_byline_replaces_the_author_and_login_names_are_never_shown(client: Client) -> None:
    assert "By the wire" in client.get(live(byline="By the wire").get_absolute_url()).text
    assert "alice" not in client.get(live(author=make_user("alice")).get_absolute_url()).text


def test_scripts_in_a_text_are_removed(client: Client) -> None:
    article = live("<script>alert(1)</script>", body="<p onclick=alert(2)>Hi<script>alert(3)</script></p>")
    for address in ("/", article.get_absolute_url()):
        text = client.get(address).text
        assert "alert(2)" not in text
        assert "<script>alert" not in text


def test_an_old_slug_redirects_to_the_current_one(client: Client) -> None:
    article = live("国产大飞机完成高原试飞", slug="Old")
    mia = make_editor("mia")
    publishing.edit(article, by=mia, changes={"slug": "new"})
    publishing.submit(article, by=mia)
    approve(article)
    publishing.publish_update(article, by=mia)
    for address in (f"/article/{article.pk}/old/", f"/article/{article.pk}/Old/", f"/article/{article.pk}/"):
        page = client.get(address)
        assert (page.status_code, page["Cache-Control"]) == (301, "private, no-store")
        assert client.get(page["Location"]).status_code == 200


def test_a_slug_that_an_article_never_had_is_not_found(client: Client) -> None:
    """Its number may be another article's, where the site was before."""
    assert client.get(f"/article/{live('Harbour').pk}/gale-warning/").status_code == 404


def test_an_article_without_a_slug_has_a_page(client: Client) -> None:
    article = live("!!!")
    assert client.get(article.get_absolute_url()).status_code == 200


def test_a_disabled_channel_has_no_page(client: Client) -> None:
    """R5.6"""
    make_channel(enabled=False)
    assert client.get("/channel/politics/").status_code == 404
    assert "Politics" not in client.get("/").text


def test_every_article_is_on_exactly_one_page_even_with_equal_times(client: Client) -> None:
    moment = soon(hours=-1)
    for number in range(2 * SIZE + 3):
        live(f"No. {number}", publish_at=moment)
    address, seen = "/", []
    while address:
        page = client.get(address).context["page"]
        seen += [article.pk for article in page.articles]
        address = f"/{page.older}" if page.older else ""
    assert seen == sorted(Article.objects.values_list("pk", flat=True), reverse=True)


@pytest.mark.parametrize("before", ["x", "-1", "999999", "²", "1e3", "9" * 30, "\0", "١"])
def test_a_page_after_the_last_article_gives_404(client: Client, before: str) -> None:
    assert client.get("/", {"before": before}).status_code == 404


def test_an_open_page_sees_new_edited_and_unpublished_articles(client: Client) -> None:
    """R5.5"""
    versions = [client.get("/latest/")["ETag"]]
    article = live()
    versions.append(client.get("/latest/")["ETag"])
    article.title = "Harbour bridge reopens early"
    article.save()
    versions.append(client.get("/latest/")["ETag"])
    article.status = Status.UNPUBLISHED
    article.save()
    assert client.get("/latest/")["ETag"] == versions[0]
    assert len(set(versions)) == 3


def test_a_scheduled_article_is_not_in_the_response_for_open_pages(client: Client) -> None:
    live()
    before = client.get("/latest/")
    for _ in hidden_articles():
        pass
    after = client.get("/latest/")
    assert (before.content, before["ETag"]) == (after.content, after["ETag"])


def test_pages_are_in_chinese_for_browsers_that_prefer_it(client: Client) -> None:
    client.post("/i18n/setlang/", {"language": "zh-hans", "next": "/"})
    assert '<html lang="zh-hans">' in client.get("/").text


def test_readers_get_no_cookie_before_they_choose_a_language() -> None:
    client = Client(enforce_csrf_checks=True)
    assert not client.get("/").cookies
    response = client.post("/i18n/setlang/", {"language": "zh-hans", "next": "/search/"})
    assert (response["Location"], list(response.cookies)) == ("/search/", ["django_language"])
    assert "Cookie" in client.get("/")["Vary"]


def test_the_page_header_has_the_date_in_the_sites_time_zone(admin_client: Client) -> None:
    with timezone.override(ZoneInfo("Asia/Shanghai")):
        page = admin_client.get("/", {"at": "2099-11-21T23:30Z"})
    assert "Sunday, 22 November 2099" in page.text


def test_an_empty_front_page_says_so(client: Client) -> None:
    assert "Nothing has been published yet" in client.get("/").text


def test_an_article_is_unpublished_at_its_time_without_any_worker(client: Client) -> None:
    """R5.5"""
    article = live(unpublish_at=soon() + timedelta(hours=1))
    assert article.title in client.get("/").text
    Article.objects.update(unpublish_at=soon())
    assert article.title not in client.get("/").text


@pytest.mark.parametrize(
    "address",
    [f"/article/{'9' * 30}/x/", "/article/0/-/", "/channel/%00/", "/channel/%F0%9F%97%9E/", "/channel/x/latest/x"],
)
def test_unknown_urls_give_404(client: Client, address: str) -> None:
    assert client.get(address).status_code == 404


def test_the_menu_begins_with_the_latest_articles(client: Client) -> None:
    assert ">Latest</a>" in client.get("/").text


def test_a_retracted_article_says_so_in_its_title(client: Client) -> None:
    article = live(status=Status.RETRACTED, published_at=soon(hours=-1), retraction_notice="A source was forged.")
    page = client.get(article.get_absolute_url())
    assert page.status_code == 410
    assert "<title>Retracted" in page.text


def test_the_icon_is_found_where_browsers_look_for_it(client: Client) -> None:
    answer = client.get("/favicon.ico")
    assert (answer.status_code, answer.headers["Location"].endswith(".svg")) == (302, True)
