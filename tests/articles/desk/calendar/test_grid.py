"""The slots of the calendar: which entries are read, and which only counted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.db.models.signals import post_init
from django.test import Client
from django.utils import timezone

from articles.desk.calendar.entries import Mark
from articles.models import Article
from tests.articles.factories import APPROVED, EARLY, make_channel, make_editor

pytestmark = pytest.mark.django_db

CALENDAR = "/admin/calendar/"


@pytest.fixture
def desk() -> Client:
    client = Client()
    client.force_login(make_editor())
    return client


def make_articles(number: int, first: datetime, apart: timedelta) -> None:
    channel = make_channel()
    times = (first + count * apart for count in range(number))
    values = {"title": "News", "status": APPROVED, "channel": channel, "cleared_at": EARLY}
    articles = (Article(**values, publish_at=time) for time in times)
    Article.objects.bulk_create(articles)


def cells(desk: Client, query: str) -> dict[str, tuple[int, int]]:
    """Shown and hidden entries by the beginning of each slot that has some."""
    days = desk.get(CALENDAR + query).context["days"]
    found = {cell.wall: (len(cell.earlier) + len(cell.later), cell.hidden) for day in days for cell in day.cells}
    return {wall: numbers for wall, numbers in found.items() if any(numbers)}


def test_the_first_rows_of_a_slot_are_read_and_the_others_counted(desk: Client) -> None:
    make_articles(300, datetime(2030, 6, 3, 7, tzinfo=UTC), timedelta(seconds=10))
    read: list[Article] = []

    def count(instance: Article, **_more: Any) -> None:
        read.append(instance)

    post_init.connect(count, sender=Article)
    try:
        assert cells(desk, "?view=day&date=2030-06-03") == {"2030-06-03T07:00": (12, 288)}
    finally:
        post_init.disconnect(count, sender=Article)
    assert len(read) == 12


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        ("month", {"2026-10-24": (2, 0), "2026-10-25": (5, 20), "2026-10-26": (3, 0)}),
        ("week", {"2026-10-25T02:00": (2, 0), "2026-10-25T03:00": (1, 0)}),
    ],
)
def test_slots_are_counted_in_the_users_zone_where_clocks_change(
    desk: Client, view: str, expected: dict[str, tuple[int, int]]
) -> None:
    make_articles(30, datetime(2026, 10, 24, 20, 30, tzinfo=UTC), timedelta(hours=1))
    with timezone.override(ZoneInfo("Europe/Berlin")):
        found = cells(desk, f"?view={view}&date=2026-10-25")
    assert {wall: found[wall] for wall in expected} == expected
    assert sum(shown + hidden for shown, hidden in found.values()) == (30 if view == "month" else 28)


def test_the_last_microsecond_of_a_slot_is_in_it(desk: Client) -> None:
    make_articles(2, datetime(2030, 6, 3, 7, 59, 59, 999_999, tzinfo=UTC), timedelta(microseconds=1))
    assert cells(desk, "?view=day&date=2030-06-03") == {"2030-06-03T07:00": (1, 0), "2030-06-03T08:00": (1, 0)}


@pytest.mark.parametrize("hours", [10, 100])
def test_conflicts_are_marked_however_far_apart_the_shown_articles_are(desk: Client, hours: int) -> None:
    """Two articles in each hour, and one that is near the last of them."""
    begin = datetime(2030, 6, 3, tzinfo=UTC)
    make_articles(2 * hours, begin + timedelta(minutes=10), timedelta(minutes=30))
    moment = begin + timedelta(minutes=10 + 30 * (2 * hours - 1) + 4)
    channel = Article.objects.latest("pk").channel
    Article.objects.create(title="Near", status=APPROVED, channel=channel, publish_at=moment)
    days = desk.get(CALENDAR + "?view=week&date=2030-06-03").context["days"]
    entries = [entry for day in days for cell in day.cells for entry in (*cell.earlier, *cell.later)]
    assert len(entries) == 2 * hours + 1
    marked = {entry.title for entry in entries if Mark.CONFLICT in entry.marks}
    assert len([entry for entry in entries if Mark.CONFLICT in entry.marks]) == 2
    assert marked == {"News", "Near"}
