"""Insert, update and delete many rows by one statement, from one JSON parameter.

A statement that names each value is slow to build, to parse and to send. For any other condition than a join with the
primary key, MariaDB may scan all of a small table and wait for each locked row, so two of them could deadlock.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from django.db import connection, models
from django.db.models.sql import UpdateQuery

Compiled = tuple[str, Sequence[Any]]
"""SQL and its parameters."""

_MOST = 1000  # rows in one statement
_KINDS = {"UUIDField": "CHAR(36)", "JSONField": "LONGTEXT"}  # types that JSON_TABLE lacks


def insert_rows(model: type[models.Model], fields: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Insert rows, each with the values of `fields`, without signals; nothing fills in defaults."""
    chosen = [_field(model, name) for name in fields]
    columns = ", ".join(_quote(field.column) for field in chosen)
    for given, parameter in _tables(chosen, rows):
        _execute(f"INSERT INTO {_quote(model._meta.db_table)} ({columns}) SELECT * FROM {given}", [parameter])  # noqa: S608 (names of the model)


def update_by_ids(model: type[models.Model], fields: Sequence[str], rows: Iterable[Sequence[Any]], **same: Any) -> int:
    """Update rows without signals; returns how many there were.

    Each of `rows` is an id and the values of `fields`. `same` are values for all, or expressions over the row.
    """
    chosen = [_field(model, name) for name in ("pk", *fields)]
    table, key = _quote(model._meta.db_table), _quote(chosen[0].column)
    assigned: dict[str, Compiled] = {
        field.column: (f"v{number}", ()) for number, field in enumerate(chosen[1:], start=1)
    }
    assigned |= {_field(model, name).column: _compiled(model, name, value) for name, value in same.items()}
    sets = ", ".join(f"{_quote(column)} = {sql}" for column, (sql, _params) in assigned.items())
    values = [value for _sql, params in assigned.values() for value in params]
    changed = 0
    for given, parameter in _tables(chosen, rows):
        if connection.vendor == "sqlite":
            sql = f"UPDATE {table} SET {sets} FROM {given} WHERE {table}.{key} = v0"  # noqa: S608 (names of the model)
            changed += _execute(sql, [*values, parameter])
        else:
            sql = f"UPDATE {given} STRAIGHT_JOIN {table} ON {table}.{key} = v0 SET {sets}"  # noqa: S608 (as above)
            changed += _execute(sql, [parameter, *values])
    return changed


def delete_by_ids(model: type[models.Model], ids: Iterable[Any]) -> None:
    """Delete rows without cascades or signals."""
    key = _field(model, "pk")
    table, column = _quote(model._meta.db_table), _quote(key.column)
    for given, parameter in _tables([key], ([pk] for pk in ids)):
        if connection.vendor == "sqlite":
            _execute(f"DELETE FROM {table} WHERE {column} IN (SELECT v0 FROM {given})", [parameter])  # noqa: S608 (names of the model)
        else:
            _execute(f"DELETE {table} FROM {given} STRAIGHT_JOIN {table} ON {table}.{column} = v0", [parameter])  # noqa: S608 (names of the model)


def _tables(fields: Sequence[Any], rows: Iterable[Sequence[Any]]) -> Iterator[tuple[str, str]]:
    """The rows in pages, each as a table with the columns v0, v1, ... and its JSON parameter."""
    prepare = [field.get_db_prep_save for field in fields]
    given, remaining = _given(fields), iter(rows)
    while page := list(islice(remaining, _MOST)):
        values = [[one(value, connection) for one, value in zip(prepare, row, strict=True)] for row in page]
        yield given, json.dumps(values, default=str, ensure_ascii=False)


def _given(fields: Sequence[Any]) -> str:
    if connection.vendor == "sqlite":
        columns = ", ".join(f"json_extract(value, '$[{number}]') AS v{number}" for number in range(len(fields)))
        return f"(SELECT {columns} FROM json_each(%s)) AS given"  # noqa: S608 (numbers)
    kinds = (f"v{number} {_kind(field)} PATH '$[{number}]'" for number, field in enumerate(fields))
    return f"JSON_TABLE(%s, '$[*]' COLUMNS ({', '.join(kinds)})) AS given"


def _kind(field: Any) -> str:
    target = field.target_field if field.is_relation else field
    return _KINDS.get(target.get_internal_type()) or target.rel_db_type(connection) or ""


def _compiled(model: type[models.Model], name: str, value: Any) -> Compiled:
    if not hasattr(value, "resolve_expression"):
        return "%s", [_field(model, name).get_db_prep_save(value, connection)]
    query = UpdateQuery(model)
    expression = value.resolve_expression(query, allow_joins=False, for_save=True)
    compiled: Compiled = query.get_compiler(connection.alias).compile(expression)
    return compiled


def _field(model: type[models.Model], name: str) -> Any:
    return model._meta.pk if name == "pk" else model._meta.get_field(name)


def _quote(name: str) -> str:
    return connection.ops.quote_name(name)


def _execute(sql: str, parameters: Sequence[Any]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return int(cursor.rowcount)
