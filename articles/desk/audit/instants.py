"""The instants of what the system did at a set time: when readers saw it, and when it was due or recorded.

The clock shows readers what goes live and what ends at its time, whenever a worker records it. An update or a release
is shown by a worker's commit.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.utils.translation import gettext as _

from articles.audit import Action
from articles.models import AuditEntry
from articles.text import format_time_exactly

NOTICEABLE = timedelta(seconds=1)
"""From how much later on an entry says when it was recorded, or due."""


def seen_at(entry: AuditEntry) -> datetime:
    """When readers saw it."""
    return (entry.old_time if _is_by_clock(entry) else None) or entry.at


def who_of(entry: AuditEntry) -> str:
    """The actor; what the clock has shown is recorded by the user who changes the article next, if no worker ran."""
    return str(AuditEntry.Source.WORKER.label) if _is_by_clock(entry) else entry.who


def delay_of(entry: AuditEntry) -> Iterator[str]:
    """When it was recorded, or due, if that differs noticeably from when readers saw it."""
    due = _due_at(entry)
    if due is None or entry.at - due < NOTICEABLE:
        return
    if _is_by_clock(entry):
        yield _("recorded %(time)s") % {"time": format_time_exactly(entry.at)}
    else:
        yield _("was due %(time)s") % {"time": format_time_exactly(due)}


def seen_before(entry: AuditEntry) -> Iterator[str]:
    """As `delay_of`, beside the time at which the entry was recorded."""
    if _is_by_clock(entry) and entry.at - seen_at(entry) >= NOTICEABLE:
        yield _("seen by readers %(time)s") % {"time": format_time_exactly(seen_at(entry))}
    else:
        yield from delay_of(entry)


def _is_by_clock(entry: AuditEntry) -> bool:
    return _is_due(entry) and entry.action != Action.UPDATED


def _is_due(entry: AuditEntry) -> bool:
    """Whether it happened to an article at its own time: both times of the entry are that."""
    is_own = entry.release_id is None and not entry.user_name
    return (
        is_own
        and entry.action in (Action.PUBLISHED, Action.UNPUBLISHED, Action.UPDATED)
        and entry.old_time == entry.new_time
    )


def _due_at(entry: AuditEntry) -> datetime | None:
    if _is_due(entry):
        return entry.old_time
    is_of_release = entry.action == Action.RELEASED or (
        entry.action == Action.PUBLISHED and entry.release_id is not None
    )
    return entry.new_time if is_of_release and not entry.user_name else None
