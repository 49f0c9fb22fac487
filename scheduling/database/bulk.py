"""Insert, copy, update and delete many rows by one statement: from one JSON parameter, or from a SELECT.

A statement that names each value is slow to build, to parse and to send. For any other condition than a join with the
primary key, MariaDB may scan all of a small table and wait for each locked row, so two of them could deadlock.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connection, connections, models, router
from django.db.models.expressions import Combinable
from django.db.models.sql import UpdateQuery

from scheduling.database.compiled import Statement

_MOST = 1000  # rows in one statement
_PLAIN = (models.CharField.get_prep_value, models.TextField.get_prep_value)
_KINDS = {"UUIDField": "CHAR(36)", "JSONField": "LONGTEXT"}  # types that JSON_TABLE lacks


def insert_rows(
    model: type[models.Model],
    fields: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    unless_there: bool = False,
    **same: Any,
) -> None:
    """Insert rows, each with the values of `fields`, without signals or defaults.

    `same` are values or expressions for all. `unless_there` leaves out rows that break a unique constraint.
    """
    chosen = [_field(model, name) for name in fields]
    insert, values = _insert(model, fields, [f"v{number}" for number in range(len(chosen))], same)
    for given, parameter in _tables(chosen, rows):
        sql = f"{insert} FROM {given}"
        _execute(_unless_there(model, sql) if unless_there else sql, [*values, parameter])


def copy_rows(
    source: type[models.Model], target: type[models.Model], fields: Sequence[str], ids: Iterable[Any], **same: Any
) -> None:
    """Insert the `fields` of rows of one table into another, without signals; `same` as in `insert_rows`."""
    table = _quote(source._meta.db_table)
    copied = [f"{table}.{_quote(_field(source, name).column)}" for name in fields]
    insert, values = _insert(target, fields, copied, same)
    for given, parameter in _tables([_field(source, "pk")], ([pk] for pk in ids)):
        _execute(f"{insert} FROM {given} {_joined(source)}", [*values, parameter])


def _insert(
    model: type[models.Model], fields: Sequence[str], selected: Sequence[str], same: Mapping[str, Any]
) -> tuple[str, list[Any]]:
    """`INSERT ... SELECT` without its source, and the parameters."""
    compiled = {name: _compiled(model, name, value) for name, value in same.items()}
    columns = ", ".join(_quote(_field(model, name).column) for name in [*fields, *same])
    chosen = ", ".join([*selected, *(sql for sql, _params in compiled.values())])
    values = [value for _sql, params in compiled.values() for value in params]
    return f"INSERT INTO {_quote(model._meta.db_table)} ({columns}) SELECT {chosen}", values  # noqa: S608 (names of the model)


def update_by_ids(model: type[models.Model], fields: Sequence[str], rows: Iterable[Sequence[Any]], **same: Any) -> int:
    """Update rows without signals; returns how many there were.

    Each of `rows` is an id and the values of `fields`. `same` are values for all, or expressions over the row.
    """
    chosen = [_field(model, name) for name in ("pk", *fields)]
    table, key = _quote(model._meta.db_table), _quote(chosen[0].column)
    assigned: dict[str, Statement] = {
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
            # The given ids drive the join, so that MariaDB reads the table by its primary key, whatever its statistics
            # say.
            sql = f"UPDATE {given} {_joined(model)} SET {sets}"  # noqa: S608 (as above)
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
            _execute(f"DELETE {table} FROM {given} {_joined(model)}", [parameter])  # noqa: S608 (names of the model)


def insert_for_each(model: type[models.Model], rows: models.QuerySet[Any], **columns: Combinable) -> None:
    """Insert a row for each of `rows` in one statement, in the caller's transaction.

    `columns` are expressions over one of them, by the names of the table's columns; nothing fills in defaults.
    """
    try:
        statement = insert_statement(model, rows, **columns)
    except EmptyResultSet:  # the condition is never true, such as `pk__in` without ids
        return
    with connections[router.db_for_write(model)].cursor() as cursor:
        cursor.execute(*statement)


def insert_statement(model: type[models.Model], rows: models.QuerySet[Any], **columns: Combinable) -> Statement:
    """The statement of `insert_for_each`."""
    connection = connections[router.db_for_write(model)]
    select, parameters = rows.values_list(*columns.values()).query.get_compiler(connection.alias).as_sql()
    names = ", ".join(map(connection.ops.quote_name, columns))
    # The statement is the ORM's and the names are the model's: no input is interpolated.
    return f"INSERT INTO {connection.ops.quote_name(model._meta.db_table)} ({names}) {select}", parameters  # noqa: S608


def unless_there(model: type[models.Model], statement: Statement) -> Statement:
    """The same inserting statement, which leaves out rows that break a unique constraint."""
    sql, parameters = statement
    return _unless_there(model, sql), parameters


def _unless_there(model: type[models.Model], sql: str) -> str:
    if connections[router.db_for_write(model)].vendor == "sqlite":
        return sql.replace("INSERT", "INSERT OR IGNORE", 1)
    # Not INSERT IGNORE, which would also store what does not fit.
    key = f"{_quote(model._meta.db_table)}.{_quote(_field(model, 'pk').column)}"
    return f"{sql} ON DUPLICATE KEY UPDATE {key} = {key}"


class NewId(models.Func):
    """A new id for each row, made by the database."""

    output_field = models.UUIDField()
    arity = 0
    template = "UUID()"  # MariaDB has a type of its own for them; MySQL and SQLite keep their hexadecimal digits

    def as_mysql(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        """The SQL for MariaDB and MySQL."""
        if not connection.features.has_native_uuid_field:
            extra["template"] = "REPLACE(UUID(), '-', '')"
        return self.as_sql(compiler, connection, **extra)

    def as_sqlite(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        """The SQL for SQLite."""
        return self.as_sql(compiler, connection, **extra, template="LOWER(HEX(RANDOMBLOB(16)))")


def _tables(fields: Sequence[Any], rows: Iterable[Sequence[Any]]) -> Iterator[tuple[str, str]]:
    """The rows in pages, each as a table with the columns v0, v1, ... and its JSON parameter."""
    converters = [_converter(field) for field in fields]
    given, remaining = _given(fields), iter(rows)
    while page := list(islice(remaining, _MOST)):
        columns = [
            values if convert is None else [value if value is None else convert(value) for value in values]
            for convert, values in zip(converters, zip(*page, strict=True), strict=True)
        ]
        yield given, json.dumps(list(zip(*columns, strict=True)), default=str, ensure_ascii=False)


def _converter(field: Any) -> Callable[[Any], Any] | None:
    """What makes of a field's value one for the database; None if that takes it as it is.

    Django's own function for that takes longer than the insert.
    """
    target = field.target_field if field.is_relation else field
    if isinstance(target, models.DateTimeField):
        return connection.ops.adapt_datetimefield_value
    if isinstance(target, models.JSONField):
        return partial(connection.ops.adapt_json_value, encoder=target.encoder)
    if isinstance(target, models.IntegerField) or type(target).get_prep_value in _PLAIN:
        return None
    return partial(target.get_db_prep_save, connection=connection)


def _converted(field: Any, value: Any) -> Any:
    convert = _converter(field)
    return value if value is None or convert is None else convert(value)


def _given(fields: Sequence[Any]) -> str:
    if connection.vendor == "sqlite":
        columns = ", ".join(f"json_extract(value, '$[{number}]') AS v{number}" for number in range(len(fields)))
        return f"(SELECT {columns} FROM json_each(%s)) AS given"  # noqa: S608 (numbers)
    kinds = (f"v{number} {_kind(field)} PATH '$[{number}]'" for number, field in enumerate(fields))
    return f"JSON_TABLE(%s, '$[*]' COLUMNS ({', '.join(kinds)})) AS given"


def _kind(field: Any) -> str:
    target = field.target_field if field.is_relation else field
    return _KINDS.get(target.get_internal_type()) or target.rel_db_type(connection) or ""


def _compiled(model: type[models.Model], name: str, value: Any) -> Statement:
    if not hasattr(value, "resolve_expression"):
        return "%s", [_converted(_field(model, name), value)]
    query = UpdateQuery(model)
    expression = value.resolve_expression(query, allow_joins=False, for_save=True)
    compiled: Statement = query.get_compiler(connection.alias).compile(expression)
    return compiled


def _field(model: type[models.Model], name: str) -> Any:
    return model._meta.pk if name == "pk" else model._meta.get_field(name)


def _joined(model: type[models.Model]) -> str:
    """The join of the given ids with the table, row by row by its primary key."""
    table, key = _quote(model._meta.db_table), _quote(_field(model, "pk").column)
    if connection.vendor == "sqlite":
        return f"CROSS JOIN {table} ON {table}.{key} = v0"
    return f"STRAIGHT_JOIN {table} FORCE INDEX (PRIMARY) ON {table}.{key} = v0"


def _quote(name: str) -> str:
    return connection.ops.quote_name(name)


def _execute(sql: str, parameters: Sequence[Any]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return int(cursor.rowcount)
