"""Performing transitions: lock the article, authorise the actor, apply, record and commit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from inspect import getdoc
from typing import Any, TypeVar

from django.db import transaction
from django.db.models import F as Column, FilteredRelation, Model, Q
from django.utils.translation import gettext as _

from articles.audit import Actor as Actor, Notes, recorded
from articles.exceptions import ArticleGone, InvalidSchedule, RevisionMissing, WrongState
from articles.models import Article, Release, ReleaseMember, Update, status_at
from articles.permissions import require as require
from articles.publishing.by_clock import end_before_next_change, follow_clock, has_passed
from articles.publishing.dating import dated_by_commit
from articles.publishing.holds import Hold, held_transitions, refuse_held
from articles.publishing.store import store_article
from articles.workflow import TRANSITIONS, Input, Position, Subject, Transition, is_possible, transitions_from
from scheduling.database import database_now, lock_by_ids, read_database_clock

Status = Article.Status
F = TypeVar("F", bound=Callable[..., Any])

_FUNCTIONS: dict[Transition, Callable[..., Any]] = {}


def performs(transition: Transition) -> Callable[[F], F]:
    """Register a function as the one that performs `transition`."""

    def register(function: F) -> F:
        _FUNCTIONS[transition] = function
        return function

    return register


def perform(transition: Transition, article: Article, *, by: Actor, **given: Any) -> None:
    """Perform `transition` with those of the given arguments that it needs. Raises `ArticleError`."""
    needed = TRANSITIONS[transition].input
    if needed is Input.TIME and given.get("publish_at") is None:
        raise InvalidSchedule(_("Choose a publish time."))
    if needed is Input.REVISION and given.get("revision") is None:
        raise RevisionMissing
    arguments = {name: given[name] for name in needed.value if name in given}
    _FUNCTIONS[transition](article, by=by, **arguments)


def description_of(transition: Transition) -> str:
    """The first line of the docstring of the function that performs `transition`."""
    return (getdoc(_FUNCTIONS[transition]) or "").partition("\n")[0]


@dataclass(frozen=True)
class TransitionContext:
    """A transition in progress: the database's time, and the details for the audit entry."""

    now: datetime
    notes: Notes


@contextmanager
def transition(
    transition: Transition, article: Article, *, by: Actor, overriding: bool = False
) -> Iterator[TransitionContext]:
    """Lock and reload `article` and check that `by` may perform `transition`; save and commit when the block ends.

    When `overriding`, the permission is enough, whichever article it is. Unsaved changes of the instance are dropped.
    Raises `NotAllowed`, `ArticleGone`, `WrongState` or, for a member of a pending release, `BelongsToRelease`.
    """
    require(TRANSITIONS[transition].permission, by)
    with transaction.atomic(savepoint=False):
        lock(article)
        found = settle(article)
        now = found.now
        require(TRANSITIONS[transition].permission, by, None if overriding else article)
        if TRANSITIONS[transition].subject is Subject.ARTICLE:
            follow_clock(article, now)
        end_before_next_change(article, now)
        refuse_impossible(transition, position(article))
        # The lock on the article also keeps it from joining a release at this moment, as joining locks it, too.
        if found.hold is not None and found.hold.action == TRANSITIONS[transition].held_for:
            refuse_held(transition, [article.pk])
        # In this order: dating is registered first, so that it is done before the hook that invalidates pages, which
        # show the date.
        with dated_by_commit(article, now), recorded(transition, article, by=by) as notes:
            yield TransitionContext(now, notes)
            store_article(article, now=now)


def lock(article: Article) -> None:
    """Lock the row until the end of the transaction and load it. Raises `ArticleGone`."""
    try:
        article.refresh_from_db(from_queryset=lock_by_ids(Article, [article.pk]))
    except Article.DoesNotExist as error:
        raise ArticleGone from error
    # `Article(pk=...)` is enough to lock, and now stands for a stored row.
    article._state.adding = False


_SETTLERS: dict[type[Model], Callable[[Any], None]] = {}


def settles(model: type[Model]) -> Callable[[F], F]:
    """Register a function that stores an update (by its article) or a release (by its id) that readers have seen."""

    def register(function: F) -> F:
        _SETTLERS[model] = function
        return function

    return register


@dataclass(frozen=True, slots=True)
class Settled:
    """A locked article of which everything is stored that readers have seen at `now`, the database's time."""

    now: datetime
    hold: Hold | None


def settle(article: Article) -> Settled:
    """Store an update or a release that readers have seen by the clock before a locked article is changed."""
    found = _load_related(article)
    is_updated = settle_update(article, found.now)
    is_released = found.hold is not None and has_passed(found.hold.due_at, found.now)
    if found.hold is not None and is_released:
        _SETTLERS[Release](found.hold.release_id)
    if not (is_updated or is_released):
        return found
    lock(article)
    return _load_related(article)


def settle_update(article: Article, now: datetime) -> bool:
    """Store the update of a locked article if readers have seen it by the clock; whether they have."""
    update = article.pending_update
    if update is None or update.approved_id is None or not has_passed(update.publish_at, now):
        return False
    _SETTLERS[Update](article)
    return True


_UPDATE: Any = Article._meta.get_field("update")
_READ = ("pk", *(f"update__{field.name}" for field in Update._meta.concrete_fields))


def _load_related(article: Article) -> Settled:
    """The time, the update and the pending release of a locked article, in one statement.

    The time is read after the lock, for which this may have waited: one from before it would be older than what is
    stored. The update is that of the instance from now on.
    """
    hold = FilteredRelation("memberships", condition=Q(memberships__holds=True))
    rows = Article.objects.filter(pk=article.pk).select_related("update").only(*_READ)
    columns = {
        "held_by": Column("hold__release"),
        "held_for": Column("hold__action"),
        "release_status": Column("hold__release__status"),
        "release_time": Column("hold__release__publish_at"),
    }
    row: Any = rows.annotate(now=database_now(), hold=hold).annotate(**columns).first()
    if row is None:  # deleted, and about to be deleted once more
        _UPDATE.set_cached_value(article, None)
        return Settled(read_database_clock(), None)
    _UPDATE.set_cached_value(article, row.pending_update)
    if row.pending_update is not None:
        row.pending_update.article = article
    due_at = row.release_time if row.release_status == Release.Status.SCHEDULED else None
    held = Hold(row.held_by, ReleaseMember.Action(row.held_for), due_at) if row.held_by else None
    return Settled(row.now.replace(tzinfo=UTC), held)


def set_target_status(transition: Transition, subject: Article | Update) -> None:
    """Set the status that the transition leads to."""
    target = TRANSITIONS[transition].target
    if target is not None:
        subject.status = target


def position(article: Article) -> Position:
    """The statuses of the article, the draft of its update and its approved update."""
    pending_update = article.pending_update
    return Position(
        article.status,
        draft=pending_update.status if pending_update and pending_update.draft_id else None,
        update=Status.MANUALLY_APPROVED if pending_update and pending_update.approved_id else None,
    )


def position_at(article: Article, now: datetime) -> Position:
    """The same by the clock, even if no worker has stored it yet."""
    return replace(position(article), article=status_at(article, now))


def possible_transitions(article: Article, now: datetime) -> list[Transition]:
    """The transitions possible for this article at `now`, in the order of the table; it is not changed."""
    held = held_transitions(article)
    return [transition for transition in transitions_from(position_at(article, now)) if transition not in held]


def refuse_impossible(transition: Transition, found: Position) -> None:
    """Raise `WrongState` unless an article in this position can take the transition."""
    if is_possible(transition, found):
        return
    status = found.of(TRANSITIONS[transition].subject)
    if status is None:
        raise WrongState(
            _("“%(transition)s” is not possible: there is no pending update.")
            % {"transition": TRANSITIONS[transition].label}
        )
    raise WrongState(
        _("“%(transition)s” is not possible: the article is “%(status)s”.")
        % {"transition": TRANSITIONS[transition].label, "status": Status(status).label}
    )
