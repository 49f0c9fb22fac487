"""Write the sensitive words of one level to a file, as `import_words` reads it."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from articles.management.arguments import TERMINAL
from articles.models import SensitiveWord


class Command(BaseCommand):
    """One word a line, UTF-8, in a stable order."""

    help = "Write the sensitive words or allowed phrases of one level to a text file, one per line."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the file and the level."""
        parser.add_argument("file", type=Path, help="- is standard output")
        parser.add_argument("--level", choices=SensitiveWord.Level.values, required=True)

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the file, and print the number of words."""
        lines = SensitiveWord.objects.filter(level=options["level"]).as_lines()
        if str(options["file"]) == TERMINAL:
            self.stdout.write(lines, ending="")
            return
        try:
            options["file"].write_text(lines, encoding="utf-8")
        except OSError as error:
            raise CommandError(f"{options['file']}: {error}", returncode=2) from error
        self.stdout.write(f"exported={lines.count(chr(10))}")
