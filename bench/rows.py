"""Bulk rows, copied by the database from one that Headline created."""

from __future__ import annotations

from typing import Any


def multiply(cursor: Any, table: str, copies: int, *, primary: str = "id", **columns: str) -> None:
    """Add `copies` of the first row of `table`, numbered from 1 as `seq`, by one statement of MariaDB's.

    `columns` are SQL expressions for what differs; everything else is as in that row, whatever columns there are. The
    row's number is the key, which the database gives.
    """
    cursor.execute(f"SHOW COLUMNS FROM {table} WHERE Extra NOT REGEXP 'auto_increment|GENERATED'")
    names = [row[0] for row in cursor.fetchall()]
    values = ", ".join(columns.get(name, f"{table}.`{name}`") for name in names)
    quoted = ", ".join(f"`{name}`" for name in names)
    cursor.execute(
        f"INSERT INTO {table} ({quoted})"  # noqa: S608 (names and expressions are the benchmarks' own)
        f" SELECT {values} FROM {table}, seq_1_to_{copies} WHERE {primary} = (SELECT MIN({primary}) FROM {table})"
    )


def copy_tasks(cursor: Any, article_id: int) -> None:
    """Give every newer article a task and a record like the one to publish this article."""
    differing = {
        "task_id": f"one.task_id + article.id - {article_id}",
        "key": "article.id",
        "parameters": "JSON_OBJECT('article_id', article.id)",
    }
    for table in ("taskinfo", "taskinfo_logs"):
        cursor.execute(f"SHOW COLUMNS FROM {table}")
        names = [row[0] for row in cursor.fetchall()]
        values = ", ".join(differing.get(name, f"one.`{name}`") for name in names)
        quoted = ", ".join(f"`{name}`" for name in names)
        cursor.execute(
            f"INSERT INTO {table} ({quoted}) SELECT {values} FROM {table} one, articles_article article"  # noqa: S608
            f" WHERE one.task_type = 'articles.publish' AND one.`key` = '{article_id}' AND article.id > {article_id}"
        )
