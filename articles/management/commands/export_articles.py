"""Export articles as JSON Lines or as WordPress's WXR; see docs/import.md."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import Error as DatabaseError, reset_queries
from django.utils.translation import gettext as _

from articles.exchange import WRITERS, WRITTEN, Export, Writer, replacing, with_statuses
from articles.management.arguments import TERMINAL, moment
from articles.models import Article, ArticleQuerySet, Channel
from scheduling.database import read_database_clock, snapshot

NOTHING_WRITTEN = 2
"""The exit code if no file was written."""

STATUSES = {status.name.lower(): status for status in Article.Status}


class Command(BaseCommand):
    """Only reads, from one consistent snapshot."""

    requires_system_checks: list[str] = []  # they would load the admin and all URLs; `check` and `migrate` run them
    help = "Export articles as JSON Lines, which import_articles reads without loss, or as WordPress's WXR."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the file and the filters."""
        parser.add_argument(
            "file", help="written completely or not at all, readable only by its owner; - is standard output"
        )
        parser.add_argument("--format", choices=sorted(WRITERS), help="default: by the file's name")
        parser.add_argument("--channel", action="append", metavar="NAME", help="only this channel; may be repeated")
        parser.add_argument(
            "--status", action="append", choices=STATUSES, help="only this status, by the clock; may be repeated"
        )
        parser.add_argument("--since", type=moment, metavar="TIME", help="only articles changed since; ISO 8601")
        parser.add_argument(
            "--whole-site",
            action="store_true",
            help="with channels, tags, accounts, images, notes, updates, releases and more, to move it; JSON Lines",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the file, and print the number of articles."""
        name = options["format"] or _guess_format(options["file"])
        if options["whole_site"] and (name != "jsonl" or any(options[one] for one in ("channel", "status", "since"))):
            message = _("--whole-site writes JSON Lines with all articles; leave out the other options.")
            raise CommandError(message, returncode=NOTHING_WRITTEN)
        write = WRITERS[name]
        articles = _chosen(options)
        try:
            with snapshot():
                now = read_database_clock()
                if options["status"]:
                    statuses = [STATUSES[name] for name in options["status"]]
                    articles = articles.filter(with_statuses(statuses, now))
                export = Export(articles, now, whole_site=options["whole_site"])
                self._write(options["file"], write, export)
        except (OSError, DatabaseError) as error:
            reason = getattr(error, "strerror", None) or error
            raise CommandError(f"{options['file']}: {reason}", returncode=NOTHING_WRITTEN) from error
        (self.stderr if options["file"] == TERMINAL else self.stdout).write(f"exported={export.done}")

    def _write(self, name: str, write: Writer, export: Export) -> None:
        with ExitStack() as stack:
            file = sys.stdout if name == TERMINAL else stack.enter_context(replacing(Path(name)))
            for piece in write(export):
                file.write(piece)
                reset_queries()  # stored by Django when debugging, megabytes of them


def _guess_format(name: str) -> str:
    found = "jsonl" if name == TERMINAL else WRITTEN.get(Path(name).suffix.lower())
    if found is None:
        message = _("The name “%(name)s” does not show the format; end it in .jsonl or .xml, or use --format.")
        raise CommandError(message % {"name": name}, returncode=NOTHING_WRITTEN)
    return found


def _chosen(options: dict[str, Any]) -> ArticleQuerySet:
    articles = Article.objects.all()
    if options["channel"]:
        articles = articles.filter(channel__in=list(_channels(options["channel"])))
    return articles.filter(updated_at__gte=options["since"]) if options["since"] else articles


def _channels(names: list[str]) -> Iterator[Channel]:
    for name in names:
        channel = Channel.objects.filter(name=name).first()
        if channel is None:
            raise CommandError(_("There is no channel “%(name)s” here.") % {"name": name}, returncode=NOTHING_WRITTEN)
        yield channel
