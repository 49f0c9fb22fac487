"""Reading tables as if some rows had been written already: statements of a block get a common table expression each.

A database merges such a table expression into the statement, so that columns which do not differ keep their indexes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from django.db import connection
from django.db.models import Field, Model

from scheduling.database.rewriting import rewriting


@dataclass(frozen=True, kw_only=True)
class Overlay:
    """How a table is read: columns are named by `attname`, rows by the values of the column `key`."""

    changed: Mapping[str, Mapping[int, Any]] = field(default_factory=dict)  #: column to its values by key
    copied: Collection[str] = ()  #: columns that are those of a row of `source`, where `copies` names one for the key
    source: type[Model] | None = None
    copies: Mapping[int, int] = field(default_factory=dict)
    without: Collection[int] = ()  #: keys of rows that are not there
    added: Sequence[Mapping[str, Any]] = ()  #: further rows
    key: str = "id"

    @property
    def is_plain(self) -> bool:
        """Whether the table is read as it is."""
        return not (any(self.changed.values()) or self.copies or self.without or self.added)


_in_force: ContextVar[object] = ContextVar("in_force", default=None)


@contextmanager
def as_stored() -> Iterator[None]:
    """Let the statements of this block read all tables as they are, whatever overlays there are around it."""
    with _applying(None):
        yield


@contextmanager
def overlaid(tables: Mapping[type[Model], Overlay]) -> Iterator[None]:
    """Let the SELECT statements of this block read these tables so; those that lock or write see them as they are.

    It replaces what another such block around it has laid over tables.
    """
    quote = connection.ops.quote_name
    known = [
        (quote(model._meta.db_table), _statement(model, overlay))
        for model, overlay in tables.items()
        if not overlay.is_plain
    ]

    def read(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        used = [(name, *statement) for name, statement in known if name in sql] if _in_force.get() is known else []
        if not used or many or not sql.startswith(("SELECT ", "(SELECT ")) or "FOR UPDATE" in sql:
            return execute(sql, params, many, context)
        expressions = ", ".join(f"{name} AS ({statement})" for name, statement, _given in used)
        given = [value for _name, _statement, values in used for value in values]
        if params is None:
            sql = sql.replace("%", "%%")
        return execute(f"WITH {expressions} {sql}", (*given, *(params or ())), many, context)

    with _applying(known), rewriting(read):
        yield


@contextmanager
def _applying(tables: object) -> Iterator[None]:
    token = _in_force.set(tables)
    try:
        yield
    finally:
        _in_force.reset(token)


def _statement(model: type[Model], overlay: Overlay) -> tuple[str, list[Any]]:
    """The table as a SELECT with its parameters."""
    columns, given = [], list[Any]()
    for column in model._meta.concrete_fields:
        sql, values = _column(column, overlay)
        columns.append(f"{sql} AS {_quoted(column.column)}")
        given += values
    source = f" FROM {_base(model)} AS t"
    if overlay.source is not None and overlay.copies:
        which, values = _case(overlay.key, overlay.copies, "NULL", "%s")
        source += f" LEFT JOIN {_base(overlay.source)} AS s ON s.{_quoted('id')} = {which}"
        given += values
    if overlay.without:
        source += f" WHERE t.{_quoted(overlay.key)} NOT IN ({_numbers(overlay.without)})"
    fields = model._meta.concrete_fields
    if overlay.added:
        # One list of rows: SQLite takes no more than 500 parts of a union.
        row = f"({', '.join(map(_holder, fields))})"
        source += f" UNION ALL VALUES {', '.join([row] * len(overlay.added))}"
        given += [_value(one, added[one.attname]) for added in overlay.added for one in fields]
    return f"SELECT {', '.join(columns)}{source}", given


def _column(column: Field[Any, Any], overlay: Overlay) -> tuple[str, list[Any]]:
    own, name = f"t.{_quoted(column.column)}", column.attname
    if name in overlay.copied and overlay.copies:
        return f"CASE WHEN t.{_quoted(overlay.key)} IN ({_numbers(overlay.copies)}) THEN s.{own[2:]} ELSE {own} END", []
    values = overlay.changed.get(name)
    if not values:
        return own, []
    return _case(overlay.key, {pk: _value(column, value) for pk, value in values.items()}, own, _holder(column))


def _case(key: str, values: Mapping[int, Any], default: str, holder: str) -> tuple[str, list[Any]]:
    whens = " ".join(f"WHEN {int(pk)} THEN {holder}" for pk in values)
    return f"CASE t.{_quoted(key)} {whens} ELSE {default} END", list(values.values())


def _base(model: type[Model]) -> str:
    """The table itself: with the name of its database, which never means a table expression."""
    schema = "main" if connection.vendor == "sqlite" else connection.settings_dict["NAME"]
    return f"{_quoted(schema)}.{_quoted(model._meta.db_table)}"


def _quoted(name: Any) -> str:
    return connection.ops.quote_name(str(name))


def _numbers(keys: Collection[int]) -> str:
    return ", ".join(str(int(pk)) for pk in keys)


def _value(column: Field[Any, Any], value: Any) -> Any:
    stored = getattr(column, "output_field", column)
    return stored.get_db_prep_save(value, connection)


def _holder(column: Field[Any, Any]) -> str:
    """A placeholder of the column's type: MySQL would compare times with texts otherwise."""
    internal = getattr(column, "output_field", column).get_internal_type()
    is_time = internal == "DateTimeField" and connection.vendor == "mysql"
    return "CAST(%s AS DATETIME(6))" if is_time else "%s"
