"""Restoring a backup into an empty installation, in such a way that nothing past takes effect again.

The rows are loaded in one transaction, which also takes the past times away from articles, updates, releases and tasks
(`headline.backup.past_due`), so no worker and no reader ever sees them due.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path

from django.apps.registry import Apps
from django.conf import settings
from django.core.files import File
from django.core.files.storage import default_storage
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction
from django.db.migrations.executor import MigrationExecutor

from articles.exchange import PastDue
from headline.backup import past_due, rows
from headline.backup.archive import MEDIA, TABLES, ArchiveReader, BackupError, Manifest
from headline.backup.interruption import interruptible
from headline.backup.storage import media_files
from scheduling.database import read_database_clock

_WRITTEN_BY_TRIGGERS = "articles_pendingchange"
"""Triggers add rows to it while other tables are loaded, so it is replaced last."""

_IN_NEW_DATABASES = frozenset(
    {
        *(_WRITTEN_BY_TRIGGERS, "articles_feedhead", "scheduling_installation", "django_content_type"),
        *("auth_group", "auth_group_permissions", "auth_permission"),
    }
)
"""Tables with rows before anything is entered."""

_INTERRUPTED = "The restore is incomplete: create an empty database, delete its images if there are any, and try again."

_RESERVE = 64 * 1024 * 1024  # bytes that stay free


def restore_backup(path: Path, choice: PastDue) -> tuple[Manifest, list[past_due.Line]]:
    """Restore the file; returns what it contained, and what happened to past times. Raises `BackupError`."""
    with ArchiveReader(path) as backup:
        manifest = backup.manifest
        _refuse_newer(path, manifest)
        apps = rows.apps_at(manifest.nodes)
        _refuse_other_tables(path, manifest, apps)
        _refuse_filled(manifest)
        _check_space(manifest)
        backup.verify()
        with interruptible(lambda: _INTERRUPTED):
            with _media(backup):
                held = _load_all(backup, apps)
            call_command("migrate", verbosity=0)
            return manifest, past_due.apply(held, choice)


def _refuse_newer(path: Path, manifest: Manifest) -> None:
    if unknown := manifest.nodes - rows.known_migrations():
        newest = ".".join(max(unknown))
        raise BackupError(
            f"{path} was made by a newer version of Headline ({manifest.version}, {newest}): install that one first."
        )


def _refuse_other_tables(path: Path, manifest: Manifest, apps: Apps) -> None:
    if names := manifest.rows.keys() ^ (set(rows.tables_of(apps)) - rows.EPHEMERAL):
        raise BackupError(f"{path} is damaged at {min(names)}: copy it again, or use another backup.")


def _refuse_filled(manifest: Manifest) -> None:
    applied = rows.applied_migrations() & rows.known_migrations()
    tables = rows.tables_of(rows.apps_at(applied)) if applied else []
    newer = [".".join(node) for node in applied - manifest.nodes]
    foreign = [] if applied else connection.introspection.table_names()
    if found := rows.filled(sorted(set(tables) - _IN_NEW_DATABASES)) or sorted(newer) or foreign:
        name = connection.settings_dict["NAME"]
        raise BackupError(
            f"The database {name} is not empty (it has {found[0]}): create an empty one, point DATABASE_URL at it and "
            "try again."
        )
    if next(media_files(), None) is not None:
        raise BackupError(
            f"There are images in {settings.MEDIA_ROOT} or the bucket: empty it, or change DATA_DIR or MEDIA_STORAGE."
        )


def _check_space(manifest: Manifest) -> None:
    needed = {Path(settings.DATA_DIR): manifest.bytes_of(MEDIA) + _RESERVE}
    if connection.vendor == "sqlite":
        directory = Path(connection.settings_dict["NAME"]).parent
        needed[directory] = needed.get(directory, _RESERVE) + 2 * manifest.bytes_of(TABLES)
    for directory, size in needed.items():
        if (free := shutil.disk_usage(directory).free) < size:
            sizes = f"{size / 1e9:.1f} GB are needed, {free / 1e9:.1f} GB are free"
            raise BackupError(f"The disk of {directory} is too full: {sizes}. Free space, or change DATA_DIR.")


@contextmanager
def _media(backup: ArchiveReader) -> Iterator[None]:
    """The images; removed again if one cannot be saved, or the block, which loads the rows, raises."""
    saved: list[str] = []
    try:
        for name in backup.manifest.media:
            saved.append(name)
            with backup.open(f"{MEDIA}{name}") as member:
                default_storage.save(name, File(member, name))
        yield
    except BaseException as error:
        for name in saved:
            default_storage.delete(name)
        if isinstance(error, OSError):
            raise BackupError(_cannot_write(error)) from error
        raise


def _cannot_write(error: OSError) -> str:
    why = error.strerror or error
    return f"{settings.DATA_DIR} cannot be written ({why}): nothing was restored. Free space, or change DATA_DIR."


def _load_all(backup: ArchiveReader, apps: Apps) -> past_due.Held:
    manifest = backup.manifest
    try:
        executor = MigrationExecutor(connection)
        executor.migrate(_leaves(executor, manifest.nodes))
        rows.set_next_ids(_next_ids(manifest))
        with connection.constraint_checks_disabled(), transaction.atomic():
            for table in [*sorted(manifest.rows.keys() - {_WRITTEN_BY_TRIGGERS}), _WRITTEN_BY_TRIGGERS]:
                with closing(backup.lines(f"{TABLES}{table}.jsonl")) as lines:
                    rows.load(table, lines)
            connection.check_constraints(rows.tables_of(apps))
            return past_due.hold(apps, manifest)
    except (DatabaseError, ValueError) as error:
        message = f"The database refused the rows ({error}): nothing was restored. Create an empty database, try again."
        raise BackupError(message) from error


def _next_ids(manifest: Manifest) -> dict[str, int]:
    """Leave out ids that rows since the backup may have had: an old link must not lead to a new article."""
    since = max(read_database_clock() - manifest.moment, timedelta()) // timedelta(seconds=1)
    return {table: number + since for table, number in manifest.next_ids.items() if table in manifest.rows}


def _leaves(executor: MigrationExecutor, nodes: set[tuple[str, str]]) -> list[tuple[str, str]]:
    """The last migration of each app."""
    graph = executor.loader.graph
    earlier = {parent.key for node in nodes for parent in graph.node_map[node].parents if parent.key[0] == node[0]}
    return sorted(nodes - earlier)
