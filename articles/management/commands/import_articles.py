"""Import articles from JSON Lines, CSV, an export of WordPress or Ghost, or a feed; see docs/import.md."""

from __future__ import annotations

import codecs
import sys
import time
from argparse import ArgumentParser, ArgumentTypeError
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.db import reset_queries
from django.utils.translation import gettext as _, ngettext

from articles.exchange import (
    CHANNEL,
    MOST_NUMBER,
    READERS,
    Checker,
    Importer,
    Kind,
    PastDue,
    Record,
    Remark,
    Timetable,
    Unreadable,
    guess_format,
    is_of_site,
    shows_unknown,
)
from articles.management.base import NewsroomCommand
from scheduling.database import read_database_clock

SOME_FAILED, ALL_UNREADABLE = 1, 2
"""Exit codes; 0 means that nothing failed."""

PROGRESS_INTERVAL = 1.0
"""Seconds between two lines of progress."""


def _site(address: str) -> str:
    if not address.startswith(("http://", "https://")):
        raise ArgumentTypeError(_("write an address such as https://old.example"))
    return address.rstrip("/")


def _check_encoding(name: str) -> None:
    try:
        codecs.lookup(name)
    except LookupError as error:
        text = _("--encoding %(name)s is not known; write one such as utf-8, gb18030 or windows-1252.")
        raise CommandError(text % {"name": name}, returncode=ALL_UNREADABLE) from error


@dataclass
class Survey:
    """The first reading of a file: the number of its records, and the highest numbers in it, by kind of record."""

    total: int = 0
    highest: dict[str, int] = field(default_factory=dict)

    def add(self, record: Record | Remark) -> None:
        """Count it."""
        self.total += 1
        given = record.fields.get("number") if isinstance(record, Record) else None
        if isinstance(record, Record) and isinstance(given, int):
            self.highest[record.kind] = max(self.highest.get(record.kind, 0), min(given, MOST_NUMBER))


def _require_known(record: Record | Remark) -> None:
    """Raise `Unreadable` for an unknown field of an article for readers: it may be the time they wait for."""
    name = shows_unknown(record) if isinstance(record, Record) else ""
    if not name:
        return
    message = _(
        '%(place)s: the field "%(name)s" is unknown, and readers would see the article; correct the name, remove'
        " the field, or accept all such fields with --ignore-unknown"
    )
    if isinstance(record, Record) and is_of_site(record):
        message = _(
            '%(place)s: "%(name)s" is unknown; correct the name, remove the field, or accept all such fields with'
            " --ignore-unknown"
        )
    raise Unreadable(message % {"place": record.place, "name": name[:80]})


class Command(NewsroomCommand):
    """Reads the file twice: first to check all of it, then to import it."""

    requires_system_checks: list[str] = []  # they would load the admin and all URLs; `check` and `migrate` run them
    help = "Import articles from JSON Lines, CSV, an export of WordPress (WXR) or Ghost, or a feed. Safe to repeat."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the file and the options."""
        parser.add_argument("file", type=Path, help="the file to import")
        parser.add_argument("--format", choices=sorted(READERS), help="default: detected by name and content")
        parser.add_argument("--dry-run", action="store_true", help="validate and count everything, store nothing")
        parser.add_argument(
            "--past-due",
            choices=[policy.value for policy in PastDue],
            default=PastDue.HOLD.value,
            help="scheduled articles whose time is past: hold imports drafts (default), publish publishes them at once,"
            " reschedule schedules one a minute from the next full minute on",
        )
        parser.add_argument("--channel", metavar="NAME", help="the channel for all articles, created if it is missing")
        parser.add_argument(
            "--site",
            metavar="ADDRESS",
            type=_site,
            help="URL of the old site, such as https://old.example, which Ghost's exports omit",
        )
        parser.add_argument(
            "--ignore-unknown",
            action="store_true",
            help="import articles for readers although they have unknown fields, which may be misspelt times",
        )
        parser.add_argument("--encoding", default="utf-8", help="of CSV or JSON Lines without a BOM; default: utf-8")

    def handle(self, *args: Any, **options: Any) -> None:
        """Import, print the report, and exit with 0, 1 or 2."""
        checker = self._checker(options)
        _check_encoding(options["encoding"])
        try:
            importer = self._import(checker, options)
        except (Unreadable, OSError) as error:
            raise CommandError(f"{options['file']}: {error}", returncode=ALL_UNREADABLE) from error
        self._report(importer)
        if importer.tally.failed:
            sys.exit(SOME_FAILED)

    def _checker(self, options: dict[str, Any]) -> Checker:
        channel = options["channel"] and " ".join(options["channel"].split())
        if channel is not None and not 0 < len(channel) <= CHANNEL:
            raise CommandError(_("--channel needs a name of at most %(limit)d characters.") % {"limit": CHANNEL})
        timetable = Timetable(now=read_database_clock(), past_due=PastDue(options["past_due"]))
        return Checker(timetable, channel=channel)

    def _import(self, checker: Checker, options: dict[str, Any]) -> Importer:
        path: Path = options["file"]
        read = READERS[options["format"] or guess_format(path)]
        how: dict[str, Any] = {"encoding": options["encoding"], "site": options["site"] or ""}
        survey = Survey()
        for record in read(path, survey=True, **how):
            survey.add(record)
            if not options["ignore_unknown"]:
                _require_known(record)
        importer = Importer(checker, show=self._notify, highest=survey.highest, dry_run=options["dry_run"])
        shown_at = time.monotonic()
        for done in importer.run(read(path, **how)):
            reset_queries()  # stored by Django when debugging, megabytes of them
            if done == survey.total or time.monotonic() - shown_at >= PROGRESS_INTERVAL:
                shown_at = time.monotonic()
                self.stderr.write(
                    _("%(done)d of %(total)d read: %(tally)s")
                    % {
                        "done": done,
                        "total": survey.total,
                        "tally": importer.tally,
                    }
                )
        return importer

    def _notify(self, remark: Remark) -> None:
        word = _("failed") if remark.kind is Kind.FAILED else _("note")
        self._say(f"{remark.place}: {word}: {remark.message}")

    def _report(self, importer: Importer) -> None:
        for kind, count in importer.left_out.items():
            text = ngettext("%(count)d %(kind)s left out", "%(count)d × %(kind)s left out", count)
            self._say(_("note: ") + text % {"count": count, "kind": kind})
        for note, count in importer.notes.items():
            text = ngettext("%(count)d record: %(note)s", "%(count)d records: %(note)s", count)
            self._say(_("note: ") + text % {"count": count, "note": note})
        for name, count in importer.misspelt.items():
            text = ngettext(
                'the unknown field "%(name)s" of %(count)d record is ignored',
                'the unknown field "%(name)s" of %(count)d records is ignored',
                count,
            )
            self._say(_("note: ") + text % {"count": count, "name": name})
        if number := importer.tally.renumbered:
            text = ngettext(
                "%(count)d article has another number here, since its own is taken",
                "%(count)d articles have other numbers here, since their own are taken",
                number,
            )
            self._say(_("note: ") + text % {"count": number})
        if number := importer.tally.incomplete:
            text = ngettext(
                "%(count)d article names an owner or a writer of notes who has no account here; the name is left out",
                "%(count)d articles name owners or writers of notes who have no account here; the names are left out",
                number,
            )
            self._say(_("note: ") + text % {"count": number})
        if new := _(", ").join(f"{kind}={count}" for kind, count in importer.new_rows.items() if count):
            self._say(_("note: also created: %(new)s") % {"new": new})
        self._say(str(importer.tally))

    def _say(self, text: str) -> None:
        """Half a character in a text of the file would stop the report."""
        self.stdout.write(text.encode(errors="replace").decode())
