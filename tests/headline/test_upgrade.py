"""`manage.py upgrade`: check, backup, migration beside running workers, reload."""

from __future__ import annotations

import fcntl
import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection
from django.db.migrations import Migration
from django.db.migrations.operations import (
    AddField,
    CreateModel,
    RemoveField,
    RenameField,
    RunPython,
    SeparateDatabaseAndState,
)
from django.db.migrations.operations.base import Operation
from django.db.models import CharField, ManyToManyField

from headline.backup.archive import BackupError
from headline.backup.rows import are_halfway
from headline.backup.upgrade import breaks_old_code, refuse_beside_workers
from scheduling.database import read_database_clock
from scheduling.models import WorkerHeartbeat
from scheduling.services import add_task
from tests.conftest import Manage, StartManage
from tests.harness import eventually
from tests.probe.models import Effect

pytestmark = pytest.mark.django_db(transaction=True)


def later(name: str) -> dict[str, str]:
    """The environment of a later version with these migrations."""
    return {"TEST_SETTINGS": json.dumps({"MIGRATION_MODULES": {"probe": f"tests.headline.upgrades.{name}"}})}


@pytest.fixture
def _same_tables(transactional_db: None) -> Iterator[None]:
    """Undo the migrations."""
    yield
    with connection.cursor() as cursor:
        columns = {column.name for column in connection.introspection.get_table_description(cursor, "probe_effect")}
        for name in columns & {"note", "name"}:
            cursor.execute(f"ALTER TABLE probe_effect DROP COLUMN {name}")
        cursor.execute("DELETE FROM django_migrations WHERE app = 'probe' AND name <> '0001_initial'")


@pytest.mark.usefixtures("_same_tables")
def test_workers_of_the_old_version_go_on_during_and_after_the_upgrade(
    manage: Manage, start_manage: StartManage, tmp_path: Path
) -> None:
    worker = start_manage("poll", "--forever")
    eventually(WorkerHeartbeat.objects.exists)
    reloaded = tmp_path / "reloaded"
    done = manage("upgrade", "--backup", str(tmp_path), "--reload", f"touch {reloaded}", env=later("additive"))
    assert done.returncode == 0, done.stderr
    assert "migrated=1" in done.stdout
    assert len(list(tmp_path.glob("headline-*.zip"))) == 1
    assert reloaded.exists()
    add_task("probe.note", execute_time=read_database_clock(), parameters={})
    eventually(Effect.objects.exists)
    assert worker.stop() == 0


@pytest.mark.usefixtures("_same_tables")
@pytest.mark.parametrize(
    ("number", "code", "why"),
    [
        pytest.param("", 2, "row 7 has no name", id="failed"),
        pytest.param(f"{signal.SIGINT:d}", 130, "Interrupted.", id="SIGINT", marks=pytest.mark.thorough),
        pytest.param(f"{signal.SIGTERM:d}", 143, "Interrupted.", id="SIGTERM"),
    ],
)
def test_a_migration_that_fails_says_how_to_go_on_and_back(
    number: str, code: int, why: str, manage: Manage, tmp_path: Path
) -> None:
    env = {**later("failing"), "TEST_SIGNAL": number}
    done = manage("upgrade", "--backup", str(tmp_path / "before.zip"), env=env)
    assert done.returncode == code
    assert "The migration probe.0002_fails failed" in done.stderr
    assert why in done.stderr
    assert "To go on, correct the cause and run manage.py upgrade again." in done.stderr
    assert f"manage.py restore {tmp_path / 'before.zip'}" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.usefixtures("_same_tables")
def test_tables_of_a_migration_that_stopped_are_not_backed_up(transactional_db: None) -> None:
    assert not are_halfway()
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE probe_effect ADD COLUMN note varchar(9) NULL")
    assert are_halfway() == (connection.vendor == "mysql")


def test_what_running_workers_cannot_work_with_is_refused(manage: Manage, tmp_path: Path) -> None:
    now = read_database_clock()
    WorkerHeartbeat.objects.create(name="w:1", started_at=now, seen_at=now)
    done = manage("upgrade", "--backup", str(tmp_path), env=later("removing"))
    assert done.returncode == 2
    assert "cannot work with probe.0002_remove_process: Remove field process from Effect. 1 workers" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_one_upgrade_runs_at_a_time(manage: Manage, tmp_path: Path) -> None:
    with (Path(settings.DATA_DIR) / "upgrade.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        done = manage("upgrade", "--backup", str(tmp_path))
    assert (done.returncode, done.stderr) == (
        2,
        "CommandError: Another upgrade is running. Wait for its end. Nothing was changed.\n",
    )
    assert list(tmp_path.iterdir()) == []


class Hidden(Migration):
    """It changes the database, but no model."""

    operations = (SeparateDatabaseAndState([RemoveField("Effect", "process")], []),)


def test_a_change_of_the_database_alone_is_seen(transactional_db: None) -> None:
    now = read_database_clock()
    WorkerHeartbeat.objects.create(name="w:1", started_at=now, seen_at=now)
    with pytest.raises(BackupError, match="Remove field process from Effect"):
        refuse_beside_workers([Hidden("0002_hidden", "probe")])


@pytest.mark.parametrize(
    ("operation", "breaks"),
    [
        (AddField("A", "b", CharField(null=True)), False),
        (AddField("A", "b", CharField(db_default="")), False),
        (AddField("A", "b", ManyToManyField("A")), False),
        (AddField("A", "b", CharField(default="")), True),
        (RemoveField("A", "b"), True),
        (RenameField("A", "b", "c"), True),
        (CreateModel("A", []), False),
        (RunPython(RunPython.noop), False),
    ],
)
def test_changes_that_old_code_cannot_work_with(operation: Operation, breaks: bool) -> None:
    assert breaks_old_code(operation) == breaks
