"""What readers see of an article at an instant: one function, and its twin in SQL.

Screens, filters, the API, exports and commands ask here. The stored status alone is behind the clock until a worker has
stored what readers see, and cannot tell an article that waits from one that is missed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any

from django.db import models
from django.db.models import Exists, OuterRef, Prefetch, Q, prefetch_related_objects
from django.utils.translation import gettext_lazy as _

from articles.models.article import Article, ArticleQuerySet, Instant, due_at, not_over_at, over_at
from articles.models.release import Release, ReleaseMember
from articles.models.update import Update
from scheduling.database import in_any

Status = Article.Status

_HELD = "scheduled_memberships"


class State(models.TextChoices):
    """What readers see or will see of an article."""

    DRAFT = "draft", _("Draft")  #: not approved, and without a time
    WAITING = "waiting_for_approval", _("Waiting for approval")  #: not approved; its time is to come
    OVERDUE = "overdue", _("Overdue")  #: its time is past, and readers do not have it
    APPROVED = "approved", _("Approved")  #: without a time
    SCHEDULED = "scheduled", _("Scheduled")
    LIVE = "live", _("Published")
    UNPUBLISHED = "unpublished", _("Unpublished")
    RETRACTED = "retracted", _("Retracted")


@dataclass(frozen=True, slots=True)
class ReaderState:
    """The state of an article at an instant.

    `status` is the stored one, or what it will be once a worker has stored what readers see. Readers see the article
    `since` and `until` these instants, past or to come; None where there is none. `release` gives it its time, if any.
    """

    state: State
    status: Article.Status
    since: datetime | None
    until: datetime | None
    release: Release | None = None

    @property
    def label(self) -> str:
        """The status as newsrooms call it; an approved article with a time is scheduled."""
        return str(State.SCHEDULED.label if self.state is State.SCHEDULED else self.status.label)

    @property
    def next_change(self) -> datetime | None:
        """The next instant at which the clock changes the state, unless the article is changed before."""
        if self.state in (State.WAITING, State.SCHEDULED):
            return self.since
        return self.until if self.state is State.LIVE else None


def status_at(article: Article, now: datetime) -> Article.Status:
    """Its status at `now`, whether or not a worker has stored that."""
    if article.is_over_at(now):
        return Status.UNPUBLISHED
    return Status.PUBLISHED if article.is_out_at(now) else Status(article.status)


def state_at(article: Article, now: datetime) -> ReaderState:
    """The state of an article at `now`; queries its release only where that decides, see `with_releases`."""
    status = status_at(article, now)
    release = release_of(article) if article.is_waiting and article.publish_at is None else None
    since = release.publish_at if release else article.goes_live_at
    if status in (Status.PUBLISHED, Status.UNPUBLISHED, Status.RETRACTED):
        since = article.seen_since(now)
    return ReaderState(
        _state(status, since, now, has_release=release is not None), status, since, article.unpublish_at, release
    )


def _state(status: Article.Status, since: datetime | None, now: datetime, *, has_release: bool) -> State:
    if status in _ENDED:
        return _ENDED[status]
    if status in Status.unapproved():
        return State.DRAFT if since is None else State.WAITING if since > now else State.OVERDUE
    if status == Status.PUBLISHED and since is not None:
        return State.LIVE
    if since is None:
        return State.APPROVED
    return State.OVERDUE if has_release and since <= now else State.SCHEDULED


_ENDED = {Status.UNPUBLISHED: State.UNPUBLISHED, Status.RETRACTED: State.RETRACTED}


def in_states(states: Iterable[State | str], now: Instant) -> Q:
    """Whether an article is in one of these states at `now`: the twin of `state_at` for queries."""
    return reduce(or_, (_condition(State(state), now) for state in states), Q(pk__in=()))


def _condition(state: State, now: Instant) -> Q:
    unapproved, visible = Q(status__in=Status.unapproved()), Q(status__in=Status.visible())
    untimed = Q(status__in=Status.waiting(), publish_at=None)
    conditions = {
        State.DRAFT: unapproved & Q(publish_at=None),
        State.WAITING: unapproved & Q(goes_live_at__gt=now),
        State.OVERDUE: unapproved & due_at(now) | untimed & _in_release(publish_at__lte=now),
        State.APPROVED: visible & Q(publish_at=None) & ~(untimed & _in_release()),
        State.SCHEDULED: visible & Q(goes_live_at__gt=now) & not_over_at(now)
        | untimed & _in_release(publish_at__gt=now),
        State.LIVE: visible & due_at(now) & not_over_at(now),
        State.UNPUBLISHED: Q(status=Status.UNPUBLISHED) | visible & Q(publish_at__isnull=False) & over_at(now),
        State.RETRACTED: Q(status=Status.RETRACTED),
    }
    return conditions[state]


def in_statuses(statuses: Iterable[int], now: Instant) -> Q:
    """Whether an article has one of these statuses at `now`: the twin of `status_at` for queries."""
    return reduce(or_, (_status_condition(Status(status), now) for status in statuses), Q(pk__in=()))


def _status_condition(status: Article.Status, now: Instant) -> Q:
    if status == Status.UNPUBLISHED:
        return _condition(State.UNPUBLISHED, now)
    if status not in Status.visible():
        return Q(status=status)
    to_come = Q(status=status) & (Q(publish_at=None) | Q(goes_live_at__gt=now) & not_over_at(now))
    return to_come | _condition(State.LIVE, now) if status == Status.PUBLISHED else to_come


def _in_release(**time: Instant) -> Q:
    """Whether a scheduled release publishes the article, with a condition for its time."""
    found = _scheduled_memberships().filter(
        article=OuterRef("pk"), **{f"release__{key}": at for key, at in time.items()}
    )
    return Q(Exists(found))


def scheduled_with_release(now: datetime) -> list[int]:
    """The ids of the articles that a release will publish."""
    members = _scheduled_memberships().filter(release__publish_at__gt=now, article__isnull=False)
    return list(members.values_list("article", flat=True))


def overdue_at(now: datetime) -> Q:
    """Whether readers miss something of an article at `now`: itself, its update, or what a release does with it."""
    members = ReleaseMember.objects.filter(holds=True, article__isnull=False, release__in=Release.objects.overdue(now))
    unapproved, updates = Article.objects.unapproved_past_time(now), Update.objects.overdue(now)
    return Q(pk__in=in_any(unapproved.values("pk"), updates.values("article"), members.values("article")))


def release_of(article: Article) -> Release | None:
    """The scheduled release that publishes the article."""
    held = article.__dict__.get(_HELD)
    if held is None:
        held = list(_scheduled_memberships().filter(article=article.pk)) if article.pk else []
        article.__dict__[_HELD] = held
    return held[0].release if held else None


def with_releases(articles: ArticleQuerySet) -> ArticleQuerySet:
    """Load the releases of these articles by one more statement, for `state_at`."""
    return articles.prefetch_related(_held())


def load_releases(articles: Sequence[Article]) -> None:
    """As `with_releases`, of articles that were read already."""
    prefetch_related_objects(articles, _held())


def _held() -> Prefetch[Any]:
    return Prefetch("memberships", _scheduled_memberships(), to_attr=_HELD)


def _scheduled_memberships() -> models.QuerySet[ReleaseMember]:
    chosen = {"holds": True, "action": ReleaseMember.Action.PUBLISH, "release__status": Release.Status.SCHEDULED}
    return ReleaseMember.objects.filter(**chosen, release__publish_at__isnull=False).select_related("release")
