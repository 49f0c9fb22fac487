"""Bulk actions: one transition applied to hundreds of articles, in chunks, with undo.

A chunk is one transaction. The open page or a worker runs the next one; the row lock on the bulk action keeps them
apart. Refused articles, and those whose change fails, are stored with the reason.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models.functions import Coalesce
from django.utils import translation
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _

from articles.audit import Actor, Source, StateSnapshot, present_source, source
from articles.exceptions import ArticleError, ArticleGone, InvalidSchedule, TooMany, WrongState
from articles.limits import MOST_BULK
from articles.models import Article, BulkAction, BulkActionItem, ReviewStage, stage_under_review
from articles.notifications import speaking_to
from articles.permissions import require
from articles.publishing.by_clock import follow_clock
from articles.publishing.schedules import refuse_past, reschedule_many, schedule_many
from articles.publishing.store import checked_time
from articles.publishing.transitions import lock, perform, settle
from articles.publishing.undo import latest_entries, undo_transition
from articles.task_types import BULK_ACTION
from articles.workflow import TRANSITIONS, Input, Subject, Transition
from scheduling.database import lock_by_ids, read_database_clock, retried, trouble_of, update_by_ids
from scheduling.services import add_task

logger = logging.getLogger(__name__)

CHUNK = 20  # articles in one transaction: a worker that needs one of them waits a fraction of a second at most
LARGE_CHUNK = 200  # the same for transitions that a few statements perform for all
PAUSE = 0.02  # seconds between two chunks, in which others can lock the articles
SHARE = 10.0  # seconds a worker spends on one bulk action before other tasks have their turn

State = BulkActionItem.State
_SOURCE = "source"  # among the parameters of bulk actions by program
_TIMES = ("publish_at", "embargo_until", "unpublish_at")


@retried
def gather_articles(
    transition: Transition,
    articles: Sequence[tuple[int, str]],
    *,
    by: Actor,
    revisions: Mapping[str, int] | None = None,
) -> BulkAction:
    """Store a bulk action for these articles, given as id and headline, without starting it.

    An approval is of the `revisions` that were read, by id; left out, of those under review now, which are shown before
    it starts. Articles that do not exist are refused at once. Raises `NotAllowed`, and `TooMany` above `MOST_BULK`.
    """
    require(TRANSITIONS[transition].permission, by)
    if len(articles) > MOST_BULK:
        raise TooMany(_("Choose at most %d articles at once.") % MOST_BULK)
    now = read_database_clock()
    BulkAction.objects.filter(pk__in=list(BulkAction.objects.outdated(now).values_list("pk", flat=True))).delete()
    bulk_action = BulkAction.objects.create(user_id=_id_of(by), transition=transition, created_at=now)
    # Noted now, not when a worker comes to it: an approval is of what was on the screen.
    shown = _shown([pk for pk, _title in articles]) if TRANSITIONS[transition].input is Input.REVISION else {}
    if revisions is not None:
        shown = {pk: {**values, "revision": revisions[str(pk)]} for pk, values in shown.items()}
    present = set(Article.objects.filter(pk__in=[pk for pk, _title in articles]).values_list("pk", flat=True))
    gone = {"state": State.REFUSED, "reason": str(ArticleGone.message)}
    items = [
        BulkActionItem(
            bulk_action=bulk_action, article_id=pk, title=title, **shown.get(pk, {}), **({} if pk in present else gone)
        )
        for pk, title in articles
    ]
    _fill(bulk_action, items)
    return bulk_action


def _shown(ids: Collection[int]) -> dict[int, dict[str, Any]]:
    """The revision under review of each article, which is shown before it is approved, and its review stage."""
    number, stage = Coalesce("update__draft__number", "revision"), stage_under_review(ReviewStage.in_order())
    articles = Article.objects.filter(pk__in=ids).values_list("pk", number, stage)
    return {pk: {"revision": revision, "stage": stage} for pk, revision, stage in articles}


@retried
def start_bulk_action(bulk_action: BulkAction, *, publish_at: datetime | None = None, minutes: int = 0) -> None:
    """Start a bulk action, with the time or the minutes that its transition needs.

    Raises `InvalidSchedule` for an invalid or missing time. One that was started already is not changed.
    """
    rule = TRANSITIONS[Transition(bulk_action.transition)]
    if rule.input is Input.TIME and publish_at is None and not bulk_action.is_undo:
        raise InvalidSchedule(_("Enter a date and a time, such as 2026-11-21 07:00."))
    parameters: dict[str, Any] = {"minutes": minutes}
    if publish_at:
        parameters = {"publish_at": checked_time(publish_at).isoformat()}
    if present_source() is Source.API:
        parameters[_SOURCE] = Source.API.value
    now, language = read_database_clock(), translation.get_language() or ""
    if publish_at:
        refuse_past(publish_at, now, by=bulk_action.user)
    waiting = BulkAction.objects.filter(pk=bulk_action.pk, started_at__isnull=True)
    # The condition and the row count decide which of two requests starts it, so it gets one task.
    if waiting.update(started_at=now, parameters=parameters, language=language):
        _add_task(bulk_action.pk, after=0)


@retried
def undo_bulk_action(bulk_action: BulkAction, *, by: Actor) -> BulkAction:
    """Start to undo a finished bulk action; returns the running undo if there is one.

    Raises `WrongState` when it is too late, or the transition is not undoable.
    """
    # Two requests to undo: the second one waits here, and finds the undo of the first.
    bulk_action = lock_by_ids(BulkAction, [bulk_action.pk]).get()
    if (begun := BulkAction.objects.filter(undoes=bulk_action).first()) is not None:
        return begun
    now = read_database_clock()
    if not may_be_undone(bulk_action, now):
        raise WrongState(_("This can no longer be undone here."))
    undoing = BulkAction.objects.create(
        user_id=_id_of(by), transition=bulk_action.transition, created_at=now, undoes=bulk_action
    )
    done = bulk_action.items.filter(state=State.DONE).values_list("article_id", "title", "before", "entry")
    _fill(
        undoing,
        [
            BulkActionItem(bulk_action=undoing, article_id=pk, title=title, before=before, entry=entry)
            for pk, title, before, entry in done
        ],
    )
    start_bulk_action(undoing)
    return undoing


def may_be_undone(bulk_action: BulkAction, now: datetime) -> bool:
    """Whether there is something to undo, and still time to."""
    return (
        bulk_action.finished_at is not None
        and not bulk_action.is_undo
        and TRANSITIONS[Transition(bulk_action.transition)].is_undoable
        and now <= bulk_action.finished_at + BulkAction.UNDO_WITHIN
        and bulk_action.items.filter(state=State.DONE).exists()
    )


@retried
def advance_bulk_action(bulk_action_id: int) -> bool:
    """Run the next chunk; True if there may be more. Does nothing while another process runs one."""
    # The page and a worker both advance it: who comes second leaves this chunk to the other.
    bulk_action = lock_by_ids(BulkAction, [bulk_action_id], skip_locked=True).first()
    if bulk_action is None:
        return BulkAction.objects.filter(pk=bulk_action_id, finished_at__isnull=True).exists()
    if bulk_action.started_at is None or bulk_action.finished_at is not None:
        return False
    pending = bulk_action.items.filter(state=State.PENDING).order_by("article_id")
    items = list(pending[: max(CHUNK, LARGE_CHUNK) + 1])  # one more shows whether there is more
    with (
        speaking_to(bulk_action.user),
        translation.override(bulk_action.language),
        source(Source(bulk_action.parameters.get(_SOURCE, Source.ADMIN)), by=bulk_action.user),
    ):
        handled = _do_some(bulk_action, items)
    results = ((item.pk, item.state, item.reason, item.before, item.entry) for item in handled)
    update_by_ids(BulkActionItem, ["state", "reason", "before", "entry"], results)
    if len(handled) == len(items):
        BulkAction.objects.filter(pk=bulk_action.pk).update(finished_at=read_database_clock())
    return len(handled) < len(items)


def run_bulk_action(bulk_action_id: int) -> None:
    """Run a bulk action in a worker for at most `SHARE`; another task does the rest."""
    end = time.monotonic() + SHARE
    while advance_bulk_action(bulk_action_id):
        if time.monotonic() > end:
            handled = BulkActionItem.objects.filter(bulk_action=bulk_action_id).exclude(state=State.PENDING).count()
            return _add_task(bulk_action_id, after=handled)
        # In which editors and publishing get the articles that they wait for.
        time.sleep(PAUSE)


def _id_of(user: Actor) -> Any:
    return user.pk


def _fill(bulk_action: BulkAction, items: list[BulkActionItem]) -> None:
    BulkActionItem.objects.bulk_create(items, batch_size=500)


def _add_task(bulk_action_id: int, *, after: int) -> None:
    """Add a task for the rest; `after` so many articles, which makes its key unique."""
    add_task(
        BULK_ACTION,
        execute_time=read_database_clock(),
        parameters={"bulk_action_id": bulk_action_id},
        key=f"{bulk_action_id}:{after}",
    )


def _do_some(bulk_action: BulkAction, items: Sequence[BulkActionItem]) -> Sequence[BulkActionItem]:
    """Apply the transition to the first of these articles; returns their items."""
    if (
        bulk_action.transition in _TOGETHER
        and not bulk_action.is_undo
        and _do_together(bulk_action, items[:LARGE_CHUNK])
    ):
        return items[:LARGE_CHUNK]
    for item in items[:CHUNK]:
        _do(bulk_action, item)
    return items[:CHUNK]


def _do_together(bulk_action: BulkAction, items: Sequence[BulkActionItem]) -> bool:
    """Apply the transition to all in a few statements; False, and nothing is changed, if one is refused or fails."""
    ids = [item.article_id for item in items]
    try:
        with transaction.atomic():
            # A savepoint: one refusal undoes these, and the articles are then handled one by one, each with its reason.
            found = list(lock_by_ids(Article, ids).only(*StateSnapshot.COLUMNS))
            before = {article.pk: StateSnapshot.of(article) for article in found}
            if _TOGETHER[bulk_action.transition](found, by=bulk_action.user, **_given(bulk_action)) < len(items):
                raise ArticleError
    except ArticleError:
        return False
    except Exception as error:
        if trouble_of(error):
            raise
        logger.exception("bulk action %s: %d articles together", bulk_action.pk, len(items))
        return False
    entries = latest_entries(ids)
    for item in items:
        item.state, item.before = State.DONE, _as_json(before[item.article_id])
        item.entry = entries[item.article_id]
    return True


def _reschedule_together(articles: Collection[Article], *, minutes: int, by: Actor) -> int:
    return reschedule_many(articles, shift=timedelta(minutes=minutes), by=by)


_TOGETHER: Mapping[str, Callable[..., int]] = {
    Transition.SCHEDULE: schedule_many,
    Transition.RESCHEDULE: _reschedule_together,
}


def _do(bulk_action: BulkAction, item: BulkActionItem) -> None:
    """Apply the transition to one article, or store why it was refused."""
    article = Article(pk=item.article_id)
    try:
        with transaction.atomic():
            lock(article)
            now = settle(article).now
            if TRANSITIONS[Transition(bulk_action.transition)].subject is Subject.ARTICLE and not bulk_action.is_undo:
                # Not for an undo, which goes back to what readers saw.
                follow_clock(article, now)
            before = StateSnapshot.of(article)
            apply = _undo if bulk_action.is_undo else _perform
            apply(article, bulk_action, item)
    except ArticleError as refusal:
        item.state, item.reason = State.REFUSED, str(refusal)[:500]
        return
    # Of this article alone; the others go on. Trouble of the database is raised, since it would refuse all.
    except Exception as error:
        if trouble_of(error):
            raise
        logger.exception("bulk action %s: article %s", bulk_action.pk, article.pk)
        reason = _("An unexpected error. Ask an administrator to look it up in the server's log.")
        item.state, item.reason = State.REFUSED, reason
        return
    item.state = State.DONE
    if not bulk_action.is_undo:
        item.before, item.entry = _as_json(before), latest_entries([article.pk]).get(article.pk)


def _perform(article: Article, bulk_action: BulkAction, item: BulkActionItem) -> None:
    given = {**_given(bulk_action), "revision": item.revision or 0, "stage": item.stage}
    perform(Transition(bulk_action.transition), article, by=bulk_action.user, **given)


def _given(bulk_action: BulkAction) -> dict[str, Any]:
    """The time or the minutes."""
    given = {name: value for name, value in bulk_action.parameters.items() if name != _SOURCE}
    if given.get("publish_at"):
        given["publish_at"] = parse_datetime(given["publish_at"])
    return given


def _undo(article: Article, bulk_action: BulkAction, item: BulkActionItem) -> None:
    before = _from_json(item.before)
    undo_transition(
        article,
        transition=Transition(bulk_action.transition),
        before=before,
        entry=item.entry or 0,
        by=bulk_action.user,
    )


def _as_json(state: StateSnapshot) -> dict[str, Any]:
    values = asdict(state)
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in values.items()}


def _from_json(values: Mapping[str, Any]) -> StateSnapshot:
    times = {name: values[name] and parse_datetime(values[name]) for name in _TIMES}
    return StateSnapshot(**{**values, **times})
