"""The newsroom with many articles of one instant: its pages read no more of them than they show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection
from django.test import Client

from articles.models import Article, Channel
from articles.publishing import schedule_many
from scheduling.database import read_database_clock
from scheduling.models import TaskInfo, TaskInfoLog
from tests.articles.factories import APPROVED, make_channel

pytestmark = pytest.mark.django_db

FEW, MANY = 120, 360
AHEAD = timedelta(minutes=20)
LATE = timedelta(minutes=5)
PAGES = (
    "/admin/",
    "/admin/articles/article/",
    "/admin/calendar/?view=month&date={day}",
    "/admin/calendar/?view=week&date={day}",
    "/admin/calendar/?view=day&date={day}",
    "/admin/desk/monitoring/content/",
    "/admin/articles/notification/",
    "/admin/scheduling/taskinfo/",
)


@pytest.mark.cases(1)
@pytest.mark.parametrize("is_past", [False, True], ids=["before", "after"])
def test_no_page_of_the_newsroom_reads_more_rows_of_more_articles_of_one_instant(
    admin_client: Client, admin_user: User, is_past: bool
) -> None:
    at = schedule(FEW, admin_user, is_past=is_past)
    few = work(admin_client, at)
    schedule(MANY - FEW, admin_user, is_past=is_past, at=at)
    for page, cost in work(admin_client, at).items():
        assert cost <= few[page], page


def schedule(count: int, user: User, *, is_past: bool, at: datetime | None = None) -> datetime:
    """Schedule further articles for one instant; a past one is there without a worker that noticed."""
    at = at or read_database_clock() + (-LATE if is_past else AHEAD)
    channel = Channel.objects.first() or make_channel()
    rows = (Article(title=f"No. {number}", status=APPROVED, channel=channel, author=user) for number in range(count))
    Article.objects.bulk_create(rows)
    assert schedule_many(Article.objects.filter(publish_at=None), publish_at=at, by=user) == count
    if is_past:
        Article.objects.update(cleared_at=at - AHEAD)
        for tasks in (TaskInfo.objects, TaskInfoLog.objects):
            tasks.update(promised_at=at - AHEAD)
    return at


def work(client: Client, at: datetime) -> dict[str, Counter[str]]:
    """Statements and rows of each page."""
    client.get("/admin/")  # the first page of a session stores it
    found = {}
    for page in PAGES:
        cache.clear()
        with counted() as counts:
            assert client.get(page.format(day=f"{at:%Y-%m-%d}")).status_code == 200
        found[page] = counts
    return found


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Count statements, but those that measure the clock every few seconds, and the rows that Django fetches."""
    counts: Counter[str] = Counter()

    def count(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        counts["statements"] += not sql.startswith("SELECT UTC_TIMESTAMP")
        cursor = context["cursor"]
        fetch = cursor.fetchmany

        def fetched(*sizes: int) -> Any:
            rows = fetch(*sizes)
            counts["rows"] += len(rows)
            return rows

        cursor.fetchmany = fetched
        return execute(sql, params, many, context)

    with connection.execute_wrapper(count):
        yield counts
