"""Upgrading the database beside running workers and web servers of the version before."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.migration import Migration
from django.db.migrations.operations import (
    AddField,
    AlterModelTable,
    CreateModel,
    DeleteModel,
    RemoveField,
    RenameField,
    RenameModel,
    SeparateDatabaseAndState,
)
from django.db.migrations.operations.base import Operation
from django.db.models import NOT_PROVIDED, ManyToManyField

from headline.backup import rows
from headline.backup.archive import REFUSED, BackupError
from headline.backup.interruption import interruptible
from headline.tables import find_differences, repair
from scheduling.database import read_database_clock
from scheduling.services.measuring import count_workers

_REMOVING = (AlterModelTable, DeleteModel, RemoveField, RenameField, RenameModel)


@contextmanager
def exclusive() -> Iterator[None]:
    """Raise `BackupError` if another upgrade of this machine runs: both would apply the same migrations."""
    with (Path(settings.DATA_DIR) / "upgrade.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BackupError("Another upgrade is running. Wait for its end. Nothing was changed.") from error
        yield


def pending_migrations() -> list[Migration]:
    """The migrations that are not applied, in their order."""
    executor = MigrationExecutor(connection)
    return [migration for migration, _backwards in executor.migration_plan(executor.loader.graph.leaf_nodes())]


def refuse_beside_workers(migrations: list[Migration]) -> None:
    """Raise `BackupError` if workers run that could not write to the new tables."""
    broken = list(_breaking(migrations))
    if broken and (alive := count_workers(read_database_clock())):
        raise BackupError(
            f"Running workers and web servers of the old version cannot work with {'; '.join(broken)}. {alive} workers "
            "are running: stop them and the web servers, and run upgrade again. Nothing was changed."
        )


def _breaking(migrations: list[Migration]) -> Iterator[str]:
    operations = [(migration, operation) for migration in migrations for operation in _in_database(migration)]
    new = {(one.app_label, operation.name_lower) for one, operation in operations if isinstance(operation, CreateModel)}
    for migration, operation in operations:
        model = migration.app_label, getattr(operation, "model_name_lower", "")
        if breaks_old_code(operation) and model not in new:
            yield f"{migration}: {operation.describe()}"


def _in_database(migration: Migration) -> Iterator[Operation]:
    """The operations that change the database."""
    for operation in migration.operations:
        if isinstance(operation, SeparateDatabaseAndState):
            yield from operation.database_operations
        else:
            yield operation


def breaks_old_code(operation: Operation) -> bool:
    """Whether code that does not know of the change fails to read or write the table afterwards."""
    if not isinstance(operation, AddField):
        return isinstance(operation, _REMOVING)
    field = operation.field
    is_optional = field.null or isinstance(field, ManyToManyField) or field.db_default is not NOT_PROVIDED
    return not is_optional


def refuse_repair_beside_workers() -> None:
    """Raise `BackupError` if workers run: changing a column locks its table."""
    if alive := count_workers(read_database_clock()):
        raise BackupError(f"{alive} workers are running: stop them and the web servers first. Nothing was changed.")


def repair_tables() -> list[str]:
    """Repair columns and triggers that another server or dump has left. Returns their names.

    Raises `BackupError` if the database refuses a change.
    """
    found = find_differences()
    try:
        with interruptible(lambda: "A repair was running. Run upgrade --repair again."):
            repair(found)
    except DatabaseError as error:
        raise BackupError(f"The repair failed: {error}\nCorrect the cause and run upgrade --repair again.") from error
    return found.names


def kept_backup() -> str:
    """The backup of an attempt whose migration failed halfway; "" if there is none.

    The tables are of no version then: a backup of them could not be restored.
    """
    note = _note()
    path = note.read_text() if note.exists() else ""
    return path if path and Path(path).exists() and rows.are_halfway() else ""


def _note() -> Path:
    """Names the backup while migrations are applied, and if they were interrupted."""
    return Path(settings.DATA_DIR) / "upgrade.begun"


def migrate(migrations: list[Migration], backup: str) -> None:
    """Apply the migrations. Raises `BackupError`, which says how to go back to the `backup`."""
    _note().write_text(str(Path(backup).absolute()))
    try:
        with interruptible(lambda: "A migration was running."):
            call_command("migrate", verbosity=0)
    except Exception as error:  # migrations may run any code
        applied = MigrationExecutor(connection).loader.applied_migrations
        failed = next((one for one in migrations if (one.app_label, one.name) not in applied), "post_migrate")
        returncode = error.returncode if isinstance(error, BackupError) else REFUSED
        raise BackupError(_how_to_go_back(str(failed), error, backup), returncode=returncode) from error
    _note().unlink()


def _how_to_go_back(migration: str, error: Exception, backup: str) -> str:
    half = " and may be half applied" if connection.vendor == "mysql" else ""
    return (
        f"The migration {migration} failed{half}: {error}\n"
        "Services of the old version continue; do not restart them now. To go on, correct the cause and run manage.py "
        "upgrade again. To go back, stop all services, install the version before, create an empty database and an "
        f"empty DATA_DIR, and run manage.py restore {backup} --past-due publish"
    )
