"""Adding columns to the article table: its triggers watch the columns, and SQLite loses them with the old table."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from django.db.migrations import RunPython
from django.db.migrations.operations.base import Operation

from articles.models.text import Text

_TABLE = "articles_article"


def with_triggers(*operations: Operation) -> list[Operation]:
    """These operations of a migration, with the triggers dropped before and created after them."""
    return [
        RunPython(_drop, _create, atomic=False),
        *operations,
        RunPython(_create, _drop, atomic=False),
    ]


def _create(apps: Any, schema_editor: Any) -> None:
    for _name, statement in _triggers(apps, schema_editor):
        schema_editor.execute(statement, params=None)


def _drop(apps: Any, schema_editor: Any) -> None:
    for name, _statement in _triggers(apps, schema_editor):
        schema_editor.execute(f"DROP TRIGGER {name}")


def _triggers(apps: Any, schema_editor: Any) -> list[tuple[str, str]]:
    """Name and statement of each trigger that reads the table, with the columns that it has at this migration."""
    vendor = schema_editor.connection.vendor
    feed, taggings = (import_module(f"articles.migrations.{name}") for name in ("0017_change_feed", "0014_taggings"))
    columns = [field.column for field in apps.get_model("articles", "Article")._meta.concrete_fields]
    texts = [name for name in columns if name in feed.TEXTS or name in Text.NAMES - {"channel", "cover_mode"}]
    statements = [*taggings.NEW_TRIGGERS[vendor], *feed.triggers(vendor, texts)]
    return [(one.split()[2], one) for one in statements if f" {_TABLE} " in one]
