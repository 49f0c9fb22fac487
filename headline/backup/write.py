"""Writing a backup: images, then a snapshot of the database, then the images added since."""

from __future__ import annotations

import errno
import fcntl
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.apps.registry import Apps
from django.conf import settings
from django.core.files.storage import default_storage
from django.db import connection

from articles.exchange import replacing_binary
from headline import __version__, env
from headline.backup import rows
from headline.backup.archive import MEDIA, TABLES, BackupError, Manifest, Writer
from headline.backup.interruption import interruptible
from headline.backup.storage import media_files
from scheduling.database import read_database_clock, snapshot

_FULL = frozenset({errno.ENOSPC, errno.EFBIG, errno.EDQUOT})
_RESERVE = 64 * 1024 * 1024  # bytes that stay free
_COMPRESSION = 3  # how much smaller tables become at least
_CHUNK = 1024 * 1024


def write_backup(target: Path) -> tuple[Path, Manifest]:
    """Write a backup to the file, or to a new file in the directory, `target`. Raises `BackupError`."""
    path = _path(target)
    manifest = _manifest()
    _remove_leftovers(path.parent)
    _check_space(path.parent)
    try:
        with interruptible(lambda: _left(path)), replacing_binary(path) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            with Writer(file, manifest) as writer:
                _add_all(writer)
    except OSError as error:
        raise BackupError(_failure(path, error)) from error
    return path, manifest


def _left(path: Path) -> str:
    return f"The backup {path} is complete." if path.exists() else "No backup was written."


def _path(target: Path) -> Path:
    if target.is_dir():
        target = target / f"headline-{read_database_clock():%Y-%m-%dT%H-%M-%SZ}.zip"
    if not target.parent.is_dir():
        raise BackupError(f"There is no directory {target.parent}: make it, or name another.")
    if target.exists():
        raise BackupError(f"{target} exists: name another file, or a directory.")
    return target


def _manifest() -> Manifest:
    applied = rows.applied_migrations()
    apps = {app for app, _name in rows.known_migrations()}
    applied = {node for node in applied if node[0] in apps}
    if unknown := applied - rows.known_migrations():
        newest = ".".join(max(unknown))
        raise BackupError(f"A newer version of Headline has migrated this database ({newest}): use that version.")
    given = env.given()
    return Manifest(
        version=__version__,
        taken_at="",
        migrations=[list(node) for node in sorted(applied)],
        settings={name: value for name, value in sorted(given.items()) if name in env.PLAIN},
        unsaved=sorted(given.keys() - env.PLAIN),
    )


def _remove_leftovers(directory: Path) -> None:
    """Delete incomplete files of interrupted backups; those that run hold locks on theirs."""
    for path in directory.glob(".headline-*.zip.*"):
        with suppress(OSError), path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()


def _check_space(directory: Path) -> None:
    needed = _media_bytes() + _database_bytes() // _COMPRESSION + _RESERVE
    free = shutil.disk_usage(directory).free
    if free < needed:
        sizes = f"{needed / 1e9:.1f} GB are needed, {free / 1e9:.1f} GB are free"
        raise BackupError(f"The disk of {directory} is too full: {sizes}. Free space, or name another directory.")


def _media_bytes() -> int:
    """Size of images on this machine; a bucket's is not known beforehand."""
    size = 0
    for file in Path(settings.MEDIA_ROOT).rglob("*"):
        with suppress(FileNotFoundError):  # it was deleted since it was listed
            size += file.stat().st_size
    return size


def _database_bytes() -> int:
    if connection.vendor == "sqlite":
        return Path(connection.settings_dict["NAME"]).stat().st_size
    with connection.cursor() as cursor:
        where = "FROM information_schema.tables WHERE table_schema = DATABASE()"
        cursor.execute(f"SELECT COALESCE(SUM(data_length), 0) {where}")
        return int(cursor.fetchone()[0])


def _add_all(writer: Writer) -> None:
    """Images are added before and after the snapshot, so those that are deleted during the backup are there, too."""
    manifest = writer.manifest
    _add_media(writer)
    apps = rows.apps_at(manifest.nodes)
    tables = rows.tables_of(apps)
    with snapshot():
        rows.filled(tables[:1])  # the first read begins the snapshot
        manifest.taken_at = read_database_clock().isoformat()
        for table in tables:
            if table not in rows.EPHEMERAL:
                writer.add(f"{TABLES}{table}.jsonl", _counted(manifest, table), compressed=True)
        manifest.next_ids = rows.next_ids()
        images = [name for model in _with_images(apps) for name in model.objects.values_list("file", flat=True)]
    _add_media(writer)
    manifest.missing = [name for name in images if f"{MEDIA}{name}" not in manifest.digests]


def _with_images(apps: Apps) -> Iterator[Any]:
    """The model of images, by the name that it has at these migrations."""
    names = ("Image", "Material")
    return (model for model in apps.get_app_config("articles").get_models() if model.__name__ in names)


def _counted(manifest: Manifest, table: str) -> Iterator[bytes]:
    manifest.rows[table] = -1  # the first line has the columns
    for line in rows.dump(table):
        manifest.rows[table] += 1
        yield line


def _add_media(writer: Writer) -> None:
    for name in media_files():
        if f"{MEDIA}{name}" in writer.manifest.digests:
            continue
        try:
            file = default_storage.open(name)
        except FileNotFoundError:  # it was deleted since it was listed
            continue
        with file:
            writer.add(f"{MEDIA}{name}", file.chunks(_CHUNK), compressed=False)


def _failure(path: Path, error: OSError) -> str:
    if error.errno in _FULL:
        return f"The disk of {path.parent} is full: no backup was written. Free space, or name another directory."
    return f"{path} cannot be written ({error.strerror}): no backup was written. Name another directory."
