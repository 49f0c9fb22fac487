"""The short form of the benchmarks (`make bench-short`): ratios of calls that take turns in one process, no times.

Rates are by the processor time of this process and of its connection's thread in MariaDB, so that other tests, which
run at the same time, change no ratio.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from articles.models import Article, AuditEntry, Notification
from articles.task_types import NOTIFY, PUBLISH
from bench.raw_sql import publish_batch
from bench.rows import copy_tasks, multiply
from scheduling import registry
from scheduling.database import read_database_clock
from scheduling.models import TaskInfo, TaskInfoLog
from scheduling.services import run_due, sweep
from tests.articles.factories import make_article, make_editor

pytestmark = [pytest.mark.long, pytest.mark.django_db(transaction=True)]

ROUNDS = 5
BATCH = 500
SMALL, LARGE = 1000, 4000
OF_RAW_SQL = 0.35
"""Least part of the rate of hand-written SQL for the same rows."""
EACH = 20
"""One of so many tasks is invalid."""
OF_SOUND, OF_SOUND_IF_RAISED = 0.4, 0.12
"""Least part of a burst's rate that one with invalid tasks has, if its handler names them, and if it raises."""
FLATNESS = 0.75
"""Least part of a small burst's rate that a large one has."""


@pytest.fixture(autouse=True)
def _one_sweep_is_enough(settings: Any) -> None:
    """All due tasks get a hint at once, and none counts as suspect because storing them took a while."""
    settings.SCHEDULING_SWEEP_LIMIT = LARGE
    settings.SCHEDULING_SUSPECT_AFTER = 3600.0


def test_a_burst_is_published_at_a_fair_part_of_the_rate_of_raw_sql_and_as_fast_when_it_is_large() -> None:
    editor = make_editor()
    make_article("Copied", author=editor)
    raw, small, large = list[float](), list[float](), list[float]()
    for _ in range(ROUNDS):
        raw.append(measured(SMALL, editor, by_raw_sql))
        small.append(measured(SMALL, editor, by_headline))
        large.append(measured(LARGE, editor, by_headline))
    assert not TaskInfo.objects.exists()
    expect_the_rows_of((2 * SMALL + LARGE) * ROUNDS)
    assert second_best_ratio(small, raw) > OF_RAW_SQL
    assert second_best_ratio(large, small) > FLATNESS


def measured(
    count: int, author: User, publish: Callable[[], object], before: Callable[[], object] = lambda: None
) -> float:
    """Articles a second of processor time, of some that are due at one instant."""
    run_due(LARGE)  # drops the hints of tasks that raw SQL has run
    TaskInfo.objects.all().delete()
    later = read_database_clock() + timedelta(hours=1)
    first = make_article("One", author=author, status=Article.Status.APPROVED, publish_at=later)
    with connection.cursor() as cursor:
        multiply(cursor, "articles_article", count - 1, status="8")
        copy_tasks(cursor, first.pk)
        cursor.execute("UPDATE articles_article SET publish_at = UTC_TIMESTAMP(6) WHERE status = 8")
        cursor.execute("UPDATE taskinfo SET execute_time = UTC_TIMESTAMP(6), promised_at = execute_time")
    before()
    assert sweep(grace=0.0) == count
    began = processor_time()
    publish()
    return count / (processor_time() - began)


def processor_time() -> float:
    """Seconds in which this process or MariaDB worked for its connection."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT TID FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()")
        (thread,) = cursor.fetchone()
    nanoseconds, _, _ = Path(f"/proc/{thread}/schedstat").read_text(encoding="ascii").split()
    return time.process_time() + int(nanoseconds) / 1e9


def by_headline() -> None:
    run_all()
    waiting = TaskInfo.objects.filter(task_type=NOTIFY)  # the authors of a large batch are notified a second later
    waiting.update(execute_time=read_database_clock())
    sweep(grace=0.0)
    run_all()


def run_all() -> None:
    while run_due(BATCH):
        pass


def by_raw_sql() -> None:
    with connection.cursor() as cursor:
        while transaction.atomic()(publish_batch)(cursor, BATCH):
            pass


def expect_the_rows_of(articles: int) -> None:
    """Both write the same rows."""
    published = Article.objects.filter(status=Article.Status.PUBLISHED, published_at__isnull=False)
    entries = AuditEntry.objects.filter(action="published", new_status=Article.Status.PUBLISHED)
    notifications = Notification.objects.filter(kind=Notification.Kind.PUBLISHED)
    done = TaskInfoLog.objects.filter(status=TaskInfoLog.Status.EXECUTED, executed_at__isnull=False)
    logs = done.filter(task_type=PUBLISH)
    assert [rows.count() for rows in (published, entries, notifications, logs)] == [articles] * 4


def expect_invalid(count: int) -> None:
    """All of them have failed, and nothing else is left; they are removed."""
    assert list(TaskInfo.objects.filter(attempts=1).values_list("parameters", flat=True)) == [{}] * count
    assert TaskInfo.objects.count() == count
    TaskInfo.objects.all().delete()


def second_best_ratio(ones: list[float], others: list[float]) -> float:
    """Two rounds reach it; the others may be slower, because other work on the machine takes their caches away."""
    return sorted(one / other for one, other in zip(ones, others, strict=True))[-2]


def spoil_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = TaskInfo.objects.order_by("pk").values_list("pk", flat=True)
    TaskInfo.objects.filter(pk__in=list(ids)[::EACH]).update(parameters={})


def spoil_by_handler(monkeypatch: pytest.MonkeyPatch) -> None:
    """The handler raises, as one of another application may, before it writes anything."""
    found = registry.get(PUBLISH)
    assert found is not None
    spoil_parameters(monkeypatch)

    def raising(tasks: Sequence[TaskInfo]) -> Any:
        if not all(task.parameters for task in tasks):
            raise ValueError("no article")
        return found.function(tasks)

    monkeypatch.setitem(registry._handlers, PUBLISH, replace(found, function=raising))


@pytest.mark.parametrize(
    ("spoil", "least"),
    [
        pytest.param(spoil_parameters, OF_SOUND, id="named"),
        pytest.param(spoil_by_handler, OF_SOUND_IF_RAISED, id="raised", marks=pytest.mark.thorough),
    ],
)
def test_many_invalid_tasks_cost_the_others_of_a_burst_little(
    spoil: Callable[[pytest.MonkeyPatch], None],
    least: float,
    monkeypatch: pytest.MonkeyPatch,
    settings: Any,
) -> None:
    settings.SCHEDULING_BACKOFF = settings.SCHEDULING_MAX_BACKOFF = 600  # a slow machine would measure retries, too
    editor = make_editor()
    make_article("Copied", author=editor)
    sound, spoilt = list[float](), list[float]()
    for _ in range(ROUNDS):
        sound.append(measured(SMALL, editor, by_headline))
        with monkeypatch.context() as patch:
            spoilt.append(measured(SMALL, editor, by_headline, before=partial(spoil, patch)))
        expect_invalid(SMALL // EACH)
    assert second_best_ratio(spoilt, sound) > least


def test_a_batch_of_any_size_takes_the_same_number_of_statements() -> None:
    editor = make_editor()
    make_article("Copied", author=editor)
    assert statements_for(BATCH // 10, editor) == statements_for(BATCH, editor)


def statements_for(count: int, author: User) -> int:
    """Statements of a batch, without those that measure the clock every few seconds."""
    statements: list[Any] = []

    def counted() -> None:
        with CaptureQueriesContext(connection) as queries:
            run_due(BATCH)
        statements.extend(query for query in queries if not query["sql"].startswith("SELECT UTC_TIMESTAMP"))

    measured(count, author, counted)
    return len(statements)
