"""What happens next: everything the clock will change, hour by hour, of which readers notice something."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from random import Random

import pytest
from django.db.models import F
from django.test import Client

from articles import releases
from articles.desk import upcoming
from articles.models import Alert, Article, Block, Card, ChangeKind, FrontVersion, ReleaseMember, Update, stops
from articles.text import format_time_exactly
from tests.articles.factories import (
    APPROVED,
    EARLY,
    add_block,
    make_article,
    make_channel,
    make_front,
    make_release,
    make_user,
    soon,
)
from tests.articles.releases.test_by_clock import Newsroom

pytestmark = pytest.mark.django_db

NEXT = "/admin/desk/next/"
DRAFT = FrontVersion.Status.DRAFT


@pytest.fixture
def base() -> datetime:
    return soon(hours=2).replace(minute=10, second=0, microsecond=0)


def plan(newsroom: Newsroom, base: datetime) -> None:
    """One of each kind, a minute apart from each other, and what readers notice nothing of."""

    def minute(number: int) -> datetime:
        return base + timedelta(minutes=number)

    def waits(title: str, **times: datetime | None) -> Article:
        article = newsroom.waiting(title)
        Article.objects.filter(pk=article.pk).update(cleared_at=EARLY, **times)
        return article

    alerting = waits("First", publish_at=minute(0))
    waits("Held", publish_at=minute(-5), embargo_until=minute(1))
    waits("Never seen", publish_at=minute(3), unpublish_at=minute(2))
    Article.objects.filter(pk=newsroom.linking.pk).update(unpublish_at=minute(2))
    newsroom.update(newsroom.old, title="New headline")
    Update.objects.update(publish_at=minute(3), updated_at=EARLY)
    release = make_release(newsroom.waiting("Fresh"), by=newsroom.irene)
    releases.add_member(release, article=newsroom.other, action=ReleaseMember.Action.UNPUBLISH, by=newsroom.irene)
    releases.schedule_release(release, publish_at=minute(4), by=newsroom.irene)
    windows = {"shows_from": minute(6), "shows_until": minute(7)}
    make_front(Card(article=newsroom.other, title="Too early", shows_until=minute(4)), live_from=minute(5))
    add_block(FrontVersion.objects.get(), Card(article=newsroom.other, title="Harbour opens", **windows))
    draft = FrontVersion.objects.create(front=FrontVersion.objects.get().front, number=2, status=DRAFT)
    add_block(draft, Card(article=newsroom.other, title="Of a draft", **windows), kind=Block.Kind.LEAD)
    Alert.objects.create(article=alerting, text="Flood", starts_at=minute(8), lasts=timedelta(minutes=60))


EVERYTHING = [
    "10 First Goes live", "11 Held Embargo ends", "12 Linking Unpublish", "13 New headline Update",
    "14 Budget day Release", "15 Front page · English Front goes live",
    "16 Harbour opens · Front page · English Card of a front appears",
    "17 Harbour opens · Front page · English Card of a front goes", "18 Flood Breaking alert begins",
    "18 Flood Breaking alert ends",
]  # fmt: skip


def listed(text: str) -> list[str]:
    """Minute, title and kind of each row."""
    rows = re.findall(r'(?s)<li class="dashboard-row">.*?:(\d\d)</time>.*?<a href[^>]*>(.*?)</a>.*?kind">(.*?)<', text)
    return [" ".join(row) for row in rows]


def test_everything_that_readers_will_notice_is_listed_by_the_hour(base: datetime) -> None:
    newsroom, desk = Newsroom(), Client()
    plan(newsroom, base)
    desk.force_login(newsroom.irene)
    page = desk.get(NEXT)
    assert listed(page.text) == EVERYTHING
    assert "no-store" in page.headers["Cache-Control"]
    assert [len(rows) for _hour, rows in page.context["hours"]] == [9, 1]
    shown = re.findall(r'href="(/admin/articles[^"]*)">', page.text)
    assert {desk.get(address).status_code for address in shown} == {200}
    assert len(desk.get("/admin/").context["up_next"]) == upcoming.MAX_UPCOMING
    (release,) = [one for one in desk.get("/admin/").context["up_next"] if one.kind == "Release"]
    assert release.place == "2 articles"


def test_pages_follow_each_other_and_say_how_much_of_an_instant_they_leave_out(
    base: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    newsroom, desk = Newsroom(), Client()
    desk.force_login(newsroom.irene)
    for number in range(5):
        later = newsroom.waiting(f"Article {number}")
        Article.objects.filter(pk=later.pk).update(publish_at=base + timedelta(minutes=number // 3), cleared_at=EARLY)
    monkeypatch.setattr(upcoming, "PER_PAGE", 2)
    page = desk.get(NEXT)
    assert (len(listed(page.text)), "… and 1 more at this time" in page.text) == (2, True)
    assert len(listed(desk.get(NEXT + page.context["later"]).text)) == 2
    assert [sum(stop.numbers.values()) for stop in stops(soon(), limit=9)] == [3, 2]
    for nonsense in ("nonsense", "0001-01-01T00:00", "9999-12-31T23:59:59%2B00:00", "1" * 500):
        assert desk.get(f"{NEXT}?after={nonsense}").status_code == 200


def test_who_may_not_read_articles_or_releases_does_not_see_them_here(base: datetime) -> None:
    plan(Newsroom(), base)
    for name, rights, rows in (
        ("writer", ["view_article"], [row for row in EVERYTHING if "Release" not in row]),
        ("librarian", ["view_image", "view_release"], []),
    ):
        desk = Client()
        desk.force_login(make_user(name, *rights))
        page = desk.get(NEXT)
        assert (page.status_code == 200, listed(page.text)) == (bool(rows), rows)
        assert "Budget day" not in page.text
        links = set(re.findall(r'<a href="(/admin/articles/[^"]+)"', page.text))
        assert bool(links) == bool(rows) and {desk.get(link).status_code for link in links} <= {200}


def draw(newsroom: Newsroom, chance: Random, day: datetime) -> None:
    """Articles with all kinds of times, updates, a release, and fronts, in a day to come."""

    def at() -> datetime:
        return day + timedelta(minutes=15 * chance.randrange(1, 90))

    for number in range(12):
        article = make_article(f"Article {number}", status=chance.choice([*3 * [APPROVED], *Article.Status.values]))
        times = {name: at() for name in ("publish_at", "unpublish_at", "embargo_until") if chance.random() < 0.6}
        if article.status == Article.Status.PUBLISHED:
            times |= dict.fromkeys(("publish_at", "published_at"), EARLY)
        Article.objects.filter(pk=article.pk).update(**times, cleared_at=EARLY)
    for article, is_approved in ((newsroom.old, True), (newsroom.linking, chance.random() < 0.5)):
        newsroom.update(article, title=f"New {article.title}")
        unapproved = {} if is_approved else {"draft": F("approved"), "approved": None}
        Update.objects.filter(article=article).update(publish_at=at(), **unapproved)
    release = make_release(newsroom.waiting("Fresh"), by=newsroom.irene)
    Article.objects.filter(title="Fresh").update(unpublish_at=at())
    releases.schedule_release(release, publish_at=at(), by=newsroom.irene)
    channels = [None, make_channel("Open"), make_channel("Closed", enabled=False)]
    for channel in channels:
        make_front(newsroom.old, live_from=at(), channel=channel)


@pytest.mark.cases(2)
@pytest.mark.parametrize("seed", range(4))
def test_dashboard_calendar_release_page_and_list_never_disagree(seed: int) -> None:
    newsroom, desk = Newsroom(), Client()
    desk.force_login(newsroom.irene)
    day = soon(days=2).replace(hour=0, minute=0, second=0, microsecond=0)
    draw(newsroom, Random(seed), day)  # noqa: S311 (a test)
    changes = [row for _hour, rows in desk.get(NEXT).context["hours"] for row in rows]
    listed = {(CALENDAR[row.change.kind], row.at, row.title) for row in changes}

    calendar = desk.get("/api/v1/desk/calendar/", {"view": "day", "date": f"{day:%Y-%m-%d}"}).json()
    assert calendar["hidden"] == 0 and len(listed) > 5
    found = {
        (
            "publish" if entry["kind"] == "embargo" else entry["kind"],
            datetime.fromisoformat(entry["at"]),
            entry["title"],
        )
        for entry in calendar["entries"]
        if "at-risk" not in entry["marks"] and (entry["kind"] != "embargo" or entry["note"])
    }
    assert found == listed

    shown = [(row.at, row.title, row.kind) for row in desk.get("/admin/").context["up_next"]]
    assert shown == [(row.at, row.title, row.kind) for row in changes[: upcoming.MAX_UPCOMING]]
    (release,) = (row for row in changes if row.change.kind == ChangeKind.RELEASE)
    assert f"Scheduled for {format_time_exactly(release.at)}." in desk.get(release.address).text


CALENDAR = {
    ChangeKind.LIVE: "publish", ChangeKind.UNPUBLISH: "unpublishing", ChangeKind.UPDATE: "update",
    ChangeKind.RELEASE: "release", ChangeKind.FRONT: "front",
}  # fmt: skip
