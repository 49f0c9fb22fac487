"""Cancelling, rescheduling and retrying: nothing runs at the old time; a race has one winner."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from scheduling.database import read_database_clock
from scheduling.exceptions import InvalidTask, NaiveTime, TaskNotPending, TimeOutOfRange
from scheduling.models import TaskInfo, TaskInfoLog
from scheduling.queues import DelayQueue
from scheduling.services import (
    add_tasks,
    cancel_key,
    cancel_keys,
    cancel_task,
    cancel_tasks,
    poll,
    pruning,
    refresh,
    reschedule_task,
    retry_task,
    run_due,
)
from tests.scheduling.conftest import TYPE, Add, Keys, Notes, Travel

Status = TaskInfoLog.Status


def test_a_cancelled_task_leaves_the_queue_and_never_runs(
    queue: DelayQueue, add: Add, notes: Notes, travel: Travel
) -> None:
    """R0.3"""
    task = add(30)
    assert cancel_task(task.task_id)
    travel(60)
    refresh()
    run_due(10)
    assert notes.batches == []
    assert TaskInfo.objects.count() == 0
    log = TaskInfoLog.objects.get()
    assert (log.status, log.version) == (Status.CANCELLED, 2)


def test_a_due_task_that_was_not_promoted_yet_is_cancelled(
    queue: DelayQueue, add: Add, notes: Notes, travel: Travel
) -> None:
    """R1.18"""
    task = add(30)
    travel(31)
    assert cancel_task(task.task_id)
    run_due(10)
    assert notes.batches == []


def test_a_ready_task_is_cancelled_and_its_stale_hint_dropped(keys: Keys, add: Add, notes: Notes) -> None:
    """R1.18"""
    task = add(0)
    assert keys.ready() == [task.task_id]
    assert cancel_task(task.task_id)
    add(0, parameters="next")
    run_due(10)
    assert notes.flat == ["next"]
    assert keys.ready() == []


def test_cancelling_discards_the_hint(keys: Keys, add: Add) -> None:
    task = add(30)
    cancel_task(task.task_id)
    assert keys.future() == {}


def test_only_what_is_pending_is_cancelled(queue: DelayQueue, add: Add, notes: Notes) -> None:
    done = add(0)
    run_due(10)
    assert not cancel_task(done.task_id)
    assert not cancel_task(4711)
    assert not cancel_key(TYPE, "unknown")
    assert TaskInfoLog.objects.get().status == Status.EXECUTED


def test_many_are_cancelled_at_once(queue: DelayQueue, add: Add) -> None:
    ids = [add(30).task_id for _ in range(3)]
    for key in "abc":
        add(30, key=key)
    assert cancel_tasks([*ids[:2], 4711]) == 2
    assert cancel_keys(TYPE, ["a", "b", "unknown"]) == 2
    assert {task.key for task in TaskInfo.objects.all()} == {None, "c"}


def test_a_rolled_back_cancel_changes_nothing(queue: DelayQueue, add: Add, notes: Notes) -> None:
    task = add(0)
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        assert cancel_task(task.task_id)
        raise ZeroDivisionError
    assert run_due(10) == 1


def test_a_task_rescheduled_later_does_not_run_at_the_old_time(
    queue: DelayQueue, add: Add, notes: Notes, travel: Travel
) -> None:
    """R1.19"""
    task = add(10)
    moved = reschedule_task(task.task_id, task.execute_time + timedelta(seconds=20))
    assert (moved.task_id, moved.version) == (task.task_id, 2)
    travel(11)
    assert run_due(10) == 0
    travel(20)
    assert run_due(10) == 1
    assert TaskInfoLog.objects.get().version == 3


def test_a_ready_task_that_is_rescheduled_later_is_not_lost(keys: Keys, add: Add, notes: Notes, travel: Travel) -> None:
    """R1.19"""
    task = add(0)
    reschedule_task(task.task_id, task.execute_time + timedelta(seconds=20))
    keys.client.delete("sched:future:{test.note:0}")
    assert run_due(10) == 0
    assert list(keys.future()) == [task.task_id]
    travel(21)
    assert run_due(10) == 1


def test_a_task_rescheduled_earlier_runs_earlier(queue: DelayQueue, add: Add, notes: Notes, travel: Travel) -> None:
    task = add(3600)
    reschedule_task(task.task_id, task.execute_time - timedelta(seconds=3600))
    assert run_due(10) == 1


def test_only_pending_tasks_are_rescheduled_and_only_to_a_valid_time(queue: DelayQueue, add: Add, notes: Notes) -> None:
    task = add(0)
    with pytest.raises(NaiveTime):
        reschedule_task(task.task_id, datetime(2100, 1, 1))  # noqa: DTZ001
    with pytest.raises(TimeOutOfRange):
        reschedule_task(task.task_id, task.execute_time.replace(year=2))
    run_due(10)
    with pytest.raises(TaskNotPending):
        reschedule_task(task.task_id, task.execute_time)


def fail_for_good(add: Add, notes: Notes, travel: Travel, **values: Any) -> TaskInfo:
    def fault(_: Any) -> None:
        raise ZeroDivisionError

    notes.fault = fault
    task = add(0, **values)
    for _ in range(3):
        run_due(10)
        travel(700)
    assert TaskInfoLog.objects.get(pk=task.pk).status == Status.FAILED
    notes.fault = None
    return task


def test_a_failed_task_can_be_retried_by_hand(queue: DelayQueue, add: Add, notes: Notes, travel: Travel) -> None:
    task = fail_for_good(add, notes, travel)
    again = retry_task(task.task_id)
    assert (again.task_id, again.attempts) == (task.task_id, 0)
    assert run_due(10) == 1
    log = TaskInfoLog.objects.get()
    assert (log.status, log.attempts, log.error) == (Status.EXECUTED, 1, "")


def test_a_task_cancelled_and_retried_before_its_time_is_not_recorded_as_early(
    queue: DelayQueue, add: Add, notes: Notes
) -> None:
    task = add(60)
    cancel_task(task.task_id)
    again = retry_task(task.task_id)
    assert run_due(10) == 1
    log = TaskInfoLog.objects.get()
    assert (log.status, log.execute_time) == (Status.EXECUTED, again.execute_time)
    assert log.lateness is not None
    assert log.lateness >= timedelta()


def test_only_failed_or_cancelled_tasks_are_retried(queue: DelayQueue, add: Add, notes: Notes, travel: Travel) -> None:
    failed = fail_for_good(add, notes, travel, key="7")
    done = add(0)
    run_due(10)
    for task_id in (done.task_id, 4711):
        with pytest.raises(TaskNotPending):
            retry_task(task_id)
    add(30, key="7")
    with pytest.raises(InvalidTask, match="pending already"):
        retry_task(failed.task_id)


def race(*contestants: Callable[[], Any]) -> list[Any]:
    """Run all at the same time, each on its own connection; returns their results in order."""
    start, responses = threading.Barrier(len(contestants)), [None] * len(contestants)

    def run(number: int, contestant: Callable[[], Any]) -> None:
        start.wait()
        try:
            responses[number] = contestant()
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(contestants)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return responses


@pytest.mark.cases(2)
@pytest.mark.parametrize("seconds", [0, -5])
def test_a_race_of_run_and_cancel_has_one_winner_and_correct_results(
    queue: DelayQueue, add: Add, notes: Notes, seconds: float
) -> None:
    """R1.17"""
    for _ in range(20):
        notes.batches.clear()
        task_id = add(seconds).task_id
        handled, cancelled = race(lambda: run_due(10), partial(cancel_task, task_id))
        assert handled + cancelled <= 1
        run_due(10)  # a worker that found the row locked leaves it to the next round
        assert len(notes.batches) + cancelled == 1
        status = TaskInfoLog.objects.get(task_id=task_id).status
        assert status == (Status.CANCELLED if cancelled else Status.EXECUTED)


def test_of_many_concurrent_cancels_one_succeeds(queue: DelayQueue, add: Add) -> None:
    """R1.17"""
    task = add(30)
    assert sorted(race(*[lambda: cancel_task(task.task_id)] * 6)) == [False] * 5 + [True]


def test_many_keyed_tasks_are_rescheduled_without_a_case_branch_for_each(
    queue: DelayQueue, add: Add, travel: Travel, notes: Notes
) -> None:
    """The cost of a CASE with a branch for each row grows with the square of their number."""

    def wanted(seconds: float, parameters: Any) -> list[dict[str, Any]]:
        due = read_database_clock() + timedelta(seconds=seconds)
        values = {"task_type": TYPE, "execute_time": due, "parameters": parameters, "priority": 3}
        return [{**values, "key": f"{number}"} for number in range(50)]

    before = add_tasks(wanted(60, "old"))
    poll(TYPE, 3)
    with CaptureQueriesContext(connection) as asked:
        after = add_tasks(wanted(0, {"new": "\U0001f600"}))
    assert not [query["sql"] for query in asked if "CASE" in query["sql"]]
    assert [task.task_id for task in after] == [task.task_id for task in before]
    logs = list(TaskInfoLog.objects.values_list("version", "priority", "status", "execute_time"))
    assert logs == [(2, 3, Status.SCHEDULED, after[0].execute_time)] * 50
    travel(1)
    assert run_due(100) == 50
    assert notes.flat == [{"new": "\U0001f600"}] * 50
    assert set(TaskInfoLog.objects.values_list("status", flat=True)) == {Status.EXECUTED}


def test_pruning_waits_for_no_other_status(add: Add, notes: Notes, monkeypatch: pytest.MonkeyPatch) -> None:
    """One batch is pruned per minute; with that many executed tasks, the other statuses were never pruned."""
    monkeypatch.setattr(pruning, "BATCH", 2)
    ids = [add(0).task_id for _ in range(6)]
    for task_id, status in zip(ids, [1, 1, 1, 1, 2, 3], strict=True):
        TaskInfoLog.objects.filter(pk=task_id).update(status=status)
    TaskInfo.objects.all().delete()
    pending = add(0).task_id
    turns = pruning.prune(days=-1)
    assert next(turns) == 4
    assert sorted(TaskInfoLog.objects.values_list("status", flat=True)) == [0, 1, 1]
    assert list(turns) == [2]
    assert list(TaskInfoLog.objects.values_list("pk", flat=True)) == [pending]
