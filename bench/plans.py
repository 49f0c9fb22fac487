"""Benchmark subprocess: runs the engine's work, captures every statement and explains it in MariaDB."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import django

django.setup()

from django.db import connection, transaction  # noqa: E402 (models need a Django that is set up)

from articles.models import Article  # noqa: E402
from articles.publishing import publish_due, reconcile_tasks  # noqa: E402
from scheduling import registry  # noqa: E402
from scheduling.database import read_database_clock  # noqa: E402
from scheduling.services import add_tasks, cancel_keys, poll, refresh, run_due, sweep  # noqa: E402

TYPE = "bench.plan"
OUTSIDE = "bench.outside"
BATCH = 100
MANY = 1000  # rows that a plan may not examine without an index for it

Statements = dict[str, tuple[str, Any]]


def main() -> None:
    """Print a list of {work, statement, table, type, key, rows, extra, bad} as JSON."""
    logging.disable(logging.INFO)
    registry.handler(TYPE)(lambda tasks: None)
    prepare()
    plans = [plan for name, work in WORKS.items() for plan in plans_of(name, work)]
    print(json.dumps(plans))


def prepare() -> None:
    """Tasks and articles for each kind of work."""
    now = read_database_clock()
    for task_type in (TYPE, OUTSIDE):
        add_tasks(
            {"task_type": task_type, "execute_time": now + timedelta(seconds=shift), "parameters": None, "key": key}
            for shift, key in [*((0, f"due {n}") for n in range(BATCH)), *((3600, f"far {n}") for n in range(BATCH))]
        )
    soon = now + timedelta(minutes=1)
    Article.objects.bulk_create(
        Article(title="Forgotten", status=Article.Status.APPROVED, publish_at=soon) for _ in range(BATCH)
    )


@transaction.atomic
def publish_some() -> None:
    """Publish what is due among some articles."""
    publish_due(list(Article.objects.order_by("-pk").values_list("pk", flat=True)[:BATCH]))


WORKS: dict[str, Callable[[], Any]] = {
    "run_due": lambda: run_due(BATCH),
    "poll": lambda: poll(OUTSIDE, limit=10),
    "sweep": lambda: sweep(grace=0),
    "cancel_keys": lambda: cancel_keys(OUTSIDE, [f"far {n}" for n in range(BATCH)]),
    "reconcile_tasks": reconcile_tasks,
    "publish_due": publish_some,
    "refresh": refresh,
}


def plans_of(name: str, work: Callable[[], Any]) -> Iterator[dict[str, Any]]:
    """Do the work, then explain each kind of statement once; reads are analysed with row counts."""
    with caught() as statements:
        work()
    for statement, (sql, parameters) in statements.items():
        with connection.cursor() as cursor:
            cursor.execute(f"{'ANALYZE' if statement.startswith('SELECT') else 'EXPLAIN'} {sql}", parameters)
            columns = [column[0] for column in cursor.description]
            steps = [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]
        for step in steps:
            yield {"work": name, "statement": statement, **_row(step)}


@contextmanager
def caught() -> Iterator[Statements]:
    """The statements that reach the database, by their beginning."""
    statements: Statements = {}

    def catch(execute: Callable[..., Any], sql: str, parameters: Any, many: bool, context: Any) -> Any:
        text = " ".join(sql.replace("`", "").split())
        if text.startswith(("SELECT", "UPDATE", "DELETE")) and " FROM " in f"{text} FROM ":
            statements.setdefault(_shortened(text), (sql, parameters))
        return execute(sql, parameters, many, context)

    with connection.execute_wrapper(catch):
        yield statements


def _shortened(text: str) -> str:
    """The verb and what comes after WHERE."""
    verb, _, rest = text.partition(" ")
    return f"{verb} {(rest.partition(' WHERE ')[2] or rest.rpartition(' FROM ')[2])[:90]}"


def _row(step: dict[str, Any]) -> dict[str, Any]:
    counted = step.get("r_rows")  # read: no estimate knows of a LIMIT
    known = (step["rows"] or 0) if counted is None else counted
    rows = int(float(str(known).split()[0]))  # MariaDB adds "(5%)" where it filters by a second index
    extra = step["Extra"] or ""
    table = step["table"] or ""
    is_stored = not table.startswith("<")  # derived tables are no larger than their sources
    walks = is_stored and (step["type"] in {"ALL", "index"} or "filesort" in extra)
    return {
        "table": table, "type": step["type"] or "", "key": step["key"] or "", "rows": rows,
        "extra": extra, "bad": walks and rows > MANY,
    }  # fmt: skip


if __name__ == "__main__":
    main()
