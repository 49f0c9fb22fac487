"""Leases for external programs: only the holder of the token completes or fails a task."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import connection

from scheduling.database import read_database_clock
from scheduling.exceptions import InvalidTask, LeaseLost
from scheduling.models import TaskInfo, TaskInfoLog
from scheduling.queues import DelayQueue
from scheduling.services import add_task, cancel_task, complete_task, fail_task, poll, refresh, reschedule_task
from scheduling.services.leasing import postpone_task
from tests.scheduling.conftest import TYPE, Add, Keys, Travel

OUTSIDE = "outside.print"
Status = TaskInfoLog.Status


def test_the_oldest_due_comes_first_however_it_became_ready(queue: DelayQueue, add: Add, travel: Travel) -> None:
    """R1.12"""
    add(10, task_type=OUTSIDE, parameters="second")
    add(0.5, task_type=OUTSIDE, parameters="first")
    travel(12)
    add(-1, task_type=OUTSIDE, parameters="third")
    add(-60, task_type=OUTSIDE, parameters="oldest of all")
    refresh()
    polled = [task.parameters for _ in range(4) for task in poll(OUTSIDE)]
    assert polled == ["oldest of all", "first", "second", "third"]


def test_an_empty_queue_gives_an_empty_list(queue: DelayQueue, add: Add) -> None:
    """R1.13"""
    add(60, task_type=OUTSIDE)
    assert poll(OUTSIDE) == []
    assert poll("never.heard.of") == []


def test_topics_are_isolated(queue: DelayQueue, add: Add) -> None:
    """R1.14"""
    add(0, task_type=OUTSIDE, priority=1, parameters="one")
    add(0, task_type="outside.mail", priority=1)
    assert poll(OUTSIDE, 0, 10) == []
    assert [task.parameters for task in poll(OUTSIDE, 1, 10)] == ["one"]


def test_a_leased_task_is_skipped_until_its_lease_ends(queue: DelayQueue, add: Add, travel: Travel) -> None:
    """R4.4, R4.6"""
    add(0, task_type=OUTSIDE)
    (first,) = poll(OUTSIDE, lease=30)
    assert poll(OUTSIDE) == []
    travel(31)
    (second,) = poll(OUTSIDE, lease=30)
    assert (second.task_id, second.attempts) == (first.task_id, 2)
    assert second.lease_token != first.lease_token


def test_of_many_concurrent_polls_one_gets_the_task(queue: DelayQueue, add: Add) -> None:
    """R4.5"""
    for _ in range(3):
        add(0, task_type=OUTSIDE)
    start, got = threading.Barrier(8), []

    def take() -> None:
        start.wait()
        got.extend(poll(OUTSIDE, limit=2))
        connection.close()

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    got.extend(poll(OUTSIDE, limit=10))
    ids = [task.task_id for task in got]
    assert len(ids) == len(set(ids)) == 3


def test_completing_closes_the_task(queue: DelayQueue, add: Add) -> None:
    """R4.7"""
    add(0, task_type=OUTSIDE)
    (task,) = poll(OUTSIDE)
    complete_task(task.task_id, lease_token=task.lease_token)
    assert TaskInfo.objects.count() == 0
    log = TaskInfoLog.objects.get()
    assert (log.status, log.attempts) == (Status.EXECUTED, 1)
    with pytest.raises(LeaseLost):
        complete_task(task.task_id, lease_token=task.lease_token)


def test_a_program_without_the_lease_can_neither_complete_nor_fail(queue: DelayQueue, add: Add, travel: Travel) -> None:
    """R4.7"""
    add(0, task_type=OUTSIDE)
    (late,) = poll(OUTSIDE, lease=10)
    travel(11)
    (holder,) = poll(OUTSIDE, lease=10)
    for token in (late.lease_token, "", "guess", "é", "\ud800"):
        with pytest.raises(LeaseLost):
            complete_task(late.task_id, lease_token=token)
        with pytest.raises(LeaseLost):
            fail_task(late.task_id, lease_token=token, error="")
    complete_task(holder.task_id, lease_token=holder.lease_token)


def test_an_unleased_task_cannot_be_completed(queue: DelayQueue, add: Add) -> None:
    task = add(0, task_type=OUTSIDE)
    with pytest.raises(LeaseLost):
        complete_task(task.task_id, lease_token="")


def test_rescheduling_or_cancelling_ends_the_lease(queue: DelayQueue, add: Add) -> None:
    add(0, task_type=OUTSIDE)
    (task,) = poll(OUTSIDE)
    reschedule_task(task.task_id, read_database_clock())
    with pytest.raises(LeaseLost):
        complete_task(task.task_id, lease_token=task.lease_token)
    (task,) = poll(OUTSIDE)
    assert cancel_task(task.task_id)
    with pytest.raises(LeaseLost):
        complete_task(task.task_id, lease_token=task.lease_token)


def test_adding_the_same_again_leaves_its_lease_alone(queue: DelayQueue, add: Add) -> None:
    """A producer that repeats itself faster than the work takes must not make it run for ever."""
    values: dict[str, Any] = {"execute_time": add(-1, key="same", parameters={1: (2, 3)}).execute_time, "key": "same"}
    (leased,) = poll(TYPE)
    again = add_task(TYPE, parameters={1: (2, 3)}, **values)
    assert (again.task_id, again.version) == (leased.task_id, 1)
    complete_task(leased.task_id, lease_token=leased.lease_token)
    assert TaskInfo.objects.count() == 0


def test_adding_something_else_ends_the_lease(queue: DelayQueue, add: Add) -> None:
    task = add(-1, key="same", parameters=1)
    (leased,) = poll(TYPE)
    add_task(TYPE, execute_time=task.execute_time, parameters=2, key="same")
    with pytest.raises(LeaseLost):
        complete_task(leased.task_id, lease_token=leased.lease_token)
    (again,) = poll(TYPE)
    assert (again.task_id, again.parameters, again.attempts) == (task.task_id, 2, 1)


def test_adding_the_same_again_gives_a_failed_task_all_its_attempts(
    queue: DelayQueue, add: Add, travel: Travel
) -> None:
    add(-1, key="same", parameters=1)
    (leased,) = poll(TYPE)
    fail_task(leased.task_id, lease_token=leased.lease_token, error="no answer")
    due = TaskInfo.objects.get().execute_time
    assert add_task(TYPE, execute_time=due, parameters=1, key="same").attempts == 0


def test_a_failed_task_is_leased_again_later_and_finally_dead(
    queue: DelayQueue, add: Add, travel: Travel, settings: Any
) -> None:
    settings.SCHEDULING_MAX_ATTEMPTS = 2
    add(0, task_type=OUTSIDE)
    (task,) = poll(OUTSIDE)
    assert fail_task(task.task_id, lease_token=task.lease_token, error="printer on fire")
    assert poll(OUTSIDE) == []
    travel(700)
    (task,) = poll(OUTSIDE)
    assert not fail_task(task.task_id, lease_token=task.lease_token, error="printer on fire")
    log = TaskInfoLog.objects.get()
    assert (log.status, log.attempts, log.error) == (Status.FAILED, 2, "printer on fire")


def test_expired_leases_are_released_and_count_an_attempt(
    queue: DelayQueue, add: Add, travel: Travel, settings: Any
) -> None:
    """R4.6"""
    settings.SCHEDULING_MAX_ATTEMPTS = 2
    add(0, task_type=OUTSIDE)
    (task,) = poll(OUTSIDE, lease=10)
    travel(11)
    refresh()
    assert TaskInfo.objects.get().leased_until is None
    with pytest.raises(LeaseLost):
        complete_task(task.task_id, lease_token=task.lease_token)
    poll(OUTSIDE, lease=10)
    travel(11)
    refresh()
    log = TaskInfoLog.objects.get()
    assert log.status == Status.FAILED
    assert "within its lease" in log.error


def test_a_task_whose_leases_all_expired_is_dead_without_a_refresh(
    queue: DelayQueue, add: Add, travel: Travel, settings: Any
) -> None:
    """A task that kills its workers is leased again before a refresh, which comes once a minute, sees its lease end."""
    settings.SCHEDULING_MAX_ATTEMPTS = 2
    first, second = add(0, task_type=OUTSIDE), add(1, task_type=OUTSIDE)
    for _ in range(2):
        assert [task.task_id for task in poll(OUTSIDE, lease=10)] == [first.task_id]
        travel(11)
    assert [task.task_id for task in poll(OUTSIDE)] == [second.task_id]
    log = TaskInfoLog.objects.get(pk=first.pk)
    assert (log.status, log.attempts) == (Status.FAILED, 2)


def test_the_ready_list_does_not_grow(keys: Keys, add: Add) -> None:
    for _ in range(5):
        add(0, task_type=OUTSIDE)
        poll(OUTSIDE)
    assert keys.ready(f"{OUTSIDE}:0") == []


def test_a_postponed_task_counts_only_its_failed_attempts(queue: DelayQueue, add: Add, travel: Travel) -> None:
    add(0, task_type=OUTSIDE)
    for _ in range(2):
        (task,) = poll(OUTSIDE)
        fail_task(task.task_id, lease_token=task.lease_token, error="printer on fire")
        travel(600)
    (task,) = poll(OUTSIDE)
    postpone_task(task.task_id, lease_token=task.lease_token, seconds=30)
    assert (TaskInfo.objects.get().attempts, poll(OUTSIDE)) == (2, [])
    travel(31)
    assert [task.attempts for task in poll(OUTSIDE)] == [3]


@pytest.mark.parametrize(
    "values",
    [
        {"limit": 0},
        {"limit": 1001},
        {"limit": "1"},
        {"lease": 0},
        {"lease": 3601},
        {"lease": float("nan")},
        {"priority": "x"},
    ],
)
def test_invalid_polls_are_refused(queue: DelayQueue, values: dict[str, Any]) -> None:
    with pytest.raises(InvalidTask):
        poll(OUTSIDE, **values)


def test_a_lost_hint_does_not_hide_a_task_from_poll(keys: Keys) -> None:
    add_task(OUTSIDE, execute_time=read_database_clock(), parameters="news")
    keys.client.flushdb()
    assert [task.parameters for task in poll(OUTSIDE)] == ["news"]
