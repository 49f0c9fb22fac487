"""Adding columns to the article table: its triggers watch the columns, and SQLite loses them with the old table."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from django.db.migrations import RunPython
from django.db.migrations.operations.base import Operation

from articles.models.text import Text

_TABLE = "articles_article"


def with_triggers(*operations: Operation) -> list[Operation]:
    """These operations of a migration, after which the triggers watch the columns that the table then has.

    SQLite makes a new table, so its triggers are dropped before. Elsewhere each works until the next one does: programs
    of the version before keep writing, and a change without a trigger would never be in the feed.
    """
    return [
        RunPython(_drop_on_sqlite, _create, atomic=False),
        *operations,
        RunPython(_replace, _drop, atomic=False),
    ]


def all_triggers(vendor: str, columns: list[str]) -> dict[str, str]:
    """Name and statement of each trigger, once all migrations are applied; `columns` are those of the article table."""
    names = ("0003_audit_guard", "0017_change_feed", "0019_links_and_audit_guard", "0034_goes_live_at")
    audit, feed, audit_replace, taggings = (import_module(f"articles.migrations.{name}") for name in names)
    statements = [
        *audit.statements(vendor),
        *audit_replace.statements(vendor),
        *taggings.NEW_TRIGGERS[vendor],
        *feed.triggers(vendor, _texts(columns, feed)),
    ]
    return {one.split()[2]: one for one in statements}


def _create(apps: Any, schema_editor: Any) -> None:
    for name, statement in _triggers(apps, schema_editor):
        schema_editor.execute(f"DROP TRIGGER IF EXISTS {name}")  # of a migration that was interrupted
        schema_editor.execute(statement, params=None)


def _drop(apps: Any, schema_editor: Any) -> None:
    for name, _statement in _triggers(apps, schema_editor):
        schema_editor.execute(f"DROP TRIGGER IF EXISTS {name}")


def _drop_on_sqlite(apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor == "sqlite":
        _drop(apps, schema_editor)


def _replace(apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor == "sqlite":
        _create(apps, schema_editor)
        return
    for name, statement in _triggers(apps, schema_editor):
        for one in _replacing(name, statement, is_mariadb=schema_editor.connection.mysql_is_mariadb):
            schema_editor.execute(one, params=None)


def _replacing(name: str, statement: str, *, is_mariadb: bool) -> list[str]:
    """The statements that replace a trigger, so that one of both always works; for a moment both may, without harm."""
    if is_mariadb:
        return [statement.replace("CREATE", "CREATE OR REPLACE", 1)]
    interim = f"{name}_interim"
    return [
        f"DROP TRIGGER IF EXISTS {interim}",  # of a migration that was interrupted
        statement.replace(name, interim, 1),
        f"DROP TRIGGER IF EXISTS {name}",
        statement,
        f"DROP TRIGGER {interim}",
    ]


def _triggers(apps: Any, schema_editor: Any) -> list[tuple[str, str]]:
    """Name and statement of each trigger that reads the table, with the columns that it has at this migration."""
    vendor = schema_editor.connection.vendor
    columns = [field.column for field in apps.get_model("articles", "Article")._meta.concrete_fields]
    of_taggings = "0034_goes_live_at" if "cleared_at" in columns else "0014_taggings"
    feed, taggings = (import_module(f"articles.migrations.{name}") for name in ("0017_change_feed", of_taggings))
    statements = [*taggings.NEW_TRIGGERS[vendor], *feed.triggers(vendor, _texts(columns, feed))]
    return [(one.split()[2], one) for one in statements if f" {_TABLE} " in one]


def _texts(columns: list[str], feed: Any) -> list[str]:
    """The columns whose changes the feed compares to the byte."""
    return [name for name in columns if name in feed.TEXTS or name in Text.NAMES - {"channel", "cover_mode"}]
