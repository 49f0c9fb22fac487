"""Putting an article back where it stood before a step, if nobody has changed it since."""

from __future__ import annotations

from datetime import datetime

from django.utils.translation import gettext as _

from articles.audit import UNDONE, Actor, StateSnapshot, recorded, require
from articles.events import ArticlesPublished, ArticlesUnpublished, emit
from articles.exceptions import ChangedSince, InvalidSchedule, WrongState
from articles.models import Article, AuditEntry
from articles.publishing.transitions import lock, store
from articles.workflow import TRANSITIONS, Transition
from scheduling.services import read_database_clock, retried

Status = Article.Status

UNDOABLE = frozenset(
    {
        Transition.SUBMIT,
        Transition.APPROVE,
        Transition.SCHEDULE,
        Transition.RESCHEDULE,
        Transition.UNSCHEDULE,
        Transition.UNPUBLISH,
        Transition.REPUBLISH,
    }
)
"""The steps that can be put back. What was published at once is withdrawn instead: readers have seen it."""


@retried
def put_back(article: Article, *, transition: Transition, before: StateSnapshot, entry: int, by: Actor) -> None:
    """Have `article` stand as it did `before` somebody took `step`, of which the audit record tells in `entry`.

    Takes the right that the step took. Raises `ChangedSince`, `WrongState` when it concerned a newer text or the
    article is out by now, and `InvalidSchedule` when the time it had is past.
    """
    require(TRANSITIONS[transition].permission, by)
    lock(article)
    require(TRANSITIONS[transition].permission, by, article)
    now = read_database_clock()
    _refuse_if_changed(article, entry)
    _refuse_if_out(article, transition, now)
    _refuse_past(transition, before, now)
    was_published = article.status == Status.PUBLISHED
    with recorded(UNDONE, article, by=by) as notes:
        notes.revision = article.revision
        for name in StateSnapshot.COLUMNS:
            setattr(article, name, getattr(before, name))
        store(article)
    if was_published != (article.status == Status.PUBLISHED):
        event = ArticlesUnpublished if was_published else ArticlesPublished
        emit(event([article.pk]))


def latest_entry(article_id: int) -> int | None:
    """The id of the newest audit entry of an article."""
    newest = AuditEntry.objects.filter(article_id=article_id).latest_first()
    return newest.values_list("pk", flat=True).first()


def _refuse_if_changed(article: Article, entry: int) -> None:
    newest = AuditEntry.objects.of(article).first()
    if (
        newest is None
        or newest.pk != entry
        or (newest.new_status, newest.new_time)
        != (
            article.status,
            article.publish_at,
        )
    ):
        raise ChangedSince
    if "update" in newest.details:
        raise WrongState(_("It concerned the newer text of the article, which is not put back."))


def _refuse_if_out(article: Article, transition: Transition, now: datetime) -> None:
    if article.is_waiting and article.is_out_at(now):
        raise WrongState(_("The article has gone live."))


def _refuse_past(transition: Transition, before: StateSnapshot, now: datetime) -> None:
    """A time that is past would put the article out, or take it off, this instant."""
    goes_live = Article(publish_at=before.publish_at, embargo_until=before.embargo_until).goes_live_at
    if before.status in Status.waiting() and goes_live is not None and goes_live <= now:
        raise InvalidSchedule(_("The time it had is past."))
    if before.status in Status.visible() and before.unpublish_at is not None and before.unpublish_at <= now:
        raise InvalidSchedule(_("The time at which it was to be taken off is past."))
