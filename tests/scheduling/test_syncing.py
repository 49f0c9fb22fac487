"""Bringing the tasks of some keys in line with rows."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from scheduling.database import Collision, read_database_clock, retried
from scheduling.ids import new_task_ids
from scheduling.models import TaskInfo, TaskInfoLog
from scheduling.queues import DelayQueue
from scheduling.services import add_task, adding, run_due, set_tasks, syncing
from tests.scheduling.conftest import TYPE, Add, Keys, Notes, Travel, held_by_another

OTHER = "test.other"
Status = TaskInfoLog.Status


def wanted(due: datetime, keys: Iterable[str], task_type: str = TYPE) -> list[dict[str, Any]]:
    return [{"task_type": task_type, "execute_time": due, "parameters": {"of": key}, "key": key} for key in keys]


@retried
def sync(tasks: list[dict[str, Any]], keys: Iterable[str]) -> None:
    set_tasks(tasks, keys={TYPE: list(keys), OTHER: list(keys)})


def pending() -> dict[tuple[str, str | None], datetime]:
    return {(task.task_type, task.key): task.execute_time for task in TaskInfo.objects.all()}


def test_exactly_the_given_tasks_are_pending(transactional_db: None) -> None:
    soon, later = (read_database_clock() + timedelta(hours=hours) for hours in (1, 2))
    for task in (*wanted(soon, "abc"), *wanted(soon, "az", OTHER)):
        add_task(**task)
    sync([*wanted(soon, "a"), *wanted(later, "bd")], "abcd")
    assert pending() == {(TYPE, "a"): soon, (TYPE, "b"): later, (TYPE, "d"): later, (OTHER, "z"): soon}
    logs = TaskInfoLog.objects.order_by("task_type", "key").values_list("task_type", "key", "status", "execute_time")
    assert list(logs) == [
        (TYPE, "a", Status.SCHEDULED, soon),
        (TYPE, "b", Status.SCHEDULED, later),
        (TYPE, "c", Status.CANCELLED, soon),
        (TYPE, "d", Status.SCHEDULED, later),
        (OTHER, "a", Status.CANCELLED, soon),
        (OTHER, "z", Status.SCHEDULED, soon),
    ]
    assert dict(TaskInfo.objects.values_list("key", "version")) == {"a": 1, "b": 2, "d": 1, "z": 1}


def test_tasks_run_at_their_new_times(queue: DelayQueue, add: Add, notes: Notes, travel: Travel) -> None:
    for key in "ab":
        add(30, key=key, parameters=key)
    sync(wanted(read_database_clock() + timedelta(seconds=60), "bc"), "abc")
    travel(59)
    assert run_due(10) == 0
    travel(2)
    assert run_due(10) == 2
    assert sorted(note["of"] for note in notes.flat) == ["b", "c"]


def test_any_number_of_tasks_takes_the_same_statements(transactional_db: None) -> None:
    counts = []
    for number in (1, 90):
        keys, due = [f"{number}:{key}" for key in range(number)], read_database_clock() + timedelta(hours=1)
        for tasks in (wanted(due, keys), wanted(due, keys), wanted(due + timedelta(hours=1), keys), []):
            with transaction.atomic(), CaptureQueriesContext(connection) as queries:
                set_tasks(tasks, keys={TYPE: keys}, now=due)
            counts.append(len(queries))
    assert counts[:4] == counts[4:]
    assert counts[0] <= 3
    assert counts[1] == 1
    assert counts[2] <= 3
    assert counts[3] <= 3


def test_a_task_that_needs_no_change_is_not_waited_for(mariadb: None, add: Add) -> None:
    due = read_database_clock() + timedelta(hours=1)
    tasks = [add_task(**values) for values in wanted(due, "abc")]
    with held_by_another(tasks[0]):
        sync([*wanted(due, "a"), *wanted(due + timedelta(hours=1), "b")], "abc")
    assert [due for _key, due in sorted(pending().items())] == [due, due + timedelta(hours=1)]


def test_an_id_that_another_process_makes_at_the_same_time_is_replaced(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    due = read_database_clock() + timedelta(hours=1)
    taken = add_task(**wanted(due, "a")[0]).task_id
    calls = iter([range(taken, taken + 1)])
    monkeypatch.setattr(adding, "new_task_ids", lambda count: next(calls, None) or new_task_ids(count))
    sync(wanted(due, "b"), "b")
    assert pending() == {(TYPE, "a"): due, (TYPE, "b"): due}
    assert TaskInfoLog.objects.count() == 2


def test_in_a_transaction_its_owner_learns_of_the_collision(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    due = read_database_clock() + timedelta(hours=1)
    taken = add_task(**wanted(due, "a")[0]).task_id
    monkeypatch.setattr(adding, "new_task_ids", lambda count: range(taken, taken + count))
    with pytest.raises(Collision), transaction.atomic():
        sync(wanted(due, "b"), "b")
    assert pending() == {(TYPE, "a"): due}


def test_tasks_beyond_the_window_stay_out_of_redis(keys: Keys) -> None:
    now = read_database_clock()
    sync([*wanted(now + timedelta(seconds=60), "a"), *wanted(now + timedelta(hours=1), "b")], "ab")
    assert len(keys.future()) == 1


def test_a_task_that_ends_before_it_is_moved_is_added_again(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    due = read_database_clock() + timedelta(hours=1)
    add_task(**wanted(due, "a")[0])
    read = syncing._pending
    found = iter([read({TYPE: ["a"]})])
    monkeypatch.setattr(syncing, "_pending", lambda keys: next(found, None) or read(keys))
    TaskInfo.objects.all().delete()
    sync(wanted(due + timedelta(hours=1), "a"), "a")
    assert pending() == {(TYPE, "a"): due + timedelta(hours=1)}
