"""`?at=`: the newsroom sees the whole site as readers will get it at another instant."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.core.cache import caches
from django.db import connection, models
from django.test import Client

from articles import publishing, releases
from articles.models import Article, Correction, FrontSeries, FrontVersion, Release, ReleaseMember, Update
from scheduling.workers.worker import Worker
from tests.articles.factories import APPROVED, EARLY, make_article, make_front, make_release, make_user, soon
from tests.articles.releases.test_by_clock import Newsroom, differences, seen

pytestmark = pytest.mark.django_db(transaction=True)

Seen = dict[str, tuple[int, str, str]]
TIMES = ("publish_at", "unpublish_at", "embargo_until")


@pytest.fixture
def newsroom() -> Newsroom:
    return Newsroom()


def desk_of(newsroom: Newsroom) -> Client:
    desk = Client()
    desk.force_login(newsroom.irene)
    return desk


def at(address: str, moment: datetime | str) -> str:
    given = moment if isinstance(moment, str) else moment.isoformat()
    return f"{address}{'&' if '?' in address else '?'}{urlencode({'at': given})}"


def plan(newsroom: Newsroom, moment: datetime) -> None:
    """An article, an update, an end, a release and a front before `moment`."""
    coming = newsroom.waiting("Coming headline")
    Article.objects.filter(pk=coming.pk).update(publish_at=moment, cleared_at=EARLY)
    Article.objects.filter(pk=newsroom.linking.pk).update(unpublish_at=moment)
    newsroom.update(newsroom.old, "It was wrong.", title="New headline", channel=newsroom.world, tags=[newsroom.snow])
    Update.objects.update(publish_at=moment, updated_at=EARLY)
    release = make_release(newsroom.waiting("Fresh headline"), by=newsroom.irene)
    releases.add_member(release, article=newsroom.other, action=ReleaseMember.Action.UNPUBLISH, by=newsroom.irene)
    releases.schedule_release(release, publish_at=moment, by=newsroom.irene)
    Release.objects.update(updated_at=EARLY)
    make_front(coming, live_from=moment, language="zh-hans")


def shift(passed: timedelta) -> None:
    """Let this time pass: everything planned is so much nearer."""
    for model, names in (
        (
            Article,
            (
                "publish_at",
                "unpublish_at",
                "embargo_until",
                "published_at",
                "cleared_at",
                "created_at",
                "text_changed_at",
            ),
        ),
        (Correction, ("published_at",)),
        (Update, ("publish_at",)),
        (Release, ("publish_at",)),
        (FrontVersion, ("live_from",)),
        (FrontSeries, ("first", "last")),
    ):
        values: dict[str, Any] = {name: models.F(name) - passed for name in names}
        models.QuerySet(model).update(**values)


def previewed(desk: Client, addresses: list[str], moment: datetime) -> Seen:
    """What the preview shows, without its bar and with the addresses of the live site."""
    found = {}
    for address in addresses:
        response = desk.get(at(address, moment))
        text = re.sub(r'(?s)\s*<aside class="reading-bar".*?</aside>', "", response.content.decode())
        text = re.sub(r"(\?|&amp;|&)at=[^\"&]*", "", text)
        found[address] = response.status_code, re.sub(r"[?&]at=.*", "", response.headers.get("Location", "")), text
    return found


def without_times(pages: Seen) -> Seen:
    """Without what tells one moment from another, since the time that passes is only pretended."""
    pattern = (
        r"\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)?|\w{3}, \d\d \w{3} \d{4} [\d:]+ \+0000|\d+\.\d{6}"
        r"|<time.*?</time>|(?:before|after|cursor|older)=[\w~:%-]+|(?s:<script.*?</script>)|class=\"at-another-instant\""
        r"|<input type=\"hidden\" name=\"at\"[^>]*>|\s+"
    )
    return {key: (status, where, re.sub(pattern, "", text)) for key, (status, where, text) in pages.items()}


def test_every_output_is_previewed_as_readers_get_it_later(newsroom: Newsroom) -> None:
    moment, passed = soon(minutes=20), timedelta(minutes=20)
    plan(newsroom, moment)
    addresses, desk = newsroom.addresses(), desk_of(newsroom)
    between = without_times(previewed(desk, addresses, moment - timedelta(minutes=1)))
    assert not differences(between, without_times(seen(addresses)))
    preview = without_times(previewed(desk, addresses, moment + timedelta(seconds=1)))
    assert all(f"{name}headline" in str(preview) for name in ("Coming", "New", "Fresh"))
    shift(passed + timedelta(seconds=1))
    publishing.sync_tasks(list(Article.objects.values_list("pk", flat=True)))
    releases.sync_release_tasks(list(Release.objects.values_list("pk", flat=True)))
    Worker().drain()
    assert not differences(preview, without_times(seen(addresses)))


def test_the_bar_says_the_instant_and_leads_to_the_changes_beside_it_and_to_the_live_site(newsroom: Newsroom) -> None:
    first, second = soon(hours=1), soon(hours=3)
    for moment in (first, second):
        make_article("Coming", status=APPROVED, publish_at=moment, cleared_at=EARLY)
    page = desk_of(newsroom).get(at("/", first + timedelta(hours=1)))
    for name, moment in (("prev", first), ("next", second)):
        assert f'<a href="?{urlencode({"at": moment.isoformat()})}" rel="{name}">' in page.text
    assert 'class="at-another-instant"' in page.text and '<a class="live" href="/">Live site</a>' in page.text
    links = re.findall(r'<a (?!class="live")[^>]*href="(/[^"#]*)"', page.text)
    assert links and not [link for link in links if "at=" not in link]
    assert "just_in.js" not in page.text


def test_the_bar_offers_the_coming_changes_as_stops_and_keeps_the_pages_parameters(newsroom: Newsroom) -> None:
    first, second = soon(hours=1), soon(hours=3)
    for moment in (first, first, second):
        make_article("Coming headline", status=APPROVED, publish_at=moment, cleared_at=EARLY)
    make_front(live_from=second)
    make_article("Never seen", status=APPROVED, publish_at=soon(hours=2), unpublish_at=soon(hours=1), cleared_at=EARLY)
    page = desk_of(newsroom).get(at("/search/?q=coming", second))
    assert page.text.count('<input type="hidden" name="q" value="coming">') == 3
    options = re.findall(r'<option value="([^"]+)"( selected)?>(.*?)</option>', page.text.partition("</select>")[0])
    assert [(value, bool(shown)) for value, shown, _label in options] == [
        (first.isoformat(), False), (second.isoformat(), True),
    ]  # fmt: skip
    assert [label.partition(" · ")[2] for _value, _shown, label in options] == [
        "2 × Goes live", "Goes live · Front goes live",
    ]  # fmt: skip
    assert 'rel="next">' not in page.text and "/search/?q=coming" in page.text


def test_only_who_may_open_an_embargoed_article_in_the_desk_sees_it_ahead_of_its_time(newsroom: Newsroom) -> None:
    held = newsroom.waiting("Held headline")
    Article.objects.filter(pk=held.pk).update(publish_at=EARLY, embargo_until=soon(hours=1), cleared_at=EARLY)
    rights = {"reader": "view_article", "reviewer": "review_article", "librarian": "view_image", "staff": ""}
    found = {}
    for name, right in rights.items():
        visitor = Client()
        visitor.force_login(make_user(name, *filter(None, [right])))
        form = visitor.get(f"/admin/articles/article/{held.pk}/preview/").status_code == 200
        addresses = ("/", held.get_absolute_url(), "/feed/", "/api/v1/articles/", f"/api/v1/articles/{held.pk}/")
        shown = {"Held headline" in visitor.get(at(address, soon(hours=2))).text for address in addresses}
        listed = "Held headline" in visitor.get("/admin/desk/next/").text
        found[name] = form, shown, listed
    assert found["reader"] == (True, {True}, True) and found["reviewer"][1:] == ({True}, True)
    assert found["librarian"] == found["staff"] == (False, {False}, False)


def test_a_crawler_gets_the_live_page_with_its_canonical_address(newsroom: Newsroom) -> None:
    make_article("Coming headline", status=APPROVED, publish_at=soon(hours=1), cleared_at=EARLY)
    crawler = Client(headers={"User-Agent": "Googlebot/2.1"})
    address = newsroom.old.get_absolute_url()
    page = crawler.get(at(address, soon(hours=2)))
    assert page.text == crawler.get(address).text and f'{address}">' in page.text
    assert "reading-bar" not in page.text and "at=" not in page.text


def test_it_is_neither_cached_nor_indexed_and_leaves_no_trace(newsroom: Newsroom) -> None:
    make_article("Coming headline", status=APPROVED, publish_at=soon(hours=1), cleared_at=EARLY)
    desk = desk_of(newsroom)
    caches["responses"].clear()
    for address in ("/", "/feed/", "/sitemap.xml", "/api/v1/articles/", "/search/?q=coming"):
        page = desk.get(at(address, soon(hours=2)))
        assert "no-store" in page.headers["Cache-Control"] and "noindex" in page.headers["X-Robots-Tag"]
        assert not {"ETag", "Last-Modified", "Surrogate-Key", "Cache-Tag"} & page.headers.keys()
        assert "Coming headline" not in desk.get(address).text
        assert "Coming headline" not in Client().get(address).text


@pytest.mark.parametrize("name", ["", "stranger"])
def test_who_may_not_read_the_newsrooms_articles_gets_the_live_site(newsroom: Newsroom, name: str) -> None:
    make_article("Coming headline", status=APPROVED, publish_at=soon(hours=1), cleared_at=EARLY)
    visitor = Client()
    if name:
        visitor.force_login(make_user(name))
    for text in (soon(hours=2).isoformat(), "nonsense"):
        page = visitor.get(at("/", text))
        assert page.status_code == 200 and "Coming headline" not in page.text and "reading-bar" not in page.text
        assert "no-store" not in page.headers["Cache-Control"]
    assert visitor.get(at("/api/v1/articles/", soon(hours=2))).status_code == 400


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("nonsense", "Give a time"),
        ("", "Give a time"),
        ("1" * 500, "Give a time"),
        ("0001-01-01T00:00", "1000 to 9999"),
        ("9999-12-31T23:59:59+00:00", "1000 to 9999"),
        ("2099-03-29T02:30", "does not exist"),
        ("2099-10-25T02:30", "twice"),
        ("2020-01-01T00:00:00+00:00", "is not recorded"),
    ],
)
def test_what_is_no_instant_to_come_is_refused_with_a_reason(
    newsroom: Newsroom, settings: Any, text: str, why: str
) -> None:
    settings.TIME_ZONE = "Europe/Berlin"
    page = desk_of(newsroom).get(at("/", text))
    assert (page.status_code, why in page.text) == (400, True), page.text
    assert "no-store" in page.headers["Cache-Control"]


def test_a_far_future_shows_what_is_left_then(newsroom: Newsroom) -> None:
    make_article("Ending headline", status=APPROVED, publish_at=soon(hours=1), unpublish_at=soon(hours=2))
    page = desk_of(newsroom).get(at("/", datetime(9999, 1, 1, tzinfo=UTC)))
    assert page.status_code == 200 and "Ending headline" not in page.text and "Old headline" in page.text


def test_the_change_feed_has_no_preview(newsroom: Newsroom) -> None:
    answer = desk_of(newsroom).get(at("/api/v1/articles/?updated_since=2020-01-01T00:00:00Z", soon(hours=1)))
    assert (answer.status_code, "updated_since" in answer.json()) == (400, True)


@pytest.mark.skipif(connection.vendor == "sqlite", reason="its threads share one connection")
def test_two_previews_at_once_do_not_see_each_other(newsroom: Newsroom) -> None:
    for hours in (1, 3):
        make_article(f"Headline {hours}", status=APPROVED, publish_at=soon(hours=hours), cleared_at=EARLY)

    def looks(hours: int) -> set[tuple[bool, bool]]:
        desk = desk_of(newsroom)
        pages = (desk.get(at("/", soon(hours=hours))).text for _number in range(10))
        try:
            return {("Headline 1" in page, "Headline 3" in page) for page in pages}
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(looks, (2, 4))) == [{(True, False)}, {(True, True)}]
