"""What every step of an article has in common: lock it, then ask whether this person may take the step."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from articles.audit import Actor as Actor
from articles.audit import Notes, recorded
from articles.audit import require as require
from articles.exceptions import ArticleGone, WrongState
from articles.models import Article, Update
from articles.publishing.holds import held_transitions, refuse_held
from articles.publishing.reconcile import sync_tasks
from articles.workflow import TRANSITIONS, Position, Subject, Transition, is_possible, transitions_from
from scheduling.services import lock_by_ids, read_database_clock

Status = Article.Status


@dataclass(frozen=True)
class TransitionContext:
    """A step that is being taken: the database's instant, and what the audit record will add."""

    now: datetime
    notes: Notes


@contextmanager
def transition(
    transition: Transition, article: Article, *, by: Actor, overriding: bool = False
) -> Iterator[TransitionContext]:
    """Lock `article`, load it again and check that `by` may take `step`; save and commit when the block ends.

    When `overriding`, the permission is enough, whichever article it is. Changes made to the instance before are
    dropped: what is stored counts. Raises `NotAllowed`, `ArticleGone`, `WrongState` or, when a release keeps the step
    for itself, `BelongsToRelease`.
    """
    require(TRANSITIONS[transition].permission, by)
    with transaction.atomic():
        lock(article)
        require(TRANSITIONS[transition].permission, by, None if overriding else article)
        now = read_database_clock()
        if TRANSITIONS[transition].subject is Subject.ARTICLE:
            _believe_the_clock(article, now)
        refuse_impossible(transition, position(article))
        refuse_held(transition, [article.pk])
        with recorded(transition, article, by=by) as notes:
            yield TransitionContext(now, notes)
            store(article)


def lock(article: Article) -> None:
    """Lock the row until the end of the transaction and load it. Raises `ArticleGone`."""
    try:
        article.refresh_from_db(from_queryset=lock_by_ids(Article, [article.pk]))
    except Article.DoesNotExist as error:
        raise ArticleGone from error
    article._state.adding = False  # `Article(pk=...)` is enough to lock, and is no new article now


def store(article: Article) -> None:
    """Save a locked article if it was changed. Its update may have been in any case, so the tasks are set right."""
    if article.changed_fields():
        article.save(revise=False)
    else:
        sync_tasks([article.pk])


def move(transition: Transition, subject: Article | Update) -> None:
    """Set the status the step leads to."""
    target = TRANSITIONS[transition].target
    if target is not None:
        subject.status = target


def position(article: Article) -> Position:
    """Where the article, the draft of its update and the approved update stand."""
    pending_update = article.pending_update
    return Position(
        article.status,
        draft=pending_update.status if pending_update and pending_update.draft_id else None,
        update=Status.MANUALLY_APPROVED if pending_update and pending_update.approved_id else None,
    )


def position_at(article: Article, now: datetime) -> Position:
    """The same by the clock: approved and due is published, even if no worker has noted it yet."""
    found = position(article)
    return replace(found, article=Status.PUBLISHED) if article.is_waiting and article.is_out_at(now) else found


def possible_transitions(article: Article, now: datetime) -> list[Transition]:
    """The steps that are possible with this article at `now`, in the order of the table; it is not changed."""
    kept = held_transitions(article)
    return [transition for transition in transitions_from(position_at(article, now)) if transition not in kept]


def refuse_impossible(transition: Transition, found: Position) -> None:
    """Raise `WrongState` unless an article that stands so can take the step."""
    if is_possible(transition, found):
        return
    status = found.of(TRANSITIONS[transition].subject)
    if status is None:
        raise WrongState(
            _("“%(step)s” is not possible: there is no newer text.") % {"step": TRANSITIONS[transition].label}
        )
    raise WrongState(
        _("“%(step)s” is not possible: the article is “%(status)s”.")
        % {"step": TRANSITIONS[transition].label, "status": Status(status).label}
    )


def _believe_the_clock(article: Article, now: datetime) -> None:
    """An approved article whose time has come is published, even if no worker has noted it yet."""
    if article.is_waiting and article.is_out_at(now):
        article.status, article.published_at = Status.PUBLISHED, article.goes_live_at
