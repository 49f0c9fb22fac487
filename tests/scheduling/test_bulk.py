"""Many rows are inserted, updated and deleted by one statement for a thousand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from scheduling.database import delete_by_ids, insert_rows, update_by_ids
from scheduling.models import TaskInfo, TaskInfoLog

NOON = datetime(2031, 5, 6, 12, 0, 0, 123456, tzinfo=UTC)
FIELDS = ("task_id", "task_type", "execute_time", "parameters", "key", "created_at", "promised_at")
SAME = ("priority", "version", "attempts", "lease_token")


def _insert(count: int, **values: Any) -> None:
    row = {"task_type": "a", "execute_time": NOON, "parameters": {}, "created_at": NOON, "promised_at": NOON, **values}
    rows = ((number, *(row.get(name) for name in FIELDS[1:]), 0, 1, 0, "") for number in range(1, count + 1))
    insert_rows(TaskInfo, [*FIELDS, *SAME], rows)


@pytest.mark.parametrize(
    "parameters", [None, {}, {"a": [1, None, "“é” 😀 \\ ' \" %s {}"]}, "text", "", 2**53 + 1, 0.1, True]
)
def test_inserted_values_are_read_back(db: None, parameters: Any) -> None:
    _insert(1, task_type="Ä 😀 '\"\\ %s", parameters=parameters, key="k\n\t")
    task = TaskInfo.objects.get()
    assert (task.task_id, task.task_type, task.key, task.parameters) == (1, "Ä 😀 '\"\\ %s", "k\n\t", parameters)
    assert (task.execute_time, task.leased_until, task.lease_token) == (NOON, None, "")


def test_rows_get_their_own_values_and_expressions(db: None) -> None:
    _insert(3)
    later = NOON + timedelta(days=3)
    changes = [(1, later, {"a": 1}, None), (3, NOON, None, later)]
    names = ["execute_time", "parameters", "leased_until"]
    changed = update_by_ids(TaskInfo, names, changes, version=F("version") + 1, lease_token="t%s", promised_at=later)
    assert changed == 2
    first, second, third = TaskInfo.objects.order_by("pk")
    assert (first.execute_time, first.parameters, first.leased_until) == (later, {"a": 1}, None)
    assert (third.execute_time, third.parameters, third.leased_until) == (NOON, None, later)
    assert [task.version for task in (first, second, third)] == [2, 1, 2]
    assert [task.lease_token for task in (first, second, third)] == ["t%s", "", "t%s"]
    assert [task.promised_at for task in (first, second, third)] == [later, NOON, later]


def test_all_rows_get_the_same_value(db: None) -> None:
    _insert(3)
    assert update_by_ids(TaskInfo, [], [(1,), (2,), (9,)], attempts=F("attempts") + 4) == 2
    assert list(TaskInfo.objects.order_by("pk").values_list("attempts", flat=True)) == [4, 4, 0]


def test_no_rows_need_no_statement(db: None) -> None:
    with CaptureQueriesContext(connection) as queries:
        _insert(0)
        delete_by_ids(TaskInfo, [])
        assert update_by_ids(TaskInfo, ["version"], []) == 0
    assert len(queries) == 0


def test_a_statement_takes_a_thousand_rows(db: None) -> None:
    with CaptureQueriesContext(connection) as queries:
        _insert(2001)
        assert update_by_ids(TaskInfo, ["attempts"], ((number, number) for number in range(1, 2001))) == 2000
        delete_by_ids(TaskInfo, range(1, 1001))
    assert len(queries) == 3 + 2 + 1
    assert TaskInfo.objects.count() == 1001
    assert TaskInfo.objects.get(task_id=1700).attempts == 1700


def test_only_the_named_rows_are_deleted(db: None) -> None:
    _insert(3)
    delete_by_ids(TaskInfo, [1, 3, 4])
    assert TaskInfo.objects.get().task_id == 2
    assert not TaskInfoLog.objects.exists()
