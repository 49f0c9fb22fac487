"""Finding tasks among many records."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from scheduling.services import find_tasks, run_due
from tests.scheduling.conftest import TYPE, Add, Notes

pytestmark = pytest.mark.django_db(transaction=True)

RECORDS = 20_000


@pytest.fixture
def many_records(mariadb: None, add: Add, notes: Notes) -> None:
    """Executed tasks of three types, each with a key of its own; some keys are those of several types."""
    add(0, key="1")
    run_due(10)
    differing = {
        "task_id": "task_id + seq",
        "task_type": f"ELT(1 + seq MOD 3, '{TYPE}', 'test.mail', 'test.page')",
        "`key`": "seq DIV 2",
        "updated_at": "updated_at + INTERVAL seq SECOND",
    }
    with connection.cursor() as cursor:
        cursor.execute("SHOW COLUMNS FROM taskinfo_logs")
        names = [f"`{row[0]}`" if row[0] == "key" else row[0] for row in cursor.fetchall()]
        values = ", ".join(differing.get(name, name) for name in names)
        source = f"taskinfo_logs, seq_2_to_{RECORDS} ORDER BY task_id, seq"
        cursor.execute(f"INSERT INTO taskinfo_logs ({', '.join(names)}) SELECT {values} FROM {source}")
        cursor.execute("ANALYZE TABLE taskinfo_logs")
        cursor.fetchall()


@pytest.mark.cases(2)
@pytest.mark.parametrize("status", ["executed", "failed", "all"])
@pytest.mark.parametrize(("task_type", "expected"), [("", 2), ("test.mail", 1)])
def test_a_task_is_found_by_its_key_without_reading_all_records(
    many_records: None, status: str, task_type: str, expected: int
) -> None:
    with CaptureQueriesContext(connection) as queries:
        found = find_tasks(status, task_type=task_type, key="4712", limit=50)
    assert len(found) == (0 if status == "failed" else expected)
    (plan,) = [explained(query["sql"]) for query in queries if "`taskinfo_logs`.`key` =" in query["sql"]]
    assert plan["key"] == "taskinfo_logs_key" or status == "failed", plan  # of which there are none
    assert int(plan["rows"]) < 100, plan


def explained(sql: str) -> dict[str, Any]:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {sql}")
        names = [column[0] for column in cursor.description]
        (row,) = cursor.fetchall()
    return dict(zip(names, row, strict=True))
