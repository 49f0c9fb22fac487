"""Undoing a transition of an article that has not been changed since."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from django.db.models import Max
from django.utils.translation import gettext as _

from articles.audit import ANNOTATING, UNDONE, Actor, StateSnapshot, recorded
from articles.events import ArticlesPublished, ArticlesUnpublished, emit
from articles.exceptions import ChangedSince, InvalidSchedule, WrongState
from articles.models import Article, AuditEntry
from articles.permissions import require
from articles.publishing.transitions import lock, store
from articles.workflow import TRANSITIONS, Transition
from scheduling.services import read_database_clock, retried

Status = Article.Status


@retried
def undo_transition(article: Article, *, transition: Transition, before: StateSnapshot, entry: int, by: Actor) -> None:
    """Restore the state of `article` `before` a transition, whose audit entry is `entry`.

    Needs the permission of the transition. Raises `ChangedSince`, `WrongState` when it concerned an update or the
    article is live by now, and `InvalidSchedule` when the time it had is past.
    """
    require(TRANSITIONS[transition].permission, by)
    lock(article)
    require(TRANSITIONS[transition].permission, by, article)
    now = read_database_clock()
    _refuse_if_changed(article, entry)
    _refuse_if_live(article, transition, now)
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


def latest_entries(article_ids: Collection[int]) -> dict[int, int]:
    """The id of the newest audit entry of each article, except about notes and assignments."""
    entries = (
        AuditEntry.objects.filter(article_id__in=article_ids)
        .exclude(action__in=ANNOTATING)
        .order_by()
        .values_list("article_id")
    )
    return dict(entries.annotate(newest=Max("id")))


def _refuse_if_changed(article: Article, entry: int) -> None:
    newest = AuditEntry.objects.of(article).exclude(action__in=ANNOTATING).first()
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
        raise WrongState(_("It concerned the pending update of the article, which is not undone."))


def _refuse_if_live(article: Article, transition: Transition, now: datetime) -> None:
    if article.is_waiting and article.is_out_at(now):
        raise WrongState(_("The article has gone live."))


def _refuse_past(transition: Transition, before: StateSnapshot, now: datetime) -> None:
    """A past time would publish or unpublish the article at once."""
    goes_live = Article(publish_at=before.publish_at, embargo_until=before.embargo_until).goes_live_at
    if before.status in Status.waiting() and goes_live is not None and goes_live <= now:
        raise InvalidSchedule(_("The time it had is past."))
    if before.status in Status.visible() and before.unpublish_at is not None and before.unpublish_at <= now:
        raise InvalidSchedule(_("The time at which it was to be unpublished is past."))
