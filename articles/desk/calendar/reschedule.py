"""Rescheduling from the calendar: a new time instead of the one that the user saw."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from enum import StrEnum

from django.db import transaction
from django.utils.translation import gettext as _

from articles.exceptions import RescheduledByOther, TimePast, WrongState
from articles.models import Article, AuditEntry, Release, status_at
from articles.publishing import (
    PAST,
    Actor,
    checked_time,
    edit,
    lock,
    perform,
    schedule,
    schedule_update,
    set_embargo,
)
from articles.releases import lock_release, publish_release_now, schedule_release
from articles.text import format_time_exactly
from articles.workflow import Transition
from scheduling.database import read_database_clock, retried

LOOKED_AT = 50
"""Audit entries searched for the last change."""


class Moment(StrEnum):
    """The movable times of an article, by column."""

    PUBLISH = "publish_at"
    UPDATE = "update_at"
    UNPUBLISH = "unpublish_at"
    EMBARGO = "embargo_until"


@retried
def reschedule_article(article: Article, moment: Moment, *, to: datetime, seen: datetime, by: Actor) -> None:
    """Reschedule a time of the article from `seen` to `to`, which must be in the future.

    Raises `RescheduledByOther` if it has changed since, `TimePast`, and the errors of the service.
    """
    with _as_seen(article, moment, seen):
        _BY_MOMENT[moment](article, checked_time(to), by)
        if to <= read_database_clock():  # checked after the permission; the error rolls the change back
            raise TimePast(PAST.get(moment, TimePast.message))


@retried
def do_now(article: Article, moment: Moment, *, seen: datetime, by: Actor) -> None:
    """Publish the article or its update now instead of at `seen`.

    Raises `RescheduledByOther`, `TimePast` for times without an immediate transition, and the errors of the service.
    """
    if moment not in AT_ONCE:
        raise TimePast(PAST[moment])
    with _as_seen(article, moment, seen):
        perform(AT_ONCE[moment], article, by=by)


def time_of(article: Article, moment: Moment) -> datetime | None:
    """The current value of a time."""
    if moment is Moment.UPDATE:
        return article.pending_update.publish_at if article.pending_update else None
    value: datetime | None = getattr(article, moment)
    return value


@retried
def reschedule_release(release: Release, *, to: datetime, seen: datetime, by: Actor) -> None:
    """Reschedule a release, as `reschedule_article`."""
    with _release_as_seen(release, seen):
        schedule_release(release, publish_at=to, by=by, at_once=False)
        if to <= read_database_clock():
            raise TimePast


@retried
def do_release_now(release: Release, *, seen: datetime, by: Actor) -> None:
    """Publish a release now, as `do_now`."""
    with _release_as_seen(release, seen):
        publish_release_now(release, by=by)


@contextmanager
def _as_seen(article: Article, moment: Moment, seen: datetime) -> Iterator[None]:
    with transaction.atomic():
        lock(article)
        if (now_at := time_of(article, moment)) != seen:
            entries = AuditEntry.objects.of(article).with_names()[:LOOKED_AT]
            last = next((entry for entry in entries if _changes(entry, moment)), None)
            raise RescheduledByOther(_what_happened(article.title, now_at, last))
        yield


@contextmanager
def _release_as_seen(release: Release, seen: datetime) -> Iterator[None]:
    with transaction.atomic():
        lock_release(release)
        if release.publish_at != seen:
            entries = AuditEntry.objects.of_release(release).with_names().filter(article_id__isnull=True)[:LOOKED_AT]
            last = next((entry for entry in entries if entry.old_time != entry.new_time), None)
            raise RescheduledByOther(_what_happened(release.name, release.publish_at, last))
        yield


def _what_happened(title: str, now_at: datetime | None, last: AuditEntry | None) -> str:
    """The user who changed the time, and its new value, from the audit log."""
    words = {
        "title": title,
        "user": last.who if last and last.user_name else _("another user"),
        "time": format_time_exactly(now_at) if now_at else "",
    }
    if now_at is None:
        return _("%(user)s has removed the time of “%(title)s”. Nothing was changed.") % words
    return _("%(user)s has rescheduled “%(title)s” to %(time)s. Your change was not applied.") % words


def _changes(entry: AuditEntry, moment: Moment) -> bool:
    return moment in entry.details or (moment is Moment.PUBLISH and entry.old_time != entry.new_time)


def _reschedule_publication(article: Article, to: datetime, by: Actor) -> None:
    if article.is_waiting:
        schedule(article, publish_at=to, by=by, at_once=False)
    else:
        edit(article, by=by, changes={Moment.PUBLISH: to})


def _reschedule_update(article: Article, to: datetime, by: Actor) -> None:
    schedule_update(article, publish_at=to, by=by, at_once=False)


def _reschedule_end(article: Article, to: datetime, by: Actor) -> None:
    if status_at(article, read_database_clock()) == Article.Status.UNPUBLISHED:
        raise WrongState(_("The article is unpublished already."))
    edit(article, by=by, changes={Moment.UNPUBLISH: to})


def _reschedule_embargo(article: Article, to: datetime, by: Actor) -> None:
    set_embargo(article, until=to, by=by)


_BY_MOMENT: Mapping[Moment, Callable[[Article, datetime, Actor], None]] = {
    Moment.PUBLISH: _reschedule_publication,
    Moment.UPDATE: _reschedule_update,
    Moment.UNPUBLISH: _reschedule_end,
    Moment.EMBARGO: _reschedule_embargo,
}
AT_ONCE: Mapping[Moment, Transition] = {
    Moment.PUBLISH: Transition.PUBLISH_NOW,
    Moment.UPDATE: Transition.PUBLISH_UPDATE,
}
"""The transitions that make an event happen now."""
