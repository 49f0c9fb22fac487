"""`manage.py backup`: writes database, images and settings into one file."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from headline.backup.archive import BackupError, Manifest
from headline.backup.write import write_backup


class Command(BaseCommand):
    """Write a backup beside running workers and web servers."""

    help = "Write a consistent backup of database, images and settings, without secrets, into one file."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The file or directory."""
        parser.add_argument("target", type=Path, help="a new file, or a directory, in which it is named by the time")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write it, and print what it contains."""
        try:
            path, manifest = write_backup(options["target"])
        except BackupError as error:
            raise CommandError(str(error), returncode=error.returncode) from error
        if missing := manifest.missing:
            advice = "Check DATA_DIR or MEDIA_STORAGE, and restore them from an earlier backup."
            self.stderr.write(
                f"Images without a file, which the backup lacks: {len(missing)}, such as {missing[0]}. {advice}"
            )
        self.stdout.write(f"backup={path} {summary(manifest)} bytes={path.stat().st_size}")


def summary(manifest: Manifest) -> str:
    """What a backup contains, in one line."""
    return f"tables={len(manifest.rows)} rows={sum(manifest.rows.values())} images={len(manifest.media)}"
