"""Operations of migrations that do what is left to do, so that one that failed halfway can be run again.

MySQL commits each change of a table at once: without these a second attempt would meet the columns and indexes of the
first.
"""

from __future__ import annotations

from typing import Any

from django.db import migrations, models
from django.db.migrations.state import ProjectState


class AddField(migrations.AddField):
    """Adds the column unless it is there; backwards, drops it unless it is gone."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Add the column."""
        if not self._exists(app_label, schema_editor, to_state):
            super().database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Drop the column."""
        if self._exists(app_label, schema_editor, from_state):
            super().database_backwards(app_label, schema_editor, from_state, to_state)

    def _exists(self, app_label: str, schema_editor: Any, state: ProjectState) -> bool:
        model = state.apps.get_model(app_label, self.model_name)
        connection = schema_editor.connection
        with connection.cursor() as cursor:
            columns = connection.introspection.get_table_description(cursor, model._meta.db_table)
        return model._meta.get_field(self.name).column in {column.name for column in columns}


class AlterIndexedField(migrations.AlterField):
    """Changes only whether a column has an index of its own, unless that is so already."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Add or drop the index."""
        model = to_state.apps.get_model(app_label, self.model_name)
        field = model._meta.get_field(self.name)
        names = schema_editor._constraint_names(model, [field.column], index=True)
        if bool(names) != field.db_index:
            super().database_forwards(app_label, schema_editor, from_state, to_state)


class AddIndex(migrations.AddIndex):
    """Adds the index unless it is there; backwards, drops it unless it is gone."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Add the index."""
        if not _has_index(self.model_name, self.index.name, app_label, schema_editor, to_state):
            super().database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Drop the index."""
        if _has_index(self.model_name, self.index.name, app_label, schema_editor, from_state):
            super().database_backwards(app_label, schema_editor, from_state, to_state)


class RemoveIndex(migrations.RemoveIndex):
    """Drops the index unless it is gone; backwards, adds it unless it is there."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Drop the index."""
        if _has_index(self.model_name, self.name, app_label, schema_editor, from_state):
            super().database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Add the index."""
        if not _has_index(self.model_name, self.name, app_label, schema_editor, to_state):
            super().database_backwards(app_label, schema_editor, from_state, to_state)


def _has_index(model_name: str, name: str, app_label: str, schema_editor: Any, state: ProjectState) -> bool:
    model: type[models.Model] = state.apps.get_model(app_label, model_name)
    connection = schema_editor.connection
    with connection.cursor() as cursor:
        return name in connection.introspection.get_constraints(cursor, model._meta.db_table)
