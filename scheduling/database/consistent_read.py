"""Consistent reads across many queries without blocking writers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from django.db import Error, connection

BEGIN = {
    "mysql": (
        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
    ),
    "sqlite": ("BEGIN DEFERRED",),
}
"""Django's `atomic` does not help: READ COMMITTED sees later commits, and IMMEDIATE blocks writers."""

_is_begun: ContextVar[bool] = ContextVar("is_begun", default=False)


@contextmanager
def snapshot() -> Iterator[None]:
    """All reads in the block see the database as of the first one.

    Inside a transaction or another such block this does nothing.
    """
    if connection.in_atomic_block or _is_begun.get():
        yield
        return
    if connection.vendor == "sqlite":
        _ = connection.features.supports_json_field  # asked in a transaction, which in ours would lock the database
    _begin(BEGIN[connection.vendor])
    token = _is_begun.set(True)
    try:
        yield
    finally:
        _is_begun.reset(token)
        _end()


def _begin(statements: Sequence[str]) -> None:
    # Before the first read, for which Django would replace a lost connection by one that has begun nothing.
    connection.close_if_health_check_failed()
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
