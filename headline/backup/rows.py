"""Tables as JSON lines: the column names, then a row in each line; the same on every database."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.apps.registry import Apps
from django.db import connection, reset_queries
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

EPHEMERAL = frozenset(
    {"accounts_trycount", "articles_presence", "django_session", "taskinfo_workers", "usersessions_usersession"}
)
"""Tables whose rows are not saved: sessions, presence, heartbeats and log-in attempts."""

_REPLACED = frozenset({("articles", "0023_notification_related_name")})
"""Migrations of earlier versions that another name replaced; they changed no table."""

_FEWEST, _MOST = 10, 500  # rows read or written at once
_LETTERS = 4_000_000  # of their texts
_BYTES = "base64"

Row = Sequence[Any]


def applied_migrations() -> set[tuple[str, str]]:
    """The migrations of this database."""
    return set(MigrationRecorder(connection).applied_migrations()) - _REPLACED


def known_migrations() -> set[tuple[str, str]]:
    """The migrations that this version has."""
    return set(MigrationLoader(connection).disk_migrations)


def apps_at(nodes: Iterable[tuple[str, str]]) -> Apps:
    """The models after these migrations, which the code may have changed since."""
    apps: Apps = MigrationLoader(connection).project_state(list(nodes)).apps
    return apps


def tables_of(apps: Apps) -> list[str]:
    """The names of their tables; articles come before their tags, whose trigger reads them."""
    models = apps.get_models(include_auto_created=True)
    return sorted({model._meta.db_table for model in models if model._meta.managed})


def are_halfway() -> bool:
    """Whether a migration that failed has left tables or columns that its predecessors did not make.

    SQLite rolls it back.
    """
    if connection.vendor == "sqlite":
        return False
    apps = apps_at(applied_migrations() & known_migrations())
    tables = set(tables_of(apps))
    metas = [model._meta for model in apps.get_models(include_auto_created=True) if model._meta.db_table in tables]
    wanted = {(meta.db_table, field.column) for meta in metas for field in meta.local_concrete_fields if field.column}
    with connection.cursor() as cursor:
        cursor.execute("SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = DATABASE()")
        there = {column for column in cursor.fetchall() if column[0] in tables}
    return there != wanted


def dump(table: str) -> Iterator[bytes]:
    """The lines of a table."""
    columns = _columns(table)
    yield _line(columns.names)
    for row in _read(table, columns):
        yield _line([_encoded(value) for value in row])


def _line(values: Row) -> bytes:
    return json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _read(table: str, columns: _Columns) -> Iterator[Row]:
    """All rows in the order of the primary key, page by page."""
    quote = connection.ops.quote_name
    uuids, key = columns.native_uuids, quote(columns.key)
    place = columns.names.index(columns.key)
    names = [f"REPLACE({quote(name)}, '-', '')" if name in uuids else quote(name) for name in columns.names]
    select = f"SELECT {', '.join(names)} FROM {quote(table)}"  # noqa: S608 (names of our tables)
    end = f"ORDER BY {key} LIMIT %s"
    with connection.cursor() as cursor:
        cursor.execute(f"{select} {end}", [_FEWEST])
        while rows := cursor.fetchall():
            yield from rows
            reset_queries()  # stored by Django when debugging
            number = min(_MOST, max(_FEWEST, _LETTERS // max(map(_size, rows))))
            cursor.execute(f"{select} WHERE {key} > %s {end}", [rows[-1][place], number])


def _size(row: Row) -> int:
    return 1 + sum(len(value) for value in row if isinstance(value, str | bytes))


@dataclass(frozen=True)
class _Columns:
    """A table's columns without those that the database computes."""

    names: list[str]
    native_uuids: set[str]  #: of MariaDB's type UUID, which other databases store as 32 digits
    key: str  #: the primary key


_ON_MARIADB = """
    SELECT column_name, column_key = 'PRI', data_type = 'uuid' FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = %s AND extra NOT LIKE '%%GENERATED%%' ORDER BY ordinal_position
"""
_ON_SQLITE = "SELECT name, pk, 0 FROM pragma_table_xinfo(%s) WHERE hidden < 2 ORDER BY cid"


def _columns(table: str) -> _Columns:
    """By one statement: Django's introspection takes five on MariaDB, one of which reads the keys of all tables."""
    with connection.cursor() as cursor:
        cursor.execute(_ON_MARIADB if connection.vendor == "mysql" else _ON_SQLITE, [table])
        rows = cursor.fetchall()
    (key,) = [name for name, is_key, _is_uuid in rows if is_key]
    return _Columns([name for name, *_ in rows], {name for name, _is_key, is_uuid in rows if is_uuid}, key)


def _encoded(value: Any) -> Any:
    if isinstance(value, bytes):
        return {_BYTES: b64encode(value).decode()}
    return value if value is None or isinstance(value, str | int | float) else str(value)


def load(table: str, lines: Iterator[Any]) -> None:
    """Replace the rows of a table. Raises `ValueError` if the first line names other columns."""
    quote = connection.ops.quote_name
    columns: list[str] = next(lines, [])
    if sorted(columns) != sorted(_columns(table).names):
        raise ValueError(f"{table} has other columns")
    values = ", ".join(["%s"] * len(columns))
    insert = f"INSERT INTO {quote(table)} ({', '.join(map(quote, columns))}) VALUES ({values})"  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM {quote(table)}")  # noqa: S608 (a name of our tables)
        for page in _pages(lines):
            cursor.executemany(insert, page)


def _pages(lines: Iterable[Row]) -> Iterator[list[Row]]:
    page: list[Row] = []
    size = 0
    for line in lines:
        page.append([_decoded(value) for value in line])
        size += _size(line)
        if len(page) == _MOST or size > _LETTERS:
            yield page
            page, size = [], 0
    yield page


def _decoded(value: Any) -> Any:
    return b64decode(value[_BYTES]) if isinstance(value, dict) else value


_NEXT_IDS = {
    "mysql": "SELECT table_name, auto_increment FROM information_schema.tables"
    " WHERE table_schema = DATABASE() AND auto_increment IS NOT NULL",
    "sqlite": "SELECT name, seq + 1 FROM sqlite_sequence",
}


def next_ids() -> dict[str, int]:
    """The numbers that the next rows of the tables get, which no row had before."""
    with connection.cursor() as cursor:
        cursor.execute(_NEXT_IDS[connection.vendor])
        return dict(cursor.fetchall())


def set_next_ids(numbers: Mapping[str, int]) -> None:
    """Let the next rows have these numbers; on MySQL this commits."""
    with connection.cursor() as cursor:
        for table, number in numbers.items():
            if connection.vendor == "mysql":
                cursor.execute(f"ALTER TABLE {connection.ops.quote_name(table)} AUTO_INCREMENT = %s", [number])
            else:
                cursor.execute("DELETE FROM sqlite_sequence WHERE name = %s", [table])
                cursor.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (%s, %s)", [table, number - 1])


def filled(tables: Iterable[str]) -> list[str]:
    """Those of these tables that have rows."""
    found = []
    with connection.cursor() as cursor:
        for table in tables:
            cursor.execute(f"SELECT 1 FROM {connection.ops.quote_name(table)} LIMIT 1")  # noqa: S608
            found += [table] if cursor.fetchone() else []
    return found
