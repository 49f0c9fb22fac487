"""Columns and triggers that differ from what this version creates on this server: found, and repaired.

Types of columns depend on the server that migrated: from MariaDB 10.7 on ids are of the type UUID, before that
char(32), which is too short for what is written then. Collations and triggers may be lost with a dump, and foreign keys
with a repair that was interrupted: MariaDB changes no column of a key, so keys are dropped before and made again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.apps import apps as current_apps
from django.apps.registry import Apps
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.models import Field, JSONField, UUIDField

from articles.migrations._triggers import all_triggers, text_columns
from articles.models import Article, Revision
from articles.models.names import exact_columns

_DIGITS = "char(32)"
_CHARACTERS = "utf8mb4"
_USUAL = f"{_CHARACTERS}_general_ci"
_EXACT = f"{_CHARACTERS}_bin"
MADE_EXACT = ("articles", "0037_more_names_compared_exactly")
"""The migration that changes columns of Django's models."""

_COLUMNS = (
    "SELECT table_name, column_name, column_type, collation_name FROM information_schema.columns"
    " WHERE table_schema = DATABASE()"
)
_DEFAULTS = (
    "SELECT table_name, table_collation FROM information_schema.tables"
    " WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE'"
)
_KEYS = (
    "SELECT table_name, constraint_name, column_name, referenced_table_name, referenced_column_name"
    " FROM information_schema.key_column_usage WHERE table_schema = DATABASE() AND referenced_table_name IS NOT NULL"
)
_TRIGGERS = {
    "sqlite": "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'",
    "mysql": "SELECT trigger_name, action_statement FROM information_schema.triggers WHERE trigger_schema = DATABASE()",
}
_NAMED = re.compile(r" COLLATE (\w+)")
_OPTIONS = re.compile(r" (?:CHARACTER SET|COLLATE) \w+")
_WORDS = re.compile(r"[\w.]+")

Column = tuple[str, str]


@dataclass(frozen=True)
class Differences:
    """What is not as this version would create it."""

    ids: list[Column]  #: columns of UUIDs that have room for 32 characters only
    texts: dict[Column, str]  #: columns with another collation, and the one that they should have
    tables: list[str]  #: whose later columns would get another collation
    keys: dict[Column, str]  #: columns whose foreign key is missing, and the statement that adds it
    is_database_other: bool  #: later tables would get another collation
    triggers: dict[str, str]  #: name and statement of triggers that are missing or others
    collation: str  #: of most columns

    @property
    def names(self) -> list[str]:
        """What they are called in a sentence."""
        columns = [f"{table}.{column}" for table, column in sorted({*self.ids, *self.texts})]
        keys = [f"FOREIGN KEY {table}.{column}" for table, column in sorted(self.keys)]
        of_database = ["DATABASE"] if self.is_database_other else []
        return [*columns, *self.tables, *keys, *of_database, *sorted(self.triggers)]


def find_differences() -> Differences:
    """Compare the database with the models at its migrations; keys and triggers only if all are applied.

    A migration that was interrupted may have dropped a key, and adds it when it is run again.
    """
    loader = MigrationLoader(connection)
    applied = set(loader.applied_migrations) & set(loader.graph.nodes)
    is_complete = set(loader.graph.nodes) <= applied
    apps = current_apps if is_complete else loader.project_state(sorted(applied)).apps
    triggers = _other_triggers() if is_complete else {}
    if connection.vendor != "mysql":
        return Differences([], {}, [], {}, is_database_other=False, triggers=triggers, collation="")
    exact = exact_columns() if MADE_EXACT in applied else set()
    return _TableColumns(apps, exact).differences(triggers, is_complete=is_complete)


def repair(found: Differences) -> None:
    """Change columns, collations, keys and triggers to what this version creates. If it fails, it can be repeated."""
    with connection.cursor() as cursor:
        for statement in [*_column_statements(found), *_trigger_statements(found)]:
            cursor.execute(statement, None)


class _TableColumns:
    """The columns of MariaDB or MySQL, beside the fields of these models."""

    def __init__(self, apps: Apps, exact: Collection[Column]) -> None:
        self._exact = exact
        models = [model for model in apps.get_models(include_auto_created=True) if model._meta.managed]
        self._fields = {(one._meta.db_table, field.column): field for one in models for field in _stored(one)}
        self._tables = {model._meta.db_table for model in models}

    @cached_property
    def _found(self) -> dict[Column, tuple[str, str | None]]:
        rows = ((table, column, kind, collation) for table, column, kind, collation in _rows(_COLUMNS))
        return {
            (table, name): (kind, collation) for table, name, kind, collation in rows if (table, name) in self._fields
        }

    def differences(self, triggers: dict[str, str], *, is_complete: bool) -> Differences:
        collation = self._usual_collation()
        has_uuid = connection.features.has_native_uuid_field
        ids = [one for one, (kind, _collation) in self._found.items() if has_uuid and self._is_short(one, kind)]
        texts = {one: wanted for one, own in self._texts() if own != (wanted := self._named(one) or collation)}
        tables = [table for table, own in _rows(_DEFAULTS) if table in self._tables and own != collation]
        ((of_database,),) = _rows("SELECT @@collation_database")
        is_other = bool(self._found) and of_database != collation
        texts = {one: wanted for one, wanted in sorted(texts.items()) if one not in ids}
        keys = self._missing_keys() if is_complete else {}
        return Differences(sorted(ids), texts, sorted(tables), keys, is_other, triggers, collation)

    def _missing_keys(self) -> dict[Column, str]:
        there = {(key.table, key.column) for key in _keys()}
        wanted = {one: field for one, field in self._fields.items() if getattr(field, "db_constraint", False)}
        return {one: _key_of(field) for one, field in wanted.items() if one in self._found and one not in there}

    def _is_short(self, column: Column, kind: str) -> bool:
        return isinstance(self._target(column), UUIDField) and kind == _DIGITS

    def _target(self, column: Column) -> Field[Any, Any]:
        return getattr(self._fields[column], "target_field", self._fields[column])

    def _texts(self) -> Iterator[tuple[Column, str]]:
        """Columns with their collations."""
        for one, (_kind, collation) in self._found.items():
            if collation is not None and not isinstance(self._fields[one], JSONField):
                yield one, collation

    def _named(self, column: Column) -> str:
        """The collation that its field names; "" for the usual one."""
        if column in self._exact:
            return _EXACT
        field = self._target(column)
        found = _NAMED.search(field.db_type(connection) or "")
        return found[1] if found else str(getattr(field, "db_collation", None) or "")

    def _usual_collation(self) -> str:
        """That of most columns, as another one could make different values of a unique column equal."""
        plain = (own for one, own in self._texts() if not self._named(one))
        counts = Counter(own for own in plain if own.startswith(f"{_CHARACTERS}_"))
        return max(counts, key=lambda name: (counts[name], name), default=_USUAL)


@dataclass(frozen=True)
class _Key:
    """A foreign key: Django makes them of one column each."""

    table: str
    name: str
    column: str
    to_table: str
    to_column: str

    def touches(self, columns: set[Column]) -> bool:
        """Whether it connects one of these."""
        return not columns.isdisjoint({(self.table, self.column), (self.to_table, self.to_column)})


def _keys() -> list[_Key]:
    return [_Key(*row) for row in _rows(_KEYS)]


def _key_of(field: Any) -> str:
    editor: Any = connection.SchemaEditorClass(connection)
    return str(editor._create_fk_sql(field.model, field, "_fk_%(to_table)s_%(to_column)s"))


def _stored(model: Any) -> list[Field[Any, Any]]:
    return [field for field in model._meta.local_concrete_fields if field.column]


def _column_statements(found: Differences) -> Iterator[str]:
    quote = connection.ops.quote_name
    if found.is_database_other:
        name = quote(str(connection.settings_dict["NAME"]))
        yield f"ALTER DATABASE {name} CHARACTER SET {_CHARACTERS} COLLATE {found.collation}"
    changed = {*found.ids, *found.texts}  # nothing on SQLite
    keys = [key for key in _keys() if key.touches(changed)] if changed else []
    for key in keys:
        yield f"ALTER TABLE {quote(key.table)} DROP FOREIGN KEY {quote(key.name)}"
    yield from _changes(found)
    for key in keys:
        yield (
            f"ALTER TABLE {quote(key.table)} ADD CONSTRAINT {quote(key.name)} FOREIGN KEY ({quote(key.column)})"
            f" REFERENCES {quote(key.to_table)} ({quote(key.to_column)})"
        )
    yield from found.keys.values()


def _changes(found: Differences) -> Iterator[str]:
    for table in sorted({*found.tables, *(table for table, _column in [*found.ids, *found.texts])}):
        definitions = _definitions(table)
        changes = [_as_uuid(definitions[name]) for of, name in found.ids if of == table]
        changes += [_collated(definitions[name], own) for (of, name), own in found.texts.items() if of == table]
        modified = [f"MODIFY {change}" for change in changes]
        if table in found.tables:
            modified.append(f"DEFAULT CHARACTER SET {_CHARACTERS} COLLATE {found.collation}")
        yield f"ALTER TABLE {connection.ops.quote_name(table)} {', '.join(modified)}"


def _definitions(table: str) -> dict[str, str]:
    """The definitions of the columns, as the server writes them."""
    ((_table, statement),) = _rows(f"SHOW CREATE TABLE {connection.ops.quote_name(table)}")
    lines = (line.strip().removesuffix(",") for line in statement.splitlines())
    return {line.split("`")[1]: line for line in lines if line.startswith("`")}


def _as_uuid(definition: str) -> str:
    return _OPTIONS.sub("", definition).replace(_DIGITS, "uuid", 1)


def _collated(definition: str, collation: str) -> str:
    name, kind, *rest = _OPTIONS.sub("", definition).split(" ", 2)
    return " ".join([name, kind, f"CHARACTER SET {_CHARACTERS} COLLATE {collation}", *rest])


def _other_triggers() -> dict[str, str]:
    if connection.vendor not in _TRIGGERS:  # which is refused by a check of its own
        return {}
    stored = dict(_rows(_TRIGGERS[connection.vendor]))
    with connection.cursor() as cursor:
        columns = connection.introspection.get_table_description(cursor, Article._meta.db_table)
    texts = {*text_columns(Article, Revision)}
    wanted = all_triggers(connection.vendor, [column.name for column in columns if column.name in texts])
    return {name: statement for name, statement in wanted.items() if not _is_as(stored.get(name), statement)}


def _is_as(stored: str | None, statement: str) -> bool:
    """MariaDB and MySQL store what follows FOR EACH ROW; the order of conditions follows that of the columns."""
    if stored is None:
        return False
    body = statement if connection.vendor == "sqlite" else statement.partition(" FOR EACH ROW ")[2]
    return Counter(_WORDS.findall(stored)) == Counter(_WORDS.findall(body))


def _trigger_statements(found: Differences) -> Iterator[str]:
    for name, statement in found.triggers.items():
        yield f"DROP TRIGGER IF EXISTS {name}"
        yield statement


def _rows(query: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return list(cursor.fetchall())
