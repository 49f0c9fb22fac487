"""The slots of the calendar: which entries are read, and which only counted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.db.models.signals import post_init
from django.test import Client
from django.utils import timezone

from articles.models import Article
from tests.articles.factories import APPROVED, make_channel, make_editor

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
    articles = (Article(title="News", status=APPROVED, channel=channel, publish_at=time) for time in times)
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
