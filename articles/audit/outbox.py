"""Writing events beside audit entries: the same function writes both, in the transaction of the change.

What changes articles without an audit entry, such as another program, gets its events from the sequencer, which
compares what readers see (`articles.distribution.sequencer`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from typing import Any

from django.db.models import Case, F, OuterRef, QuerySet, Subquery, Value, When
from django.db.models.expressions import Combinable
from django.db.models.functions import Greatest
from django.utils import timezone

from articles.audit.actions import Action
from articles.models import Article, AuditEntry, Correction, Event, Release, Update
from articles.workflow import ReleaseTransition, Transition
from scheduling.database import (
    Statement,
    among,
    database_now,
    insert_for_each,
    insert_rows,
    insert_statement,
    read_database_clock,
    unless_there,
    write_for,
)

Kind = Event.Kind
Status = Article.Status

_BY_ACTION: Mapping[str, Event.Kind] = {
    Transition.PUBLISH_NOW: Kind.PUBLISHED,
    Action.PUBLISHED: Kind.PUBLISHED,
    Action.UPDATED: Kind.UPDATED,
    Transition.PUBLISH_UPDATE: Kind.UPDATED,
    Action.UNPUBLISHED: Kind.UNPUBLISHED,
    Transition.UNPUBLISH: Kind.UNPUBLISHED,
    Transition.REPUBLISH: Kind.REPUBLISHED,
}
_BY_RELEASE_ACTION: Mapping[str, Event.Kind] = {
    Action.RELEASED: Kind.RELEASE_PUBLISHED,
    ReleaseTransition.PUBLISH: Kind.RELEASE_PUBLISHED,
    Action.RELEASE_FAILED: Kind.RELEASE_FAILED,
    ReleaseTransition.ROLL_BACK: Kind.RELEASE_ROLLED_BACK,
}
_PLANNED = frozenset({Kind.PUBLISHED, Kind.SCHEDULED})
"""The kinds to which the time of an article belongs: a person updates or unpublishes it without a plan."""
_REVERSING = frozenset({Action.UNDONE, Action.TAKEN_BACK})


@dataclass(frozen=True)
class NewEvent:
    """An event that is to be written; it happened now, unless readers saw it before by the clock."""

    kind: Event.Kind
    object_id: int
    revision: int = 0
    planned_at: datetime | None = None
    payload: Mapping[str, Any] = field(default_factory=dict)
    happened_at: datetime | None = None


def write_events(events: Sequence[NewEvent]) -> None:
    """Write events in the caller's transaction, which holds the locks of their objects."""
    fields = ("kind", "object_id", "revision", "planned_at", "payload")
    if rows := [_row(one) for one in events if one.happened_at is None]:
        insert_rows(Event, fields, rows, unless_there=True, happened_at=database_now(), state="")
    if rows := [[*_row(one), one.happened_at] for one in events if one.happened_at is not None]:
        insert_rows(Event, (*fields, "happened_at"), rows, unless_there=True, state="")


def _row(one: NewEvent) -> list[Any]:
    return [one.kind, one.object_id, one.revision, one.planned_at, dict(one.payload)]


def events_of(
    entries: Sequence[AuditEntry],
    articles: Sequence[Article],
    *,
    planned_at: datetime | None = None,
    happened_at: datetime | None = None,
) -> list[NewEvent]:
    """The events that these audit entries are about; the articles are in the same order.

    A release says when it was planned, and since when readers have seen it.
    """
    present = cache(read_database_clock)  # only if one has a time, and was not stored by itself
    found = [
        NewEvent(
            kind,
            article.pk,
            entry.revision or article.revision,
            planned_at or (_aware(entry.new_time) if kind in _PLANNED else None),
            _payload(entry),
            happened_at,
        )
        for entry, article in zip(entries, articles, strict=True)
        if (kind := _kind_of(entry, article, present)) is not None
    ]
    return _with_corrections(found)


def event_of_release(action: str, release: Release) -> list[NewEvent]:
    """The event that an audit entry about a release is about, if any."""
    kind = _BY_RELEASE_ACTION.get(action)
    since = release.published_at if action == Action.RELEASED else None
    return [NewEvent(kind, release.pk, planned_at=release.publish_at, happened_at=since)] if kind else []


def _kind_of(entry: AuditEntry, article: Article, present: Callable[[], datetime]) -> Event.Kind | None:
    if kind := _BY_ACTION.get(entry.action):
        return kind
    was_live, is_live = (status == Status.PUBLISHED for status in (entry.old_status, entry.new_status))
    if entry.action == Transition.RETRACT and article.published_at is not None:
        return Kind.RETRACTED
    if entry.action in _REVERSING and was_live != is_live:
        return Kind.UNPUBLISHED if was_live else Kind.REPUBLISHED
    return _kind_of_schedule(entry, article, present)


def _kind_of_schedule(entry: AuditEntry, article: Article, present: Callable[[], datetime]) -> Event.Kind | None:
    """Whether an approved article has another time, or has lost it; that it goes live at once is another event."""
    waits = {status.value for status in Status.waiting()}
    before, after = entry.details.get("embargo_until", [article.embargo_until] * 2)
    old = _goes_live(entry.old_time, before) if entry.old_status in waits else None
    new = _goes_live(entry.new_time, after) if entry.new_status in waits else None
    if old == new:
        return None
    if new is not None:
        return Kind.SCHEDULED if new > (article.stored_at or present()) else None
    return Kind.UNSCHEDULED if entry.new_status != Status.PUBLISHED else None


def _goes_live(time: datetime | None, embargo: datetime | str | None) -> datetime | None:
    """When an article goes live at this time, under this embargo."""
    moment, end = _aware(time), _aware(datetime.fromisoformat(embargo) if isinstance(embargo, str) else embargo)
    return moment and max(moment, end or moment)


def _aware(time: datetime | None) -> datetime | None:
    """Other code may save a time without a zone, which Django takes in the site's."""
    return (
        time if time is None or timezone.is_aware(time) else timezone.make_aware(time, timezone.get_default_timezone())
    )


def _payload(entry: AuditEntry) -> Mapping[str, Any]:
    return {"release": entry.release_id} if entry.release_id else {}


def _with_corrections(events: list[NewEvent]) -> list[NewEvent]:
    """Updates that tell readers what was wrong are corrections."""
    updated = {one.object_id for one in events if one.kind is Kind.UPDATED}
    if not updated:
        return events
    rows = Correction.objects.filter(article__in=updated).values_list("article", "revision__number")
    corrected = set(rows)
    return [
        replace(one, kind=Kind.CORRECTED)
        if one.kind is Kind.UPDATED and (one.object_id, one.revision) in corrected
        else one
        for one in events
    ]


# In one statement for many articles


_update = Update.objects.filter(article=OuterRef("pk"))
_correction = Subquery(_update.values("approved__correction"))
_OF_DUE: Mapping[str, Mapping[str, Any]] = {
    Action.PUBLISHED: {
        "kind": Value(Kind.PUBLISHED),
        "planned_at": F("publish_at"),
        "happened_at": F("goes_live_at"),
    },
    Action.UNPUBLISHED: {
        "kind": Value(Kind.UNPUBLISHED),
        "planned_at": F("unpublish_at"),
        "happened_at": F("unpublish_at"),
    },
    Action.UPDATED: {
        "kind": Case(When(update__approved__correction="", then=Value(Kind.UPDATED)), default=Value(Kind.CORRECTED)),
        "planned_at": Subquery(_update.values("publish_at")),
        "happened_at": Subquery(_update.values_list(Greatest("publish_at", "updated_at"))),  # as `Update.due_since`
        "revision": Subquery(_update.values("approved__number")),
    },
}
"""What is true of the events of each action that is due; readers saw most of them by the clock."""


def write_events_of_due(action: str, article_ids: Collection[int]) -> None:
    """Write the events of articles that go live, are updated or leave the site at their time, before they change.

    The sequencer may have written one before, for what the clock had shown.
    """
    write_for(_events_of_due, article_ids, action)


def _events_of_due(ids: Collection[int], action: str) -> Statement:
    """Readers never saw an article that is still to go live as it ends: its approval, or its embargo, was too long."""
    articles = _each(ids).filter(status=Status.PUBLISHED) if action == Action.UNPUBLISHED else _each(ids)
    return unless_there(Event, insert_statement(Event, articles, **_columns(**_OF_DUE[action])))


def write_events_of_times(article_ids: Collection[int], new_time: Combinable) -> None:
    """Write the events of articles that get a new time, an expression over an article, before they do."""
    columns: dict[str, Any] = {
        "kind": Value(Kind.SCHEDULED),
        "planned_at": new_time,
        "happened_at": database_now(),
    }
    insert_for_each(Event, _each(article_ids), **_columns(**columns))


def _each(ids: Collection[int]) -> QuerySet[Article]:
    return Article.objects.filter(pk__in=among(ids)).order_by("pk")


def _columns(**columns: Any) -> dict[str, Any]:
    return {"object_id": F("pk"), "revision": F("revision"), "payload": Value("{}"), "state": Value(""), **columns}
