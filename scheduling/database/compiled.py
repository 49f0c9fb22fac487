"""Statements that are compiled to SQL once: those that every task or every page of the readers' site repeats.

Compiling a queryset takes longer than the statement itself. A `build` function makes it from hashable arguments, and
must not depend on anything else; each connection calls it at the first use, and once more in a block of `at_instant`.
On SQLite it is called each time, because "now" is a value there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from types import MappingProxyType
from typing import Any, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.sql import UpdateQuery

from scheduling.database.limited_union import union_statement
from scheduling.database.locks import ANY_IDS
from scheduling.database.server_clock import TIME_PLACEHOLDER, is_at_instant, with_instant

Row = TypeVar("Row", bound=models.Model)
Statement = tuple[str, Sequence[Any]]
"""SQL and its parameters."""

_MOST = 200  # statements that a connection remembers


class GivenTime(models.Func):
    """A time in a compiled statement that is another one at each execution."""

    output_field = models.DateTimeField()

    def __init__(self, name: str = "given") -> None:
        super().__init__()
        self.name = name

    def as_sql(self, compiler: Any, connection: Any, *args: Any, **extra: Any) -> Any:
        """A placeholder for it."""
        return TIME_PLACEHOLDER if connection.vendor == "mysql" else "%s", [self]


GIVEN_TIME = GivenTime()


def compiled_once(
    build: Callable[..., models.QuerySet[Row, Any]], *arguments: Hashable, **times: datetime
) -> list[Any]:
    """The rows of `build(*arguments, **times)`. The times are others at each execution."""
    connection = _connection()
    if connection.vendor == "sqlite":
        return list(build(*arguments, **times))
    queryset, compiler, statement = _remembered(
        connection, build, arguments, lambda: _compiled(build(*arguments, **_placeholders(times)))
    )
    return _rows(queryset, compiler, _with_times(statement, connection, times))


def first_rows(
    build: Callable[..., Iterable[models.QuerySet[Any]]], *arguments: Hashable, **times: datetime
) -> list[tuple[Any, ...]]:
    """The rows of all lists of `build(*arguments, **times)`, each with its own order and limit, in one statement.

    Their columns need no conversion.
    """
    connection = _connection()
    if connection.vendor == "sqlite":
        sql, parameters = union_statement(build(*arguments, **times))
    else:
        found = _remembered(
            connection, build, arguments, lambda: union_statement(build(*arguments, **_placeholders(times)))
        )
        sql, parameters = _with_times(found, connection, times)
    if not sql:
        return []
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return list(cursor.fetchall())


def compiled_for(
    build: Callable[..., models.QuerySet[Row, Any]], ids: Collection[int], *arguments: Hashable
) -> list[Any]:
    """The rows of `build(ids, *arguments)`, which passes the ids to `among`. Without ids it only compiles."""
    connection = _connection()
    if connection.vendor == "sqlite":
        return list(build(ids, *arguments)) if ids else []
    queryset, compiler, statement = _remembered(
        connection, build, arguments, lambda: _compiled(build(ANY_IDS, *arguments))
    )
    return _rows(queryset, compiler, _with_times(_with_ids(statement, ids), connection)) if ids else []


def write_for(
    build: Callable[..., Statement], ids: Collection[int], *arguments: Hashable, given: datetime | None = None
) -> None:
    """Execute the writing statement `build(ids, *arguments)`; within a transaction, with the next one or the commit.

    `given` is its `GIVEN_TIME`. Without ids it only compiles.
    """
    connection = _connection()
    if connection.vendor != "sqlite":
        sql, parameters = _with_ids(_remembered(connection, build, arguments, lambda: build(ANY_IDS, *arguments)), ids)
    elif ids:
        sql, parameters = build(ids, *arguments)
    if not ids:
        return
    sql, parameters = _with_times((sql, parameters), connection, {"given": given} if given else {})
    with pipelined(), connection.cursor() as cursor:
        cursor.execute(sql, parameters)


def pipelined() -> AbstractContextManager[None]:
    """Let the database backend send the writes of this block with the next statement or the commit, if it can."""
    block: AbstractContextManager[None] = getattr(_connection(), "pipelined", nullcontext)()
    return block


def update_statement(rows: models.QuerySet[Any], **values: Any) -> Statement:
    """The statement of `rows.update(**values)`."""
    query: Any = rows.query.chain(UpdateQuery)
    query.add_update_values(values)
    statement: Statement = query.get_compiler(rows.db).as_sql()
    return statement


def _connection() -> BaseDatabaseWrapper:
    return connections[DEFAULT_DB_ALIAS]  # this thread's


def _remembered(
    connection: BaseDatabaseWrapper, build: Callable[..., Any], arguments: Hashable, compile_it: Callable[[], Any]
) -> Any:
    known: dict[Any, Any] = vars(connection).setdefault("compiled_once", {})
    key = build, arguments, is_at_instant()
    if key not in known:
        if len(known) >= _MOST:
            known.clear()
        known[key] = compile_it()
    return known[key]


def _compiled(queryset: models.QuerySet[Any]) -> tuple[models.QuerySet[Any], Any, Statement]:
    compiler = queryset.query.get_compiler(queryset.db)
    return queryset, compiler, compiler.as_sql()


def _rows(queryset: models.QuerySet[Any], compiler: Any, statement: Statement) -> list[Any]:
    compiler.as_sql = lambda *args, **options: statement
    rows = queryset.all()
    rows.query.get_compiler = lambda *args, **options: compiler  # type: ignore[method-assign]
    return list(rows)


def _placeholders(times: Mapping[str, datetime]) -> dict[str, GivenTime]:
    return {name: GivenTime(name) for name in times}


def _with_times(
    statement: Statement, connection: BaseDatabaseWrapper, times: Mapping[str, datetime] = MappingProxyType({})
) -> Statement:
    """A compiled statement with these times, and with the instant of a block of `at_instant`."""
    sql, parameters = statement
    given: dict[str, Any] = {name: connection.ops.adapt_datetimefield_value(moment) for name, moment in times.items()}
    parameters = [given.get(one.name, one) if isinstance(one, GivenTime) else one for one in parameters]
    return sql, with_instant(parameters, connection)


def _with_ids(statement: Statement, ids: Collection[int]) -> Statement:
    sql, parameters = statement
    return sql.replace(ANY_IDS.sql, ", ".join(map(int.__repr__, ids))), parameters  # raises for what is no number
