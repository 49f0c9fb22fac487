"""Scheduling conflicts: articles of one channel that go live at nearly the same time."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise

from django.conf import settings

from articles.desk.calendar.entries import Entry, Kind, Mark
from articles.desk.calendar.grid import Sheet
from articles.desk.calendar.reschedule import Moment
from articles.desk.calendar.sources import FREE
from articles.models import Article
from articles.workflow import UNAPPROVED, WAITING


def mark_conflicts(sheet: Sheet) -> None:
    """Mark upcoming entries with a neighbour in their channel, including neighbours that are not shown. One query."""
    if not any(entry.kind is Kind.PUBLISH and entry.channel for entry in sheet.entries):
        return
    conflicting = _conflicting(sheet.slots[0].span.start, sheet.slots[-1].span.end)
    for slot in sheet.slots:
        slot.entries = [
            entry.marked(Mark.CONFLICT) if _conflicts(entry, conflicting) else entry for entry in slot.entries
        ]


def _conflicts(entry: Entry, conflicting: set[str]) -> bool:
    return entry.kind is Kind.PUBLISH and entry.key in conflicting


def _conflicting(start: datetime, end: datetime) -> set[str]:
    """Keys of all articles with a neighbour."""
    near = (start - settings.CALENDAR_CONFLICT, end + settings.CALENDAR_CONFLICT)
    statuses = UNAPPROVED | WAITING | {Article.Status.PUBLISHED}
    rows = Article.objects.filter(FREE, publish_at__range=near, status__in=statuses, channel__isnull=False)
    found: set[int] = set()
    for one, other in pairwise(sorted(rows.order_by().values_list("channel_id", "publish_at", "pk"))):
        (channel, time, pk), (other_channel, other_time, other_pk) = one, other
        if channel == other_channel and other_time - time <= settings.CALENDAR_CONFLICT:  # type: ignore[operator]
            found |= {pk, other_pk}
    return {f"{Moment.PUBLISH}:{pk}" for pk in found}
