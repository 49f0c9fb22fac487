"""Another database beside that of the tests, and descriptions of databases that can be compared."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.db import connection

OTHER = "headline_upgraded" + os.environ.get("PYTEST_XDIST_WORKER", "")

Description = dict[str, set[tuple[Any, ...]]]

_MARIADB = {
    "columns": "SELECT table_name, column_name, column_type, is_nullable, column_default, collation_name, extra,"
    " generation_expression FROM information_schema.columns WHERE table_schema = DATABASE()",
    "indexes": "SELECT table_name, index_name, non_unique, index_type, GROUP_CONCAT(column_name ORDER BY seq_in_index)"
    " FROM information_schema.statistics WHERE table_schema = DATABASE() GROUP BY 1, 2, 3, 4",
    "keys": "SELECT table_name, constraint_name, column_name, referenced_table_name, referenced_column_name"
    " FROM information_schema.key_column_usage WHERE table_schema = DATABASE() AND referenced_table_name IS NOT NULL",
    # Some versions of MariaDB name the check of a JSON column after the column's former name.
    "constraints": "SELECT table_name, IF(constraint_type = 'CHECK', '', constraint_name), constraint_type"
    " FROM information_schema.table_constraints WHERE table_schema = DATABASE()",
    "tables": "SELECT table_name, engine, table_collation FROM information_schema.tables"
    " WHERE table_schema = DATABASE()",
    "triggers": "SELECT trigger_name, event_object_table, action_timing, event_manipulation, action_statement"
    " FROM information_schema.triggers WHERE trigger_schema = DATABASE()",
}
_SQLITE = {"schema": "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'"}
_ROWS = {
    "rights": "SELECT auth_group.name, codename FROM auth_group JOIN auth_group_permissions ON group_id = auth_group.id"
    " JOIN auth_permission ON auth_permission.id = permission_id",
    "permissions": "SELECT app_label, model, codename FROM auth_permission"
    " JOIN django_content_type ON django_content_type.id = content_type_id",
    "migrations": "SELECT app, name FROM django_migrations",
}


@contextmanager
def other_database(directory: Path) -> Iterator[str]:
    """Django's connection has an empty database, whose URL this yields, while the block lasts."""
    usual = connection.settings_dict["NAME"]
    is_sqlite = connection.vendor == "sqlite"
    name = str(directory / "upgraded.sqlite3") if is_sqlite else OTHER
    if not is_sqlite:
        _execute(f"DROP DATABASE IF EXISTS {OTHER}")
        _execute(f"CREATE DATABASE {OTHER} CHARACTER SET utf8mb4")
    connection.close()
    connection.settings_dict["NAME"] = name
    try:
        yield f"sqlite:///{name}" if is_sqlite else os.environ["DATABASE_URL"].rpartition("/")[0] + f"/{name}"
    finally:
        if not is_sqlite:
            _execute(f"DROP DATABASE {OTHER}")
        connection.close()
        connection.settings_dict["NAME"] = usual


def describe() -> Description:
    """Tables, columns, collations, indexes, keys and triggers, and what migrations store of rights."""
    queries = (_SQLITE if connection.vendor == "sqlite" else _MARIADB) | _ROWS
    return {name: {tuple(map(_plain, row)) for row in _rows(query)} for name, query in queries.items()}


def differences(
    found: Description, wanted: Description, *, was_interrupted: bool = False
) -> dict[str, tuple[list[Any], list[Any]]]:
    """What only one of both has, by kind; rows about models of packages that are gone may be left over.

    After an interruption, MariaDB may keep the index of a foreign key under the name of the key before.
    """
    if was_interrupted:
        found, wanted = _without_names_of_keys(found), _without_names_of_keys(wanted)
    pairs = {name: (found[name] - wanted[name], wanted[name] - found[name]) for name in wanted}
    pairs |= {name: (set(), pairs[name][1]) for name in ("permissions", "migrations")}
    return {
        name: (sorted(one, key=str), sorted(other, key=str)) for name, (one, other) in pairs.items() if one or other
    }


def _without_names_of_keys(description: Description) -> Description:
    if "indexes" not in description:
        return description
    indexes = {(table, "" if "_fk_" in name else name, *rest) for table, name, *rest in description["indexes"]}
    return {**description, "indexes": indexes}


def _plain(value: Any) -> Any:
    return " ".join(re.sub(r'"', "", value).split()) if isinstance(value, str) else value


def _rows(query: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return list(cursor.fetchall())


def _execute(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)
