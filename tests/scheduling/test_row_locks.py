"""No statement waits for a locked row that it does not need, however small the table is.

MariaDB prefers walking all of a small table to looking many rows up, and locks each row it walks over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from scheduling.database import read_database_clock
from scheduling.models import TaskInfo
from scheduling.services import add_tasks, cancel_keys, cancel_tasks, run_due
from tests.scheduling.conftest import TYPE, Add, Notes, held_by_another

pytestmark = pytest.mark.parametrize("rows", [3, 10, 50, pytest.param(300, marks=pytest.mark.thorough)])


def test_a_worker_ends_its_batch_while_another_runs_the_next_task(
    mariadb: None, add: Add, notes: Notes, rows: int
) -> None:
    """R3.6: otherwise two workers at the end of their batches would deadlock."""
    tasks = [add() for _ in range(rows)]
    with held_by_another(tasks[0]):
        assert run_due(rows) == rows - 1
    assert TaskInfo.objects.get() == tasks[0]


Change = Callable[[Sequence[TaskInfo]], int]


def _cancel(tasks: Sequence[TaskInfo]) -> int:
    return cancel_tasks([task.task_id for task in tasks])


def _cancel_by_key(tasks: Sequence[TaskInfo]) -> int:
    return cancel_keys(TYPE, [str(task.key) for task in tasks])


def _move(tasks: Sequence[TaskInfo]) -> int:
    now = read_database_clock()
    return len(add_tasks(_values(task, now) for task in tasks))


def _values(task: TaskInfo, execute_time: Any) -> dict[str, Any]:
    return {"task_type": TYPE, "execute_time": execute_time, "parameters": None, "key": task.key}


@pytest.mark.cases(3)
@pytest.mark.parametrize("change", [_cancel, _cancel_by_key, _move])
def test_many_tasks_are_changed_while_a_worker_runs_another(mariadb: None, add: Add, rows: int, change: Change) -> None:
    tasks = [add(key=f"key {number}") for number in range(rows)]
    for chosen in (tasks[1:], tasks[rows // 2 :]):
        with held_by_another(tasks[0]):
            change(chosen)
