"""List or export the audit log; see docs/roles.md."""

from __future__ import annotations

import csv
import json
import os
import stat
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from datetime import datetime
from typing import Any, TextIO

from django.core.management.base import BaseCommand, CommandError
from django.forms.models import model_to_dict

from articles.management.arguments import TERMINAL, moment, whole_number
from articles.models import AuditEntry, AuditQuerySet
from articles.text import format_time_exactly

LISTED = 50
AUDIT_FIELDS = [field.name for field in AuditEntry._meta.concrete_fields]
FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""First characters of cells that spreadsheets calculate; https://owasp.org/www-community/attacks/CSV_Injection."""

FILTERS: Mapping[str, str] = {
    "article": "article_id",
    "user": "user_name",
    "action": "action",
    "source": "source",
    "since": "at__gte",
    "until": "at__lt",
}


class Command(BaseCommand):
    """Only reads; the audit log cannot be changed."""

    help = "List the audit log, or export it as JSON Lines or CSV."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the two subcommands and their filters."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        shown = verbs.add_parser("list", help="the latest entries, one a line")
        shown.add_argument("--limit", type=whole_number, default=LISTED, help=f"maximum, default: {LISTED}")
        exported = verbs.add_parser("export", help="all entries, oldest first, with every field")
        exported.add_argument("file", nargs="?", default=TERMINAL, help="default: -, standard output")
        exported.add_argument("--format", choices=sorted(WRITERS), default="jsonl")
        for verb in (shown, exported):
            verb.add_argument("--article", type=int, metavar="ID")
            verb.add_argument("--user", metavar="NAME")
            verb.add_argument("--action", metavar="NAME", help="such as approve, edit or published")
            verb.add_argument("--source", choices=AuditEntry.Source.values)
            verb.add_argument("--since", type=moment, metavar="TIME", help="ISO 8601; without an offset in TIME_ZONE")
            verb.add_argument("--until", type=moment, metavar="TIME")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the subcommand."""
        wanted = {FILTERS[name]: options[name] for name in FILTERS if options[name] is not None}
        entries = AuditEntry.objects.filter(**wanted)
        if options["verb"] == "list":
            self._list(entries.latest_first()[: options["limit"]])
        else:
            self._export(entries.order_by("id"), options["file"], WRITERS[options["format"]])

    def _list(self, entries: Iterable[AuditEntry]) -> None:
        for entry in entries:
            cells = [format_time_exactly(entry.at), entry.source, entry.user_name or "—", entry.action]
            subject = f"{entry.article_title} ({entry.article_id})" if entry.article_id else ""
            self.stdout.write("  ".join(filter(None, [*cells, subject, *entry.differences(), entry.reason])))

    def _export(self, entries: AuditQuerySet, name: str, write: Writer) -> None:
        with ExitStack() as stack:
            try:
                file = (
                    sys.stdout
                    if name == TERMINAL
                    else stack.enter_context(open(name, "w", encoding="utf-8", newline="", opener=_private))
                )
            except OSError as error:
                raise CommandError(f"{name}: {error.strerror}") from error
            count = write(file, map(_row, entries.iterator(chunk_size=1000)))
        self.stderr.write(f"exported={count}")


def _private(name: str, flags: int) -> int:
    """Opens a file that only its owner may read, also if it exists already."""
    descriptor = os.open(name, flags, 0o600)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.fchmod(descriptor, 0o600)
    return descriptor


Row = dict[str, Any]
Writer = Callable[[TextIO, Iterable[Row]], int]


def _row(entry: AuditEntry) -> Row:
    """The entry with ISO 8601 times."""
    values = {"id": entry.pk, **model_to_dict(entry)}
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in values.items()}


def _write_lines(file: TextIO, rows: Iterable[Row]) -> int:
    count = 0
    for count, row in enumerate(rows, start=1):  # noqa: B007 (the count is used)
        file.write(json.dumps(row, ensure_ascii=False) + "\n")
    return count


def _write_table(file: TextIO, rows: Iterable[Row]) -> int:
    table, count = csv.DictWriter(file, AUDIT_FIELDS, quoting=csv.QUOTE_ALL), 0
    table.writeheader()
    for count, row in enumerate(rows, start=1):  # noqa: B007 (the count is used)
        table.writerow({name: _cell(value) for name, value in row.items()})
    return count


def _cell(value: Any) -> Any:
    """Escape cells that a spreadsheet would run as a formula."""
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else value
    return f"'{text}" if isinstance(text, str) and text.startswith(FORMULAS) else text


WRITERS: Mapping[str, Writer] = {"jsonl": _write_lines, "csv": _write_table}
