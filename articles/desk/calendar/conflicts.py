"""Scheduling conflicts: articles of one channel that go live at nearly the same time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import F, Q, Window
from django.db.models.functions import Lag, Lead

from articles.desk.calendar.entries import Entry, Kind, Mark
from articles.desk.calendar.grid import Sheet
from articles.desk.calendar.sources import FREE
from articles.models import Article
from articles.workflow import UNAPPROVED, WAITING

_MOST_SPANS = 200


def mark_conflicts(sheet: Sheet) -> None:
    """Mark upcoming entries with a neighbour in their channel, including neighbours that are not shown. One query."""
    shown = {entry.article: entry.at for entry in sheet.entries if entry.article and _may_conflict(entry)}
    if not shown:
        return
    conflicting = _conflicting(shown)
    for slot in sheet.slots:
        slot.entries = [
            entry.marked(Mark.CONFLICT) if _may_conflict(entry) and entry.article in conflicting else entry
            for entry in slot.entries
        ]


def _may_conflict(entry: Entry) -> bool:
    return entry.kind is Kind.PUBLISH and bool(entry.channel)


def _conflicting(shown: Mapping[int, datetime]) -> set[int]:
    """Those of these articles that have a neighbour; the database compares each article with the next."""
    apart = settings.CALENDAR_CONFLICT
    statuses = UNAPPROVED | WAITING | {Article.Status.PUBLISHED}
    spans = Q(*(Q(publish_at__range=span) for span in _around(shown.values(), apart)), _connector=Q.OR)
    rows = Article.objects.filter(spans, FREE, status__in=statuses, channel__isnull=False)
    in_channel: dict[str, Any] = {"partition_by": "channel", "order_by": ["publish_at", "pk"]}
    beside = rows.annotate(
        before=Window(Lag("publish_at"), **in_channel), after=Window(Lead("publish_at"), **in_channel)
    )
    near = beside.filter(Q(before__gte=F("publish_at") - apart) | Q(after__lte=F("publish_at") + apart))
    return shown.keys() & set(near.values_list("pk", flat=True))


def _around(moments: Iterable[datetime], apart: timedelta) -> list[tuple[datetime, datetime]]:
    """The spans of time in which neighbours of these times are, without overlaps.

    Few articles of each day or hour are shown, so these are short. If there are more than `_MOST_SPANS`, one span from
    the first to the last costs less.
    """
    spans: list[tuple[datetime, datetime]] = []
    for moment in sorted(moments):
        begin = moment - apart
        if spans and begin <= spans[-1][1]:
            begin = spans.pop()[0]
        spans.append((begin, moment + apart))
    return spans if len(spans) <= _MOST_SPANS else [(spans[0][0], spans[-1][1])]
