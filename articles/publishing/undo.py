"""Undoing a transition of an article that has not been changed since."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from django.db.models import Max
from django.utils.translation import gettext as _

from articles.audit import (
    ANNOTATING,
    Action,
    Actor,
    StateSnapshot,
    recorded,
)
from articles.events import ArticlesPublished, ArticlesUnpublished, emit
from articles.exceptions import ChangedSince, InvalidSchedule, NotAllowed, WrongState
from articles.models import Article, AuditEntry, StageApproval
from articles.permissions import require
from articles.publishing.by_clock import end_before_next_change
from articles.publishing.store import store_article
from articles.publishing.transitions import lock, position_at
from articles.workflow import TRANSITIONS, Transition
from scheduling.database import delete_by_ids, read_database_clock, retried

Status = Article.Status


@retried
def undo_transition(article: Article, *, transition: Transition, before: StateSnapshot, entry: int, by: Actor) -> None:
    """Restore the state of `article` `before` a transition, whose audit entry is `entry`.

    Needs the permission of the transition. Raises `ChangedSince`, `WrongState` when it concerned an update or the
    article is live by now, and `InvalidSchedule` when the time it had is past. The approval at a review stage is undone
    by its user alone.
    """
    require(TRANSITIONS[transition].permission, by)
    lock(article)
    newest = _newest_entry(article, entry)
    if newest.action == Action.PASSED_STAGE:
        return _undo_stage(article, newest, by)
    _refuse_if_retimed(article, before, newest)
    require(TRANSITIONS[transition].permission, by, article)
    now = read_database_clock()
    _refuse_if_live(article, transition, now)
    end_before_next_change(article, now)
    _refuse_past(transition, before, now)
    was_published = article.status == Status.PUBLISHED
    with recorded(Action.UNDONE, article, by=by) as notes:
        notes.revision = article.revision
        for name in StateSnapshot.COLUMNS:
            setattr(article, name, getattr(before, name))
        # Without `now`: the old time counts again as it did, and is not cleared once more.
        store_article(article)
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


def _undo_stage(article: Article, passed: AuditEntry, by: Actor) -> None:
    """The text waits again at the stage at which `by` approved it."""
    approval = StageApproval.objects.filter(
        article=article, revision=passed.revision or 0, stage=passed.details.get("stage"), user=by.pk
    )
    if not (ids := list(approval.values_list("pk", flat=True))):
        raise NotAllowed(_("Only the user who approved it at this stage can undo that."))
    with recorded(Action.UNDONE, article, by=by) as notes:
        notes.revision, notes.details = passed.revision, dict(passed.details)
        delete_by_ids(StageApproval, ids)


def _newest_entry(article: Article, entry: int) -> AuditEntry:
    """The newest audit entry of an article, if that is still `entry`; otherwise raises `ChangedSince`."""
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
    return newest


def _refuse_if_retimed(article: Article, before: StateSnapshot, newest: AuditEntry) -> None:
    """Raise `ChangedSince` if another program, which leaves no entry, has set its embargo or its end since."""
    changes = StateSnapshot.of(article).other_times_since(before)
    if changes != {name: newest.details[name] for name in StateSnapshot.OTHER_TIMES if name in newest.details}:
        raise ChangedSince


def _refuse_if_live(article: Article, transition: Transition, now: datetime) -> None:
    """The clock has changed it since, though no worker has recorded that."""
    if position_at(article, now).article == article.status:
        return
    if article.is_waiting:
        raise WrongState(_("The article has gone live."))
    raise ChangedSince


def _refuse_past(transition: Transition, before: StateSnapshot, now: datetime) -> None:
    """A past time would publish or unpublish the article at once."""
    goes_live = Article(publish_at=before.publish_at, embargo_until=before.embargo_until).goes_live_at
    if before.status in Status.waiting() and goes_live is not None and goes_live <= now:
        raise InvalidSchedule(_("The time it had is past."))
    if before.status in Status.visible() and before.unpublish_at is not None and before.unpublish_at <= now:
        raise InvalidSchedule(_("The time at which it was to be unpublished is past."))
