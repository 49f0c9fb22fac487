"""Writing audit entries: the actor, action, article, time and source; and the events that they are about.

A service wraps its changes in `recorded(...)`, which compares the article before and after. Signal receivers record
what is saved or deleted outside a service.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from operator import attrgetter
from typing import Any, ClassVar, Self

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser, PermissionsMixin
from django.db.models import F, OuterRef, Subquery, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Greatest, JSONObject

from articles.audit.actions import Action
from articles.audit.outbox import (
    NewEvent,
    event_of_release,
    events_of,
    write_events,
    write_events_of_due,
    write_events_of_times,
)
from articles.events import EntriesRecorded, emit
from articles.limits import TITLE_LENGTH
from articles.models import Article, AuditEntry, Release, Update
from scheduling.database import (
    Statement,
    among,
    database_now,
    insert_for_each,
    insert_rows,
    insert_statement,
    write_for,
)

Actor = PermissionsMixin | AbstractBaseUser | AnonymousUser
"""A user, of Django's model or a project's own with permissions."""

Source = AuditEntry.Source

FIRST_STAGE_AGAIN = "first_stage_again"
"""The detail of an edit that took a text in review back to the first review stage."""

WENT_LIVE_OVER = "went_live_over"
"""The detail of an update that went live by itself: when the newsroom had last changed the article before."""


@dataclass(frozen=True)
class AuditContext:
    """The source, and the actor as far as known."""

    source: AuditEntry.Source = Source.PYTHON
    user: Actor | None = None


_DEFAULT = AuditContext()
_context: ContextVar[AuditContext] = ContextVar("audit_context", default=_DEFAULT)


@contextmanager
def source(name: AuditEntry.Source, *, by: Actor | None = None) -> Iterator[None]:
    """Set the source of entries in this block, and the actor of those that name no other."""
    token = _context.set(AuditContext(name, by))
    try:
        yield
    finally:
        _context.reset(token)


def present_source() -> AuditEntry.Source:
    """The source of entries now."""
    return _context.get().source


def set_actor(by: Actor) -> None:
    """Set the actor within the present source, once known."""
    _context.set(AuditContext(_context.get().source, by))


@dataclass(frozen=True)
class StateSnapshot:
    """The columns of an article that an audit entry shows before and after."""

    COLUMNS: ClassVar = ("status", "publish_at", "embargo_until", "unpublish_at", "status_reason")
    """The fields of an article in a snapshot."""
    OTHER_TIMES: ClassVar = ("embargo_until", "unpublish_at")
    """Those of them that an entry has in its details."""

    status: int | None = None
    publish_at: datetime | None = None
    embargo_until: datetime | None = None
    unpublish_at: datetime | None = None
    status_reason: str = ""

    @classmethod
    def of(cls, article: Article) -> Self:
        """The present state of `article`."""
        return cls(*(getattr(article, name) for name in cls.COLUMNS))

    @classmethod
    def before(cls, article: Article) -> Self:
        """The state of `article` when it was loaded."""
        return cls(*(article.as_loaded(name) for name in cls.COLUMNS))

    def other_times_since(self, before: StateSnapshot) -> dict[str, list[str | None]]:
        """The embargo and the time to be unpublished if they differ from `before`, as ISO 8601: old and new."""
        pairs = {name: (getattr(before, name), getattr(self, name)) for name in self.OTHER_TIMES}
        return {
            name: [old and old.isoformat(), new and new.isoformat()] for name, (old, new) in pairs.items() if old != new
        }


@dataclass
class Notes:
    """What a service adds to its audit entry; an `action` replaces the one it began with."""

    revision: int | None = None
    action: str = ""
    details: dict[str, Any] = field(default_factory=dict)


@contextmanager
def recorded(action: str, article: Article, *, by: Actor | None, release: Release | None = None) -> Iterator[Notes]:
    """Record the changes of this block to a locked `article` (for a `release`), unless it raises.

    The block may fill in the `Notes` it gets.
    """
    before, notes = StateSnapshot.of(article), Notes()
    yield notes
    action = notes.action or action
    record(action, article=article, by=by, before=before, revision=notes.revision, release=release, **notes.details)


def record(
    action: str,
    *,
    article: Article,
    by: Actor | None = None,
    before: StateSnapshot | None = None,
    revision: int | None = None,
    release: Release | None = None,
    **details: Any,
) -> None:
    """Write one entry in the caller's transaction. `before` is the earlier state; None: the same as now."""
    one = entry(action, article, by=by, before=before, revision=revision, details=details, release=release)
    _store([one], events_of([one], [article]))


def record_many(
    action: str,
    changes: Iterable[tuple[Article, StateSnapshot | None]],
    *,
    by: Actor | None = None,
    release: Release | None = None,
    at: datetime | None = None,
    details: Mapping[int, Mapping[str, Any]] | None = None,
) -> None:
    """Write an entry for each article, given with its earlier state, in one statement for hundreds.

    Readers have seen what a `release` changes since `at`.

    `details` are by the id of the article.
    """
    more, pairs = details or {}, list(changes)
    entries = [
        entry(
            action, article, by=by, before=before, release=release, details=more.get(article.pk),
            revision=article.revision if action == Action.UPDATED else None,
        )
        for article, before in pairs
    ]  # fmt: skip
    planned_at = release.publish_at if release is not None and at is not None else None
    articles = [article for article, _before in pairs]
    _store(entries, events_of(entries, articles, planned_at=planned_at, happened_at=at))


def record_annotation(action: str, article: Article, *, by: Actor | None, reason: str = "", **details: Any) -> None:
    """Write an entry about one of `ANNOTATING`; it shows neither status nor time of the article."""
    values = {"article_id": article.pk, "article_title": article.title, "reason": reason[:500], "details": details}
    _store([stamped(action, by=by, **values)])


def record_release(
    action: str, release: Release, *, by: Actor | None = None, old_time: datetime | None = None, **details: Any
) -> None:
    """Write an entry about a release itself. `old_time` is its earlier time."""
    about = {"release_id": release.pk, "release_name": release.name, "reason": release.reason[:500], "details": details}
    one = stamped(action, by=by, **about, old_time=old_time, new_time=release.publish_at)
    _store([one], event_of_release(action, release))


def record_beside(action: str, *, title: str, by: Actor | None = None, **details: Any) -> None:
    """Write an entry about something other than an article, such as an image or an account, by its `title`."""
    _store([stamped(action, by=by, article_title=title[:TITLE_LENGTH], details=details)])


def record_in_release(action: str, release: Release, *, title: str, by: Actor | None, **details: Any) -> None:
    """The same about something that belongs to a release."""
    about = {"release_id": release.pk, "release_name": release.name}
    _store([stamped(action, by=by, article_title=title[:TITLE_LENGTH], **about, details=details)])


def record_due(action: str, article_ids: Collection[int]) -> None:
    """Record that these locked articles go live, are updated or leave the site at their time, in one statement.

    Called before their rows change; `DueRecorded` is emitted after that. The times of an entry are the instant at which
    readers saw it, which may be past: no worker is needed for that. Their source is the system, also where a
    later change by a user stores what the clock has shown before.
    """
    write_for(_entries_of_due, article_ids, action)
    write_events_of_due(action, article_ids)


def _entries_of_due(ids: Collection[int], action: str) -> Statement:
    columns: dict[str, Any] = {
        "at": database_now(),
        "action": Value(action),
        "source": Value(Source.WORKER),
        "user_name": Value(""),
        "article_id": F("pk"),
        "article_title": F("title"),
        "old_status": F("status"),
        "new_status": F("status"),
        "revision": F("revision"),
        "reason": Value(""),
        "details": Value("{}"),
        **_DUE[action],
    }
    columns["new_time"] = columns["old_time"]
    return insert_statement(AuditEntry, Article.objects.filter(pk__in=among(ids)).order_by("pk"), **columns)


_update = Update.objects.filter(article=OuterRef("pk"))
_DUE: Mapping[str, Mapping[str, Any]] = {
    Action.PUBLISHED: {"old_time": F("goes_live_at"), "new_status": Value(Article.Status.PUBLISHED)},
    Action.UNPUBLISHED: {"old_time": F("unpublish_at"), "new_status": Value(Article.Status.UNPUBLISHED)},
    Action.UPDATED: {
        "old_time": Subquery(_update.values_list(Greatest("publish_at", "updated_at"))),  # as `Update.due_since`
        "article_title": Subquery(_update.values("approved__title")),
        "revision": Subquery(_update.values("approved__number")),
        "details": JSONObject(**{WENT_LIVE_OVER: Greatest(F("updated_at"), Subquery(_update.values("updated_at")))}),
    },
}
"""What is true of each action that is due: its instant, and the status or text to which it leads."""


def record_times(action: str, article_ids: Collection[int], *, new_time: Combinable, by: Actor) -> None:
    """Record that these locked articles get new times to go live, in one statement; called before they get them.

    `new_time` is an expression over an article.
    """
    _insert_entries(action, article_ids, by, new_time=new_time)
    write_events_of_times(article_ids, new_time)


def record_bylines(article_ids: Collection[int], byline: str) -> None:
    """Record that these locked articles keep the name of their author, whose account is deleted, as their byline."""
    _insert_entries(Action.KEEP_BYLINE, article_ids, _context.get().user, details=Value(json.dumps({"byline": byline})))


def _insert_entries(action: str, article_ids: Collection[int], by: Actor | None, **columns: Combinable) -> None:
    """Insert an entry for each of these articles in one statement; `columns` differ from their present state."""
    found: dict[str, Combinable] = {
        "at": database_now(),
        "action": Value(action),
        "source": Value(_context.get().source),
        "user_id": Value(by.pk if by else None, AuditEntry._meta.get_field("user_id")),
        "user_name": Value(_name_of(by)),
        "article_id": F("pk"),
        "article_title": F("title"),
        "old_status": F("status"),
        "new_status": F("status"),
        "old_time": F("publish_at"),
        "new_time": F("publish_at"),
        "reason": Value(""),
        "details": Value("{}"),
    }
    insert_for_each(AuditEntry, Article.objects.filter(pk__in=among(article_ids)).order_by("pk"), **(found | columns))


def _name_of(user: Actor | None) -> str:
    return str(user)[:150] if user and user.pk else ""


_DEFAULTS: dict[str, Any] = {field.attname: field.get_default() for field in AuditEntry._meta.concrete_fields}
_WRITTEN = [name for name in _DEFAULTS if name not in ("id", "at")]
_new: Callable[..., AuditEntry] = AuditEntry  # by position, in the order of the fields: names take three times as long


def _store(entries: Sequence[AuditEntry], events: Sequence[NewEvent] = ()) -> None:
    insert_rows(AuditEntry, _WRITTEN, map(attrgetter(*_WRITTEN), entries), at=database_now())
    write_events(events)
    emit(EntriesRecorded(entries))


def entry(
    action: str,
    article: Article,
    *,
    by: Actor | None = None,
    before: StateSnapshot | None = None,
    revision: int | None = None,
    details: Mapping[str, Any] | None = None,
    release: Release | None = None,
) -> AuditEntry:
    """An unsaved entry about an article."""
    after = StateSnapshot.of(article)
    before = before or after
    return stamped(
        action,
        by=by,
        release_id=release.pk if release else None,
        release_name=release.name if release else None,
        article_id=article.pk,
        article_title=article.title,
        old_status=before.status,
        new_status=after.status,
        old_time=before.publish_at,
        new_time=after.publish_at,
        revision=revision,
        reason=after.status_reason if after.status_reason != before.status_reason else "",
        details={**after.other_times_since(before), **(details or {})},
    )


def stamped(action: str, *, by: Actor | None = None, **values: Any) -> AuditEntry:
    """An unsaved entry with actor, time and source."""
    context_of_entry = _context.get()
    user = by if by is not None else context_of_entry.user
    found = {
        "at": database_now(),
        "action": action,
        "source": context_of_entry.source,
        "user_id": user.pk if user else None,
        "user_name": _name_of(user),
        **values,
    }
    return _new(*{**_DEFAULTS, **found}.values())
