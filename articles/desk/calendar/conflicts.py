"""Scheduling conflicts: articles of one channel that go live at nearly the same time."""

from __future__ import annotations

from collections.abc import Collection

from django.conf import settings
from django.db.models import Exists, OuterRef

from articles.desk.calendar.entries import Entry, Kind, Mark
from articles.desk.calendar.grid import Sheet
from articles.models import Article
from articles.workflow import UNAPPROVED, WAITING
from scheduling.services import among


def mark_conflicts(sheet: Sheet) -> None:
    """Mark upcoming entries with a neighbour in their channel, including neighbours that are not shown. One query."""
    shown = {entry.article for entry in sheet.entries if entry.article and _may_conflict(entry)}
    if not shown:
        return
    conflicting = _conflicting(shown)
    for entry in sheet.entries:
        if _may_conflict(entry) and entry.article in conflicting:
            entry.marks += (Mark.CONFLICT,)


def _may_conflict(entry: Entry) -> bool:
    return entry.kind is Kind.PUBLISH and bool(entry.channel)


def _conflicting(shown: Collection[int]) -> set[int]:
    """Those of these articles that have a neighbour.

    Few articles of each day or hour are shown: the database looks for a neighbour of each by the index of its channel,
    and stops at the first, however many there are.
    """
    apart, statuses = settings.CALENDAR_CONFLICT, UNAPPROVED | WAITING | {Article.Status.PUBLISHED}
    near = OuterRef("goes_live_at") - apart, OuterRef("goes_live_at") + apart
    neighbours = Article.objects.filter(channel=OuterRef("channel"), goes_live_at__range=near, status__in=statuses)
    rows = Article.objects.filter(Exists(neighbours.exclude(pk=OuterRef("pk"))), pk__in=among(shown))
    return set(rows.values_list("pk", flat=True))
