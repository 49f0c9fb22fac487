"""Add sensitive words from a file; see docs/review.md."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.utils.translation import gettext as _

from articles.audit import set_actor
from articles.management.base import NewsroomCommand
from articles.models import SensitiveWord
from articles.review import WordProblem, add_words

SOME_FAILED, ALL_UNREADABLE = 1, 2
"""Exit codes; 0 means that nothing failed."""


class Command(NewsroomCommand):
    """One word a line, UTF-8. Safe to repeat."""

    help = "Add sensitive words or allowed phrases from a text file, one per line. Safe to repeat."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the file and the level."""
        parser.add_argument("file", type=Path, help="the file to import")
        parser.add_argument(
            "--level",
            choices=SensitiveWord.Level.values,
            required=True,
            help="block: reject the article; review: leave it to a reviewer; allow: an allowed phrase",
        )
        parser.add_argument("--encoding", default="utf-8", help="default: utf-8")
        parser.add_argument("--by", metavar="NAME", help="username for the audit log")

    def handle(self, *args: Any, **options: Any) -> None:
        """Import, print the report, and exit with 0, 1 or 2."""
        if options["by"]:
            set_actor(self.user(options["by"]))
        try:
            lines = options["file"].read_text(encoding=options["encoding"]).splitlines()
        except (OSError, UnicodeError, LookupError) as error:
            raise CommandError(f"{options['file']}: {error}", returncode=ALL_UNREADABLE) from error
        report = add_words(lines, level=SensitiveWord.Level(options["level"]))
        for problem in report.problems:
            self._notify(problem)
        self.stdout.write(str(report))
        if report.failed:
            sys.exit(SOME_FAILED)

    def _notify(self, problem: WordProblem) -> None:
        kind = _("failed") if problem.failed else _("note")
        place = _("line %(line)d") % {"line": problem.line}
        self.stdout.write(f"{place}: {kind}: “{problem.word}” {problem.message}")
