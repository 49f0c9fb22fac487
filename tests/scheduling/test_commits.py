"""How late tasks were: commit minus due, measured after the commit, and the same figure wherever it is shown."""

from __future__ import annotations

import json
import logging
import signal
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, transaction
from django.test import Client
from rest_framework.test import APIClient

from scheduling import registry
from scheduling.database import read_database_clock
from scheduling.metrics import LatenessHistogram
from scheduling.models import TaskInfo, TaskInfoLog
from scheduling.queues import DelayQueue
from scheduling.registry import Drop, Postpone
from scheduling.services import complete_task, poll, run_due, run_once
from scheduling.services.measuring import lateness, lateness_by_hour
from scheduling.workers.worker import Worker
from tests.conftest import Manage
from tests.scheduling.conftest import TYPE, Add, Notes, Travel

Status = TaskInfoLog.Status
Call = tuple[list[int], datetime]


def record_of(task: TaskInfo) -> TaskInfoLog:
    return TaskInfoLog.objects.get(pk=task.pk)


@pytest.fixture
def calls(notes: Notes) -> list[Call]:
    """Calls of the `after_commit` of `test.note`: the tasks and the time."""
    made: list[Call] = []

    def after_commit(tasks: Sequence[TaskInfo], committed_at: datetime) -> None:
        made.append(([task.pk for task in tasks], committed_at))

    registry._handlers.clear()
    registry.handler(TYPE, max_attempts=3, after_commit=after_commit)(notes.run)
    return made


def test_a_record_is_stamped_after_the_commit_and_before_anything_else(
    queue: DelayQueue, add: Add, notes: Notes
) -> None:
    """A handler's own hooks may take long, such as those that purge caches."""
    within, after = list[datetime](), list[datetime]()

    def run(tasks: Sequence[TaskInfo]) -> None:
        transaction.on_commit(lambda: after.append(read_database_clock()))
        within.append(read_database_clock())

    notes.fault = run
    task = add()
    report = run_once(10)
    record = record_of(task)
    assert record.executed_at is not None
    assert within[0] < record.executed_at <= after[0]
    assert record.lateness == record.executed_at - task.due == report.late_max
    assert (report.unmeasured, list(report.late)) == (0, [(TYPE, record.lateness)])
    assert record.version == 2


def test_a_task_is_not_late_before_its_transaction_is_committed(queue: DelayQueue, add: Add, notes: Notes) -> None:
    task = add()
    with transaction.atomic():
        report = run_once(10)
        record = record_of(task)
        assert (record.status, record.lateness, record.is_unmeasured) == (Status.EXECUTED, None, True)
        assert report.punctuality == "late_max_ms=unknown unmeasured=1"
        committed_after = read_database_clock()
    assert record_of(task).executed_at > committed_after  # type: ignore[operator]


def test_what_a_program_outside_completes_is_measured_after_the_commit(queue: DelayQueue, add: Add) -> None:
    task = add(task_type="outside")
    (leased,) = poll("outside")
    with transaction.atomic():
        complete_task(task.pk, lease_token=leased.lease_token)
        committed_after = read_database_clock()
    record = record_of(task)
    assert record.executed_at is not None
    assert record.executed_at > committed_after
    assert record.lateness == record.executed_at - task.due


def test_a_lateness_is_never_negative(queue: DelayQueue, add: Add, notes: Notes, travel: Travel) -> None:
    """Its record tells that the database's clock was set back."""
    task = add(60)
    travel(61)
    notes.fault = lambda tasks: travel(-120) and None
    report = run_once(10)
    record = record_of(task)
    assert (record.lateness, report.late_max) == (timedelta(), timedelta())
    assert record.executed_at is not None
    assert record.executed_at < task.due


def test_what_follows_a_commit_gets_its_time_and_its_tasks(
    queue: DelayQueue, add: Add, notes: Notes, calls: list[Call]
) -> None:
    tasks = [add(parameters=name) for name in ("done", "dropped", "postponed", "done")]
    verdicts: dict[Any, Any] = {"dropped": Drop("gone"), "postponed": Postpone()}
    notes.fault = lambda batch: {
        task.task_id: verdicts[task.parameters] for task in batch if task.parameters in verdicts
    }
    run_once(10)
    ((done, at),) = calls
    assert done == [tasks[0].pk, tasks[3].pk]
    assert record_of(tasks[0]).executed_at == record_of(tasks[3]).executed_at == at


def test_nothing_follows_a_transaction_that_failed(
    queue: DelayQueue, add: Add, notes: Notes, calls: list[Call]
) -> None:
    add()
    notes.fault = lambda tasks: 1 / 0
    run_once(10)
    assert not calls


@pytest.mark.parametrize("error", [ValueError("wrong"), OperationalError(1205, "Lock wait timeout exceeded")])
def test_an_error_in_what_follows_a_commit_is_logged_and_loses_or_repeats_no_task(
    queue: DelayQueue, add: Add, notes: Notes, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    def fail(tasks: Sequence[TaskInfo], committed_at: datetime) -> None:
        raise error

    registry._handlers.clear()
    registry.handler(TYPE, max_attempts=3, after_commit=fail)(notes.run)
    task = add()
    with caplog.at_level(logging.ERROR):
        assert run_once(10).executed == 1
        assert run_due(10) == 0
    assert "what follows the commit of test.note failed; its tasks are done" in caplog.text
    assert (len(notes.batches), record_of(task).attempts, record_of(task).is_unmeasured) == (1, 1, False)


def test_what_follows_an_at_least_once_task_gets_them_too(queue: DelayQueue, add: Add, calls: list[Call]) -> None:
    registry.handler("mail", at_least_once=True, after_commit=registry._handlers[TYPE].after_commit)(lambda tasks: None)
    task = add(task_type="mail")
    Worker(queue=queue).drain()
    assert calls == [([task.pk], record_of(task).executed_at)]


def test_a_task_whose_commit_was_not_measured_is_done(
    queue: DelayQueue, add: Add, notes: Notes, calls: list[Call], monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    def lose() -> datetime:
        raise OperationalError(2013, "Lost connection to server during query")

    monkeypatch.setattr("scheduling.services.commits.read_database_clock", lose)
    task = add()
    report = run_once(10)
    assert (report.executed, report.late_max, report.unmeasured, not calls) == (1, None, 1, True)
    assert report.punctuality == "late_max_ms=unknown unmeasured=1"
    assert record_of(task).is_unmeasured
    assert "a commit was not measured" in caplog.text
    assert run_due(10) == 0


def test_reports_add_up_what_was_measured_and_what_was_not(queue: DelayQueue, add: Add, notes: Notes) -> None:
    add(-0.5)
    total = run_once(10)
    measured = total.punctuality
    assert measured == f"late_max_ms={TaskInfoLog.objects.get().lateness_ms:.1f}"
    add()
    with transaction.atomic():
        total += run_once(10)
    assert total.punctuality == f"{measured} unmeasured=1"
    assert (run_once(10).punctuality, total.executed) == ("late_max_ms=0.0", 2)


def test_the_histogram_has_the_figure_of_the_record(queue: DelayQueue, add: Add, notes: Notes) -> None:
    add()
    histogram = LatenessHistogram()
    histogram.add(run_once(10).late)
    (family,) = histogram.collect()
    (seconds,) = [sample.value for sample in family.samples if sample.name.endswith("_sum")]
    assert timedelta(seconds=seconds) == TaskInfoLog.objects.get().lateness


@pytest.fixture
def unmeasured(manage: Manage, add: Add) -> TaskInfo:
    """A task whose worker was killed between the commit and its record."""
    task = add(task_type="probe.crash_after", key="k")
    done = manage("poll", "--type", "probe.crash_after")
    assert done.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL), done.stderr
    return task


def test_a_task_whose_worker_died_before_it_was_recorded_is_shown_as_not_measured(
    unmeasured: TaskInfo, manage: Manage, admin_client: Client, client: Client, admin_user: User
) -> None:
    record = record_of(unmeasured)
    assert (record.status, record.lateness) == (Status.EXECUTED, None)
    assert record.executed_at is not None
    assert not TaskInfo.objects.exists()
    run = partial(manage, "tasks")
    assert "not measured" in run("list", "--status", "executed").stdout
    assert "not measured" in run("show", str(record.pk)).stdout
    assert json.loads(run("show", str(record.pk), "--json").stdout)["lateness_ms"] is None
    for url in ("/admin/scheduling/taskinfolog/", f"/admin/scheduling/taskinfolog/{record.pk}/change/"):
        assert "not measured" in admin_client.get(url).content.decode()
    api = APIClient()
    api.force_authenticate(admin_user)
    shown = api.get(f"/api/v1/tasks/{record.pk}/").json()
    assert (shown["status"], shown["lateness_ms"]) == (Status.EXECUTED, None)
    none_measured = {"count": 1, "p50": None, "p99": None, "max": None, "unmeasured": 1}
    assert client.get("/readyz").json()["lateness_ms"] == none_measured
    assert "executed=1 in the last" in run("stats").stdout
    assert "not measured, because the worker died: 1" in run("stats").stdout


def test_what_was_not_measured_counts_as_executed_and_makes_no_figure_better(
    queue: DelayQueue, add: Add, notes: Notes
) -> None:
    add(-0.5)
    add()
    run_once(10)
    best = TaskInfoLog.objects.order_by("lateness")[0]
    TaskInfoLog.objects.filter(pk=best.pk).update(lateness=None)
    worst = TaskInfoLog.objects.exclude(pk=best.pk).get().lateness_ms
    now = read_database_clock()
    for figures in (lateness(now, 15), lateness_by_hour(now, 24, [TYPE]).total):
        assert (figures.count, figures.unmeasured, figures.p50, figures.max) == (2, 1, worst, worst)
