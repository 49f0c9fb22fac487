"""What every step of an article has in common: lock it, then ask whether this person may take the step."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from articles.audit import Notes, recorded
from articles.audit import Person as Person
from articles.audit import require as require
from articles.exceptions import ArticleGone, WrongState
from articles.models import Article, Update
from articles.publishing.holds import kept_steps, refuse_held
from articles.publishing.reconcile import sync_tasks
from articles.workflow import STEPS, Position, Step, Subject, may_start, steps_from
from scheduling.services import lock_by_ids, read_database_clock

Status = Article.Status


@dataclass(frozen=True)
class Taking:
    """A step that is being taken: the database's instant, and what the audit record will add."""

    now: datetime
    notes: Notes


@contextmanager
def taking(step: Step, article: Article, *, by: Person, overriding: bool = False) -> Iterator[Taking]:
    """Lock `article`, load it again and check that `by` may take `step`; save and commit when the block ends.

    When `overriding`, the permission is enough, whichever article it is. Changes made to the instance before are
    dropped: what is stored counts. Raises `NotAllowed`, `ArticleGone`, `WrongState` or, when a release keeps the step
    for itself, `BelongsToRelease`.
    """
    require(STEPS[step].permission, by)
    with transaction.atomic():
        lock(article)
        require(STEPS[step].permission, by, None if overriding else article)
        now = read_database_clock()
        if STEPS[step].subject is Subject.ARTICLE:
            _believe_the_clock(article, now)
        refuse_impossible(step, position(article))
        refuse_held(step, [article.pk])
        with recorded(step, article, by=by) as notes:
            yield Taking(now, notes)
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


def move(step: Step, subject: Article | Update) -> None:
    """Set the status the step leads to."""
    target = STEPS[step].target
    if target is not None:
        subject.status = target


def position(article: Article) -> Position:
    """Where the article, the draft of its update and the approved update stand."""
    newer = article.newer
    return Position(
        article.status,
        draft=newer.status if newer and newer.draft_id else None,
        update=Status.MANUALLY_APPROVED if newer and newer.approved_id else None,
    )


def position_at(article: Article, now: datetime) -> Position:
    """The same by the clock: approved and due is published, even if no worker has noted it yet."""
    found = position(article)
    return replace(found, article=Status.PUBLISHED) if article.is_waiting and article.is_out_at(now) else found


def open_steps(article: Article, now: datetime) -> list[Step]:
    """The steps that are possible with this article at `now`, in the order of the table; it is not changed."""
    kept = kept_steps(article)
    return [step for step in steps_from(position_at(article, now)) if step not in kept]


def refuse_impossible(step: Step, found: Position) -> None:
    """Raise `WrongState` unless an article that stands so can take the step."""
    if may_start(step, found):
        return
    status = found.of(STEPS[step].subject)
    if status is None:
        raise WrongState(_("“%(step)s” is not possible: there is no newer text.") % {"step": STEPS[step].label})
    raise WrongState(
        _("“%(step)s” is not possible: the article is “%(status)s”.")
        % {"step": STEPS[step].label, "status": Status(status).label}
    )


def _believe_the_clock(article: Article, now: datetime) -> None:
    """An approved article whose time has come is published, even if no worker has noted it yet."""
    if article.is_waiting and article.is_out_at(now):
        article.status, article.published_at = Status.PUBLISHED, article.goes_live_at
