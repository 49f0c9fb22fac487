"""`manage.py upgrade`: checks, backs up and migrates beside running services, then reloads them."""

from __future__ import annotations

import shlex
import subprocess
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from headline.backup.archive import BackupError
from headline.backup.interruption import interruptible
from headline.backup.upgrade import (
    exclusive,
    kept_backup,
    migrate,
    pending_migrations,
    refuse_beside_workers,
    refuse_repair_beside_workers,
    repair_tables,
)
from headline.backup.write import write_backup

_PRIVATE = 0o700


class Command(BaseCommand):
    """Run it after installing the new version, while services of the old version run."""

    help = "Check, back up and migrate beside running services of the version before, then reload them."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The backup, and how services are reloaded."""
        parser.add_argument("--backup", type=Path, help="file or directory; default: backups in DATA_DIR")
        parser.add_argument(
            "--repair",
            action="store_true",
            help="first repair columns, collations and triggers that another database server or a dump has left",
        )
        parser.add_argument(
            "--reload",
            action="append",
            default=[],
            metavar="COMMAND",
            help="command that reloads a service, such as 'systemctl reload headline-web'; may be repeated",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Check, back up, repair if that is asked for, migrate, reload; stop at the first failure."""
        if not options["repair"]:
            self.check(databases=["default"])
        try:
            with exclusive():
                self._migrate(options["backup"], is_repair=options["repair"])
            with interruptible(lambda: "The database is migrated. Run upgrade again for the rest."):
                self._reload(options["reload"])
        except BackupError as error:
            raise CommandError(str(error), returncode=error.returncode) from error

    def _reload(self, commands: list[str]) -> None:
        if not settings.DEBUG:
            call_command("collectstatic", interactive=False, verbosity=0)
        for command in commands:
            _run(command)
            self.stdout.write(f"ran {command}")
        if not commands:
            self.stdout.write("Now restart web servers and workers, one after another.")

    def _migrate(self, target: Path | None, *, is_repair: bool) -> None:
        migrations = pending_migrations()
        refuse_beside_workers(migrations)
        if is_repair:
            refuse_repair_beside_workers()
        path = self._back_up(target or _default_directory())
        if is_repair:
            self._repair()
        migrate(migrations, path)
        self.stdout.write(f"migrated={len(migrations)}")
        if is_repair and migrations:
            self._repair()  # triggers, which are those of this version only now

    def _back_up(self, target: Path) -> str:
        if kept := kept_backup():
            self.stdout.write(f"backup={kept} of the attempt before, which left the tables half migrated")
            return kept
        path, _manifest = write_backup(target)
        self.stdout.write(f"backup={path}")
        return str(path)

    def _repair(self) -> None:
        names = repair_tables()
        self.stdout.write(f"repaired={len(names)} {' '.join(names)}".rstrip())
        self.check(databases=["default"])


def _default_directory() -> Path:
    directory = Path(settings.DATA_DIR) / "backups"
    directory.mkdir(mode=_PRIVATE, exist_ok=True)
    return directory


def _run(command: str) -> None:
    try:
        subprocess.run(shlex.split(command), check=True)  # noqa: S603 (the operator's own)
    except (OSError, subprocess.CalledProcessError) as error:
        message = f"{command} failed ({error}): the database is migrated. Reload the services by hand."
        raise CommandError(message) from error
