"""The instants of what the system did at a set time: when readers saw it, by the clock, and when it was recorded."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.utils.translation import gettext as _

from articles.audit import Action
from articles.models import AuditEntry
from articles.text import format_time_exactly

NOTICEABLE = timedelta(seconds=1)
"""From how much later on an entry says when it was recorded."""


def seen_at(entry: AuditEntry) -> datetime:
    """When readers saw it."""
    return _instant(entry) or entry.at


def who_of(entry: AuditEntry) -> str:
    """The actor; what the clock has shown is recorded by the user who changes the article next, if no worker ran."""
    return str(AuditEntry.Source.WORKER.label) if _instant(entry) else entry.who


def delay_of(entry: AuditEntry) -> Iterator[str]:
    """When it was recorded, if that differs noticeably from when readers saw it."""
    if entry.at - seen_at(entry) >= NOTICEABLE:
        yield _("recorded %(time)s") % {"time": format_time_exactly(entry.at)}


def seen_before(entry: AuditEntry) -> Iterator[str]:
    """The same beside the time at which the entry was recorded."""
    if entry.at - seen_at(entry) >= NOTICEABLE:
        yield _("seen by readers %(time)s") % {"time": format_time_exactly(seen_at(entry))}


def _instant(entry: AuditEntry) -> datetime | None:
    """The time at which the clock showed it to readers; None if a person did."""
    if entry.user_name:
        return None
    if entry.release_id is not None:
        return entry.new_time if entry.action in (Action.RELEASED, Action.PUBLISHED) else None
    is_due = entry.action in (Action.PUBLISHED, Action.UNPUBLISHED, Action.UPDATED)
    return entry.old_time if is_due and entry.old_time == entry.new_time else None
