"""Statements that are compiled to SQL once: those that every page of the readers' site repeats."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import Model, QuerySet

Row = TypeVar("Row", bound=Model)

_MOST = 100  # statements that a connection remembers


def compiled_once(build: Callable[..., QuerySet[Row, Any]], *arguments: Hashable) -> list[Any]:
    """The rows of `build(*arguments)`, which each connection compiles at its first use.

    Compiling takes longer than the statement itself. The queryset must not depend on anything but the arguments. On
    SQLite it is compiled each time, because "now" is a value there.
    """
    connection = connections[DEFAULT_DB_ALIAS]  # this thread's; a compiler belongs to it
    if connection.vendor == "sqlite":
        return list(build(*arguments))
    known: dict[Any, Any] = vars(connection).setdefault("compiled_once", {})
    key = build, arguments
    if key not in known:
        if len(known) >= _MOST:
            known.clear()
        known[key] = _compile(build(*arguments))
    queryset, compiler = known[key]
    rows = queryset.all()
    rows.query.get_compiler = lambda *args, **options: compiler
    return list(rows)


def _compile(queryset: QuerySet[Any]) -> tuple[QuerySet[Any], Any]:
    """The queryset and its compiler, which gives the same SQL from now on."""
    compiler = queryset.query.get_compiler(queryset.db)
    statement = compiler.as_sql()
    compiler.as_sql = lambda *args, **options: statement
    return queryset, compiler
