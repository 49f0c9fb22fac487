"""Benchmark subprocess: what `schedule_many` inserts, by hand, as JSON: `python -m bench.raw_inserts MANY`.

The least that scheduling can cost: it inserts an audit entry, a task and a record per article, and changes the article.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from django.db import connection, transaction

from bench.calls import approved, schedule  # sets Django up
from bench.rates import rate  # noqa: E402

TABLES = ("articles_auditentry", "taskinfo", "taskinfo_logs")


def main(many: int) -> None:
    """Measure and print."""
    articles = approved(many)
    schedule(articles)
    with connection.cursor() as cursor:
        inserts = [copied(cursor, table, many) for table in TABLES]
        print(json.dumps({"schedule many": rate(many, lambda: insert(cursor, inserts))}))
        for table in TABLES:
            cursor.execute(f"DROP TABLE {table}_raw")


def copied(cursor: Any, table: str, many: int) -> tuple[str, list[tuple[Any, ...]]]:
    """The statement that inserts the latest rows of a table into an empty one like it, and its values."""
    cursor.execute(f"CREATE TABLE {table}_raw LIKE {table}")
    cursor.execute(f"SHOW COLUMNS FROM {table} WHERE Extra NOT REGEXP 'GENERATED'")
    names = [row[0] for row in cursor.fetchall()]
    quoted, places = ", ".join(f"`{name}`" for name in names), ", ".join(["%s"] * len(names))
    cursor.execute(f"SELECT {quoted} FROM {table} ORDER BY `{names[0]}` DESC LIMIT {many}")  # noqa: S608
    return f"INSERT INTO {table}_raw ({quoted}) VALUES ({places})", list(cursor.fetchall())  # noqa: S608


def insert(cursor: Any, inserts: list[tuple[str, list[tuple[Any, ...]]]]) -> None:
    """All rows, in one transaction and in as few statements as the driver makes of them."""
    with transaction.atomic():
        for statement, rows in inserts:
            cursor.executemany(statement, rows)


if __name__ == "__main__":
    main(int(sys.argv[1]))
