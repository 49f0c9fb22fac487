"""Triggers of the article and audit tables: their SQL, and adding columns that they watch.

Migrations and `headline.tables` take each statement from here. Columns are arguments, so that a later column changes
no earlier migration.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from django.db.migrations import RunPython
from django.db.migrations.operations.base import Operation
from django.db.models import CharField, JSONField, TextField

_AUDIT = "articles_auditentry"
_ARTICLE = "articles_article"
_TAGGING = "articles_article_tags"
_BESIDE = {_TAGGING: ("INSERT", "DELETE"), "articles_correction": ("INSERT", "UPDATE", "DELETE")}

OTHERS = ("channel_id", "author_id", "publish_at", "published_at", "text_changed_at")
SHOWING = ("status", "unpublish_at", "embargo_until")
# A stamp sets the status and when an article went live, but none of the times that come with another change. Readers
# see the article by the clock, and comparing the texts takes a third of the time of a full hour.
TIMES_OF_CHANGES = ("publish_at", "unpublish_at", "embargo_until", "text_changed_at", "updated_at")
PASSED = "(4, 8, 9, 10, 11)"  # approved, out, or out once
VISIBLE = "(4, 8, 9)"
NOW = {"mysql": "UTC_TIMESTAMP(6)", "sqlite": "STRFTIME('%Y-%m-%d %H:%M:%f', 'now')"}
# Readers see nothing of an article that waits, and then waits for another time: unless one of them comes while the
# transaction goes on, which no transaction does for half an hour.
SOON = {
    "mysql": "UTC_TIMESTAMP(6) + INTERVAL 30 MINUTE",
    "sqlite": "STRFTIME('%Y-%m-%d %H:%M:%f', 'now', '+30 minutes')",
}

PUBLISH_AT, GOES_LIVE_AT = ("publish_at",), ("publish_at", "embargo_until", "cleared_at")
"""Columns by whose time lists of a tag are ordered; several by their latest."""


# The audit log is append-only


def audit_guard(vendor: str) -> Iterator[str]:
    """Refuse every UPDATE and DELETE of audit entries, whoever tries."""
    message = "The audit record is never changed or deleted."
    refuse = {
        "mysql": f"FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '{message}'",
        "sqlite": f"BEGIN SELECT RAISE(ABORT, '{message}'); END",
    }
    for verb in ("UPDATE", "DELETE"):
        yield f"CREATE TRIGGER audit_refuses_{verb.lower()} BEFORE {verb} ON {_AUDIT} {refuse[vendor]}"


def audit_guard_of_replace(vendor: str) -> Iterator[str]:
    """SQLite's REPLACE deletes without a trigger."""
    if vendor == "sqlite":
        yield (
            f"CREATE TRIGGER audit_refuses_replace BEFORE INSERT ON {_AUDIT} WHEN EXISTS"
            f" (SELECT 1 FROM {_AUDIT} WHERE id = NEW.id)"
            " BEGIN SELECT RAISE(ABORT, 'The audit record is never changed or deleted.'); END"
        )


# Each tagging has a copy of its article's time


def taggings(vendor: str, times: Sequence[str]) -> Iterator[str]:
    """Give a new tagging the time of its article, and change it with that."""
    column, moment = ("goes_live_at", _latest(vendor, times)) if len(times) > 1 else (times[0], f"NEW.{times[0]}")
    follow = f"UPDATE {_TAGGING} SET publish_at = {moment} WHERE article_id = NEW.id;"
    if vendor == "sqlite":
        yield (
            f"CREATE TRIGGER tagging_gets_time AFTER INSERT ON {_TAGGING} BEGIN UPDATE {_TAGGING} SET publish_at ="
            f" (SELECT {column} FROM {_ARTICLE} WHERE id = NEW.article_id) WHERE id = NEW.id; END"
        )
        yield (
            f"CREATE TRIGGER taggings_follow_time AFTER UPDATE OF {', '.join(times)} ON {_ARTICLE}"
            f" WHEN {' OR '.join(f'NEW.{name} IS NOT OLD.{name}' for name in times)} BEGIN {follow} END"
        )
        return
    # Locked, or a time that is changed at the same moment would be missed.
    yield (
        f"CREATE TRIGGER tagging_gets_time BEFORE INSERT ON {_TAGGING} FOR EACH ROW BEGIN DECLARE moment DATETIME(6);"
        f" SELECT {column} INTO moment FROM {_ARTICLE} WHERE id = NEW.article_id LOCK IN SHARE MODE;"
        " SET NEW.publish_at = moment; END"
    )
    yield (
        f"CREATE TRIGGER taggings_follow_time AFTER UPDATE ON {_ARTICLE} FOR EACH ROW BEGIN"
        f" IF NOT ({_same(vendor, times)}) THEN {follow} END IF; END"
    )


def _latest(vendor: str, times: Sequence[str]) -> str:
    """The generated column `goes_live_at` of the new row; MySQL has no generated columns in triggers."""
    first, *others = times
    held = (f"COALESCE(NEW.{name}, NEW.{first})" for name in others)
    return f"{'MAX' if vendor == 'sqlite' else 'GREATEST'}(NEW.{first}, {', '.join(held)})"


# The change feed notes every write of what readers see, whatever makes it


def feed(vendor: str, texts: Collection[str]) -> Iterator[str]:
    """Note changes of articles, their tags and corrections.

    `texts` are compared to the byte: a database may take "Oslo" and "oslo" for the same.
    """
    yield _trigger(vendor, "feed_article_insert", "INSERT", _ARTICLE, f"NEW.status IN {VISIBLE}", _note(vendor, "NEW"))
    is_stamp = f"OLD.status IN (4, 8) AND NEW.status = 9 AND {_same(vendor, TIMES_OF_CHANGES)}"
    is_unseen = f"{_waits(vendor, 'OLD')} AND {_waits(vendor, 'NEW')}"
    is_relevant = f"(NEW.status IN {PASSED} OR OLD.status IN {PASSED})"
    if vendor == "sqlite":
        is_visible = f"NOT ({_same(vendor, OTHERS, texts)})"
        is_change = f"({is_visible} OR NOT ({_same(vendor, SHOWING)}))"
        changed = f"{is_relevant} AND NOT ({is_stamp}) AND NOT ({is_unseen}) AND {is_change}"
        action = _note(vendor, "NEW", is_visible)
    else:  # MariaDB prepares all of a condition for each row, so there are several, and the most frequent come first
        changed = f"NOT ({is_stamp})"
        action = (
            f"IF {is_relevant} AND NOT ({is_unseen}) THEN"
            f" IF NOT ({_same(vendor, OTHERS)}) THEN {_note(vendor, 'NEW')}"
            f" ELSEIF NOT ({_same(vendor, (), texts)}) THEN {_note(vendor, 'NEW')}"
            f" ELSEIF NOT ({_same(vendor, SHOWING)}) THEN {_note(vendor, 'NEW', '0')} END IF; END IF;"
        )
    yield _trigger(vendor, "feed_article_update", "UPDATE", _ARTICLE, changed, action)
    yield _trigger(vendor, "feed_article_delete", "DELETE", _ARTICLE, "1", _note(vendor, "OLD", "0"))
    for table, events in _BESIDE.items():
        for event in events:
            row = "OLD" if event == "DELETE" else "NEW"
            name = f"feed_{table.removeprefix('articles_')}_{event.lower()}"
            yield _trigger(vendor, name, event, table, "1", _note(vendor, row, key="article_id"))


def _note(vendor: str, row: str, is_visible: str = "1", key: str = "id") -> str:
    columns = "articles_pendingchange (article_id, is_visible, at)"
    return f"INSERT INTO {columns} VALUES ({row}.{key}, {is_visible}, {NOW[vendor]});"


def _same(vendor: str, names: Iterable[str], texts: Iterable[str] = ()) -> str:
    if vendor == "sqlite":
        return " AND ".join(f"NEW.{name} IS OLD.{name}" for name in (*names, *texts))
    pairs = [f"BINARY NEW.{name} <=> BINARY OLD.{name}" for name in texts]  # last: they take the longest
    return " AND ".join([*(f"NEW.{name} <=> OLD.{name}" for name in names), *pairs])


def _waits(vendor: str, row: str) -> str:
    return f"{row}.status IN (4, 8) AND ({row}.publish_at IS NULL OR {row}.publish_at > {SOON[vendor]})"


def _trigger(vendor: str, name: str, event: str, table: str, condition: str, action: str) -> str:
    on = f"CREATE TRIGGER {name} AFTER {event} ON {table}"
    if vendor == "sqlite":
        return f"{on} WHEN {condition} BEGIN {action} END"
    return f"{on} FOR EACH ROW BEGIN IF {condition} THEN {action} END IF; END"


# What readers saw is known from after the last event that was pruned


def pruning(vendor: str) -> Iterator[str]:
    """Store in the row of the feed's head until when events were deleted, also by hand."""
    is_older = "(pruned_until IS NULL OR pruned_until < OLD.numbered_at)"
    note = f"UPDATE articles_feedhead SET pruned_until = OLD.numbered_at WHERE {is_older};"
    yield _trigger(vendor, "feed_event_delete", "DELETE", "articles_event", "OLD.numbered_at IS NOT NULL", note)


# Migrations


def all_triggers(vendor: str, texts: Collection[str]) -> dict[str, str]:
    """Name and statement of each trigger, once all migrations are applied; `texts` as in the order of the table."""
    statements = [
        *audit_guard(vendor),
        *audit_guard_of_replace(vendor),
        *taggings(vendor, GOES_LIVE_AT),
        *feed(vendor, texts),
        *pruning(vendor),
    ]
    return {name_of(one): one for one in statements}


def name_of(statement: str) -> str:
    """The name of the trigger that a statement creates."""
    return statement.split()[2]


def text_columns(article: Any, revision: Any) -> list[str]:
    """The columns of texts that readers see: those which revisions have, too."""
    shared = {field.column for field in revision._meta.concrete_fields} - {"cover_mode"}
    fields: list[Any] = article._meta.concrete_fields
    texts: list[Any] = [field for field in fields if isinstance(field, CharField | TextField | JSONField)]
    return [field.column for field in texts if field.column in shared]


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


def _create(apps: Any, schema_editor: Any) -> None:
    for name, statement in _watching(apps, schema_editor):
        schema_editor.execute(f"DROP TRIGGER IF EXISTS {name}")  # of a migration that was interrupted
        schema_editor.execute(statement, params=None)


def _drop(apps: Any, schema_editor: Any) -> None:
    for name, _statement in _watching(apps, schema_editor):
        schema_editor.execute(f"DROP TRIGGER IF EXISTS {name}")


def _drop_on_sqlite(apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor == "sqlite":
        _drop(apps, schema_editor)


def _replace(apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor == "sqlite":
        _create(apps, schema_editor)
        return
    for name, statement in _watching(apps, schema_editor):
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


def _watching(apps: Any, schema_editor: Any) -> list[tuple[str, str]]:
    """Name and statement of each trigger that reads the table, with the columns that it has at this migration."""
    vendor, article = schema_editor.connection.vendor, apps.get_model("articles", "Article")
    has_clearing = any(field.column == "cleared_at" for field in article._meta.concrete_fields)
    texts = text_columns(article, apps.get_model("articles", "Revision"))
    statements = [*taggings(vendor, GOES_LIVE_AT if has_clearing else PUBLISH_AT), *feed(vendor, texts)]
    return [(name_of(one), one) for one in statements if f" {_ARTICLE} " in one]
