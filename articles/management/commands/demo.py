"""Create the demo newsroom in an empty database, or show its log-ins."""

from __future__ import annotations

import unicodedata
from argparse import ArgumentParser
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.utils import timezone
from django.utils.translation import gettext as _, ngettext

from articles.demo import ORIGIN, found, going_live, going_out, is_empty, is_password, members, renew_missed
from articles.management.base import NewsroomCommand
from articles.models import Article
from scheduling.database import read_database_clock

PASSWORD = "headline"  # noqa: S105 (public on purpose, and refused outside debugging)


class Command(NewsroomCommand):
    """Idempotent: existing rows are not changed, and nothing is scheduled twice."""

    help = "Fill an empty newsroom: channels, users in each role, and articles in every state, some about to go live."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the password."""
        parser.add_argument("--password", help="password of all demo users; required unless DJANGO_DEBUG is on")

    def handle(self, *args: Any, **options: Any) -> None:
        """Create the newsroom if there is none, then print its log-ins and what goes live when."""
        password = options["password"] or (PASSWORD if settings.DEBUG else "")
        if not password:
            raise CommandError(_("DJANGO_DEBUG is off, so the site may be public: choose a --password."))
        if is_empty():
            found(password=password)
            self._show_users(password)
            self._show_times()
        elif Article.objects.filter(external_id__startswith=ORIGIN).exists():
            self._show_again()
        else:
            self.stdout.write(_("The newsroom has articles of its own already; nothing was added."))

    def _show_again(self) -> None:
        self.stdout.write(_("The demo newsroom exists already; nothing was added."))
        missed = renew_missed(now=read_database_clock())
        if missed:
            text = ngettext(
                "%(count)d article whose time passed while no worker ran gets a new time.",
                "%(count)d articles whose time passed while no worker ran get new times.",
                missed,
            )
            self.stdout.write(text % {"count": missed})
        self._show_users(PASSWORD if is_password(PASSWORD) else _("(as you chose it)"))
        self._show_times()

    def _show_users(self, password: str) -> None:
        self.stdout.write(_("Log in at %(address)s") % {"address": f"{settings.SITE_URL}/admin/"})
        self._table([(_("name"), _("password"), _("role"))] + [(one.name, password, one.role) for one in members()])

    def _show_times(self) -> None:
        now = read_database_clock()
        zone = timezone.localtime(now).tzname()
        rows = [
            *((_time_text(one.goes_live_at), one.channel.name, one.title) for one in going_live(now) if one.channel),
            *((_time_text(release.publish_at), _("Release"), release.name) for release in going_out(now)),
        ]
        if rows:
            self.stdout.write(_("Goes live by itself (%(zone)s)") % {"zone": zone})
            self._table(sorted(rows))

    def _table(self, rows: Sequence[Sequence[str]]) -> None:
        widths = [max(_width(row[column]) for row in rows) for column in range(len(rows[0]))]
        for row in rows:
            cells = (cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True))
            self.stdout.write("  " + "  ".join(cells).rstrip())


def _time_text(moment: datetime | None) -> str:
    return f"{timezone.localtime(moment):%Y-%m-%d %H:%M:%S}"


def _width(text: str) -> int:
    """The width on a terminal, where Chinese characters take two columns."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)
