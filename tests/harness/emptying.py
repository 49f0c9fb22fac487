"""Emptying the audit record between tests, which nothing else can do: its triggers are in the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

TABLE = "articles_auditentry"
TRIGGER = "audit_refuses_delete"

Flush = Callable[..., list[str]]


def let_flush_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make Django's `flush` go around the triggers of the audit record."""
    operations: Any = type(connection.ops)
    around = _truncating if connection.vendor == "mysql" else _without_trigger
    monkeypatch.setattr(operations, "sql_flush", around(operations.sql_flush))


def _truncating(sql_flush: Flush) -> Flush:
    def statements(*args: Any, **options: Any) -> list[str]:
        return [sql.replace(f"DELETE FROM `{TABLE}`", f"TRUNCATE `{TABLE}`") for sql in sql_flush(*args, **options)]

    return statements


def _without_trigger(sql_flush: Flush) -> Flush:
    def statements(*args: Any, **options: Any) -> list[str]:
        with connection.cursor() as cursor:
            cursor.execute("SELECT sql FROM sqlite_master WHERE name = %s", [TRIGGER])
            (create,) = cursor.fetchone()
        return [f"DROP TRIGGER {TRIGGER}", *sql_flush(*args, **options), create]

    return statements
