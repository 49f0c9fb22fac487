"""A schema editor that skips what is done, so that a migration that failed halfway can be run again.

MariaDB and MySQL commit each change of a table at once. A second attempt of a migration begins at its first statement,
and meets the tables, columns, indexes and triggers of the first attempt, or no longer finds what that one has removed.
A table that is not there has got another name by a later operation of the same migration.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from django.db.backends.mysql import schema
from django.db.models import Field, Model
from django.db.utils import DatabaseError

_NO_TABLE = 1146
_DONE = {
    "CREATE TRIGGER": {1359},
    "CREATE INDEX": {1061},
    "DROP INDEX": {1091, _NO_TABLE},
    "DROP TRIGGER": {1360},
    "DROP TABLE": {1051},
}
"""The errors that mean that the effect of a statement is there already."""
_DONE_TO_TABLES = {
    "ADD COLUMN": {1060},
    "ADD CONSTRAINT": {1005, 1061, 1068, 1826},
    "ADD FULLTEXT": {1061},
    "ALTER COLUMN": {_NO_TABLE},
    "DROP COLUMN": {1091, _NO_TABLE},
    "DROP CONSTRAINT": {1091, _NO_TABLE},
    "DROP FOREIGN": {1091, _NO_TABLE},
    "DROP INDEX": {1091, _NO_TABLE},
}
_DUPLICATE_KEY_ON_WRITE = re.compile(r"errno: 121\b")  # the only 1005 that means that a constraint exists
_RENAMED_COLUMN = re.compile(r"ALTER TABLE `(\w+)` (?:CHANGE|RENAME COLUMN) `(\w+)` (?:TO )?`(\w+)`")
_RENAMED_INDEX = re.compile(r"ALTER TABLE `(\w+)` RENAME INDEX `(\w+)` TO `(\w+)`")
_RENAMED_TABLE = re.compile(r"RENAME TABLE `(\w+)` TO `(\w+)`")
_CREATED_TABLE = re.compile(r"CREATE TABLE `(\w+)`")
_ALTERED_TABLE = re.compile(r"ALTER TABLE `?\w+`? (\w+ \w+)")


class DatabaseSchemaEditor(schema.DatabaseSchemaEditor):
    """Executes the statements of migrations, unless their effect is there."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._columns_of_new: dict[str, set[str]] = {}

    def execute(self, sql: Any, params: Any = ()) -> None:
        """Execute a statement. Raises what it raises unless its effect is there already."""
        try:
            super().execute(sql, params)
        except DatabaseError as error:
            if not self._is_done(str(sql), error):
                raise

    def create_model(self, model: type[Model]) -> None:
        """Create the table, or only its keys and indexes if it exists with these columns, and maybe later ones."""
        columns = {field.column for field in model._meta.local_concrete_fields if field.column}
        self._columns_of_new[model._meta.db_table] = columns
        super().create_model(model)

    def alter_field(self, model: type[Model], old_field: Any, new_field: Any, strict: bool = False) -> None:
        """Change a column, and add its foreign key if an attempt was interrupted after dropping it.

        A column that is not there has been dropped by a later operation of an earlier attempt.
        """
        if not self.collect_sql and self._is_gone(model, old_field, new_field):
            return
        super().alter_field(model, old_field, new_field, strict)
        if not self.collect_sql and self._lacks_key(model, new_field):
            create = self._create_fk_sql  # type: ignore[attr-defined]
            self.execute(create(model, new_field, "_fk_%(to_table)s_%(to_column)s"))

    def _is_gone(self, model: type[Model], *fields: Field[Any, Any]) -> bool:
        if model._meta.db_table not in self._tables():
            return True
        names = {field.column for field in fields if field.column}  # a many-to-many relation has none
        return bool(names) and not names & self._columns(model._meta.db_table)

    def _delete_composed_index(self, model: type[Model], fields: Any, constraint_kwargs: Any, sql: Any) -> None:
        columns = [getattr(model._meta.get_field(name), "column", name) for name in fields]
        if self.collect_sql or self._constraint_names(model, columns, **constraint_kwargs):
            super()._delete_composed_index(model, fields, constraint_kwargs, sql)  # type: ignore[misc]

    def _create_missing_fk_index(self, model: type[Model], **options: Any) -> None:
        if self.collect_sql or model._meta.db_table in self._tables():
            super()._create_missing_fk_index(model, **options)  # type: ignore[misc]

    def _constraint_names(self, model: type[Model], *args: Any, **options: Any) -> list[str]:
        if not self.collect_sql and model._meta.db_table not in self._tables():
            return []
        names: list[str] = super()._constraint_names(model, *args, **options)  # type: ignore[misc]
        return names

    def _lacks_key(self, model: type[Model], field: Field[Any, Any]) -> bool:
        if not (field.remote_field and getattr(field, "db_constraint", False) and field.column):
            return False
        is_there = field.column in self._columns(model._meta.db_table)
        return is_there and not self._constraint_names(model, [field.column], foreign_key=True)

    def _is_done(self, sql: str, error: DatabaseError) -> bool:
        code = error.args[0] if error.args else None
        if code == 1005 and not _DUPLICATE_KEY_ON_WRITE.search(str(error)):
            return False
        if created := _CREATED_TABLE.match(sql):
            expected = self._columns_of_new.get(created[1])
            return code == 1050 and bool(expected) and self._columns(created[1]).issuperset(expected or ())
        if renamed := _RENAMED_TABLE.match(sql):
            return _is_renamed(renamed[1], renamed[2], self._tables())
        for pattern, names in ((_RENAMED_COLUMN, self._columns), (_RENAMED_INDEX, self._indexes)):
            if renamed := pattern.match(sql):
                return self._is_renamed_in(renamed[1], renamed[2], renamed[3], names)
        altered = _ALTERED_TABLE.match(sql)
        done = _DONE_TO_TABLES.get(altered[1]) if altered else _DONE.get(" ".join(sql.split()[:2]))
        return code in (done or ())

    def _is_renamed_in(self, table: str, old: str, new: str, names: Callable[[str], set[str]]) -> bool:
        return table not in self._tables() or _is_renamed(old, new, names(table))

    def _tables(self) -> set[str]:
        return set(self.connection.introspection.table_names())

    def _columns(self, table: str) -> set[str]:
        with self.connection.cursor() as cursor:
            return {column.name for column in self.connection.introspection.get_table_description(cursor, table)}

    def _indexes(self, table: str) -> set[str]:
        with self.connection.cursor() as cursor:
            return set(self.connection.introspection.get_constraints(cursor, table))


def _is_renamed(old: str, new: str, names: set[str]) -> bool:
    return new in names and old not in names
