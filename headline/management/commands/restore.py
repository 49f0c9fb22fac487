"""`manage.py restore`: loads a backup into an empty installation."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from articles.exchange import PastDue
from headline.backup.archive import BackupError, Manifest
from headline.backup.past_due import counts
from headline.backup.restore import restore_backup
from headline.management.commands.backup import summary


class Command(BaseCommand):
    """Restore a backup; what became due since is held unless asked otherwise, and nothing is sent."""

    help = "Restore a backup into an empty database and an empty media directory. Start the workers afterwards."
    requires_system_checks: list[str] = []  # the tables do not exist yet

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The file, and what happens to past times."""
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--past-due",
            type=PastDue,
            choices=list(PastDue),
            default=PastDue.HOLD,
            help="what became due since the backup: hold it without a time (default), publish it silently, "
            "or reschedule it from the next minute on, one a minute",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Restore it, and print what became of past times."""
        try:
            manifest, lines = restore_backup(options["file"], options["past_due"])
        except BackupError as error:
            raise CommandError(str(error), returncode=error.returncode) from error
        for line in lines:
            self.stdout.write(str(line))
        figures = " ".join(f"{verb}={count}" for verb, count in counts(lines).items())
        self.stdout.write(f"restored {summary(manifest)} {figures}")
        self.stdout.write(_next_steps(manifest))


def _next_steps(manifest: Manifest) -> str:
    settings = "".join(f"\n  {name}={value}" for name, value in manifest.settings.items())
    unsaved = ", ".join(manifest.unsaved) or "none"
    return f"Settings of the backup:{settings}\nVariables that it does not contain: {unsaved}\nNow start the workers."
