"""Emptying the database after a test that committed, faster than Django's `flush`.

`tests.probe` replaces that command, which Django calls after each of these tests. Only tables with rows are emptied.
Rows of the migrations (roles, permissions, content types) stay if they are unchanged. The triggers that protect the
audit log are bypassed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from django.core.management.color import no_style
from django.db import connection

AUDIT = "articles_auditentry"
AUDIT_TRIGGER = "audit_refuses_delete"
STATE = ("auth_group", "auth_group_permissions", "auth_permission", "django_content_type")

Rows = list[tuple[Any, ...]]


_initial: list[Rows] = []


def remember_state() -> None:
    """Store the initial rows of a new database."""
    _initial[:] = _state()


def empty_quickly(flush: Callable[[], None]) -> None:
    """Empty the tables. `flush`, whose signal recreates the initial rows, only if a test has changed those."""
    tables = connection.introspection.django_table_names(only_existing=True, include_views=False)
    _empty(set(tables) - set(STATE))
    if _state() != _initial:
        flush()
        _empty(set(tables) - set(STATE))  # the audit entries of that
        remember_state()


def _state() -> list[Rows]:
    return [_ask(f"SELECT * FROM {table} ORDER BY id") for table in STATE]


def _ask(sql: str) -> Rows:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return list(cursor.fetchall())


def _empty(tables: Iterable[str]) -> None:
    names = " UNION ALL ".join(map(_name_if_filled, tables))
    while filled := [name for (name,) in _ask(names)]:  # triggers of deleted rows fill tables
        statements = connection.ops.sql_flush(no_style(), filled)
        if AUDIT in filled:
            statements = _past_triggers(statements)
        connection.ops.execute_sql_flush(statements)


def _name_if_filled(table: str) -> str:
    return f"SELECT '{table}' WHERE EXISTS (SELECT 1 FROM {table})"


def _past_triggers(statements: list[str]) -> list[str]:
    if connection.vendor == "mysql":
        return [sql.replace(f"DELETE FROM `{AUDIT}`", f"TRUNCATE `{AUDIT}`") for sql in statements]
    ((create,),) = _ask(f"SELECT sql FROM sqlite_master WHERE name = '{AUDIT_TRIGGER}'")
    return [f"DROP TRIGGER {AUDIT_TRIGGER}", *statements, create]
