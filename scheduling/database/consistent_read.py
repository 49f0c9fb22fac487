"""Consistent reads across many queries without blocking writers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.db import Error, connection

BEGIN = {
    "mysql": (
        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
    ),
    "sqlite": ("BEGIN DEFERRED",),
}
"""Django's `atomic` does not help: READ COMMITTED sees later commits, and IMMEDIATE blocks writers."""


@contextmanager
def snapshot() -> Iterator[None]:
    """All reads in the block see the database as of the first one. Inside a transaction this does nothing."""
    if connection.in_atomic_block:
        yield
        return
    if connection.vendor == "sqlite":
        _ = connection.features.supports_json_field  # asked in a transaction, which in ours would lock the database
    _begin(BEGIN[connection.vendor])
    try:
        yield
    finally:
        _end()


def _begin(statements: Sequence[str]) -> None:
    connection.ensure_connection()
    if send_later := getattr(connection, "send_with_next", None):
        send_later(statements)
        return
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def _end() -> None:
    """Leave the snapshot, or the connection: what uses it next would read outdated rows."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("ROLLBACK")
    except Error:
        connection.close()
