"""Scheduling conflicts: articles of one channel that go live at nearly the same time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import F, Q, Window
from django.db.models.functions import Lag, Lead

from articles.desk.calendar.entries import CalendarEntry, EntryKind, Mark
from articles.desk.calendar.grid import Sheet, UnitOf
from articles.models import Article
from articles.workflow import UNAPPROVED, WAITING
from scheduling.database import among


def mark_conflicts(sheet: Sheet) -> None:
    """Mark upcoming entries with a neighbour in their channel, including neighbours that are not shown. One query."""
    shown = {entry.article: entry.at for entry in sheet.entries if entry.article and _may_conflict(entry)}
    if not shown:
        return
    conflicting = _conflicting(shown)
    for entry in sheet.entries:
        if _may_conflict(entry) and entry.article in conflicting:
            entry.marks += (Mark.CONFLICT,)


def _may_conflict(entry: CalendarEntry) -> bool:
    return entry.kind is EntryKind.PUBLISH and bool(entry.channel)


def _conflicting(shown: Mapping[int, datetime]) -> set[int]:
    """Those of these articles that have a neighbour; the database compares each article with the next.

    Few articles of each day or hour are shown, so it compares those only that are in the same unit of time or beside
    it; a unit is as long as neighbours are apart at most. Only shown articles are returned: of one instant, all its
    articles are compared, and one pass over them is cheaper than a search for a neighbour of each, which MariaDB makes
    a scan of the channel.
    """
    apart = settings.CALENDAR_CONFLICT
    begin, end = min(shown.values()).replace(microsecond=0) - apart, max(shown.values()) + apart
    units = {(at - begin) // apart + step for at in shown.values() for step in (-1, 0, 1)}
    statuses = UNAPPROVED | WAITING | {Article.Status.PUBLISHED}
    rows = (
        Article.objects.filter(goes_live_at__range=(begin, end), status__in=statuses, channel__isnull=False)
        .annotate(unit=UnitOf("goes_live_at", start=begin, length=apart))
        .filter(unit__in=among(units))
    )
    in_channel: dict[str, Any] = {"partition_by": "channel", "order_by": ["goes_live_at", "pk"]}
    beside = rows.annotate(
        before=Window(Lag("goes_live_at"), **in_channel), after=Window(Lead("goes_live_at"), **in_channel)
    )
    near = beside.filter(Q(before__gte=F("goes_live_at") - apart) | Q(after__lte=F("goes_live_at") + apart))
    found = Article.objects.filter(pk__in=near.values("pk")).filter(pk__in=among(shown))
    return set(found.values_list("pk", flat=True))
