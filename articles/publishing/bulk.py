"""Taking a step with hundreds of articles: a chunk at a time, each refusal noted, and all of it undone if wanted.

A chunk is one transaction. Whoever comes by works on the next one: the open page, or a worker once the person has left;
the row lock on the batch keeps them apart.
"""

from __future__ import annotations

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

from articles.audit import Door, Person, Standing, door, require
from articles.exceptions import ArticleError, TooMany, WrongState
from articles.models import Article, Batch, BatchItem
from articles.notifications import speaking_to
from articles.publishing.publish import publish_now, restore, withdraw
from articles.publishing.schedules import cancel_schedule, checked_time, move_many, refuse_past, schedule
from articles.publishing.submissions import approve, submit
from articles.publishing.transitions import lock
from articles.publishing.undo import UNDOABLE, latest_entry, put_back
from articles.task_types import BATCH
from articles.workflow import STEPS, Step
from scheduling.services import add_task, lock_by_ids, read_database_clock, retried

MOST = 5_000  # articles in a batch
CHUNK = 20  # articles in one transaction: a worker that wants one of them waits a fraction of a second at most
PAUSE = 0.02  # seconds between two chunks: the open page may be at one, and others may want the articles
SHARE = 10.0  # seconds a worker goes on with one batch before others have their turn

State = BatchItem.State
_TIMES = ("publish_at", "embargo_until", "unpublish_at")


@retried
def gather_articles(step: Step, articles: Sequence[tuple[int, str]], *, by: Person) -> Batch:
    """Note with which articles, given as id and headline, `by` wants to take `step`; nothing is done with them yet.

    Raises `NotAllowed`, and `TooMany` above `MOST`.
    """
    require(STEPS[step].permission, by)
    if len(articles) > MOST:
        raise TooMany(_("Choose at most %d articles at once.") % MOST)
    now = read_database_clock()
    Batch.objects.filter(pk__in=list(Batch.objects.outdated(now).values_list("pk", flat=True))).delete()
    batch = Batch.objects.create(person_id=_id_of(by), step=step, created_at=now)
    shown = _shown([pk for pk, _title in articles]) if step == Step.APPROVE else {}
    items = [BatchItem(batch=batch, article_id=pk, title=title, revision=shown.get(pk)) for pk, title in articles]
    _fill(batch, items)
    return batch


def _shown(ids: Collection[int]) -> dict[int, int]:
    """The revision under review of each article, by which it is shown before it is approved."""
    articles = Article.objects.filter(pk__in=ids)
    return dict(articles.values_list("pk", Coalesce("update__draft__number", "revision")))


@retried
def start_bulk_action(batch: Batch, *, publish_at: datetime | None = None, minutes: int = 0) -> None:
    """Have a gathered batch done, at this time or moved by this many minutes if the step needs that.

    Raises `InvalidSchedule` for a time that cannot be. A batch that was started already goes on as it is.
    """
    parameters = {"publish_at": checked_time(publish_at).isoformat()} if publish_at else {"minutes": minutes}
    now, language = read_database_clock(), translation.get_language() or ""
    if publish_at:
        refuse_past(publish_at, now, by=batch.person)
    waiting = Batch.objects.filter(pk=batch.pk, started_at__isnull=True)
    if waiting.update(started_at=now, parameters=parameters, language=language):
        _hand_to_worker(batch.pk, after=0)


@retried
def undo_bulk_action(batch: Batch, *, by: Person) -> Batch:
    """Begin to put back what a finished batch did; the same again if that has begun already.

    Raises `WrongState` when it is too late, or the step is none that can be put back.
    """
    batch = lock_by_ids(Batch, [batch.pk]).get()
    if (begun := Batch.objects.filter(undoes=batch).first()) is not None:
        return begun
    now = read_database_clock()
    if not may_be_undone(batch, now):
        raise WrongState(_("This can no longer be undone here."))
    undoing = Batch.objects.create(person_id=_id_of(by), step=batch.step, created_at=now, undoes=batch)
    done = batch.items.filter(state=State.DONE).values_list("article_id", "title", "before", "entry")
    _fill(
        undoing,
        [
            BatchItem(batch=undoing, article_id=pk, title=title, before=before, entry=entry)
            for pk, title, before, entry in done
        ],
    )
    start_bulk_action(undoing)
    return undoing


def may_be_undone(batch: Batch, now: datetime) -> bool:
    """Whether there is something to undo, and still time."""
    return (
        batch.finished_at is not None
        and not batch.is_undo
        and Step(batch.step) in UNDOABLE
        and now <= batch.finished_at + Batch.UNDO_WITHIN
        and batch.items.filter(state=State.DONE).exists()
    )


@retried
def advance_bulk_action(batch_id: int) -> bool:
    """Work on the next chunk; True if there may be more. Does nothing if somebody else is at it."""
    batch = lock_by_ids(Batch, [batch_id], skip_locked=True).first()
    if batch is None:
        return Batch.objects.filter(pk=batch_id, finished_at__isnull=True).exists()
    if batch.started_at is None or batch.finished_at is not None:
        return False
    items = list(batch.items.filter(state=State.PENDING).order_by("article_id")[:CHUNK])
    with speaking_to(batch.person), translation.override(batch.language), door(Door.ADMIN, by=batch.person):
        for item in items:
            _do(batch, item)
    BatchItem.objects.bulk_update(items, ["state", "reason", "before", "entry"])
    if len(items) < CHUNK:
        Batch.objects.filter(pk=batch.pk).update(finished_at=read_database_clock())
    return len(items) == CHUNK


def carry_on(batch_id: int) -> None:
    """A worker's share of a batch; what is left then is another task."""
    end = time.monotonic() + SHARE
    while advance_bulk_action(batch_id):
        if time.monotonic() > end:
            handled = BatchItem.objects.filter(batch=batch_id).exclude(state=State.PENDING).count()
            return _hand_to_worker(batch_id, after=handled)
        time.sleep(PAUSE)


def _id_of(person: Person) -> Any:
    return person.pk


def _fill(batch: Batch, items: list[BatchItem]) -> None:
    BatchItem.objects.bulk_create(items, batch_size=500)


def _hand_to_worker(batch_id: int, *, after: int) -> None:
    """A task for the rest; `after` so many articles, which makes its key one of its own."""
    add_task(BATCH, execute_time=read_database_clock(), parameters={"batch_id": batch_id}, key=f"{batch_id}:{after}")


def _do(batch: Batch, item: BatchItem) -> None:
    """Take the step with one article, or note why not, and leave no trace of the attempt."""
    article = Article(pk=item.article_id)
    try:
        with transaction.atomic():
            lock(article)
            before = Standing.of(article)
            _ACTS["undo" if batch.is_undo else batch.step](article, batch, item)
    except ArticleError as refusal:
        item.state, item.reason = State.REFUSED, str(refusal)[:500]
        return
    item.state = State.DONE
    if not batch.is_undo:
        item.before, item.entry = _as_json(before), latest_entry(article.pk)


def _schedule(article: Article, batch: Batch, item: BatchItem) -> None:
    publish_at = parse_datetime(batch.parameters["publish_at"])
    assert publish_at is not None  # noqa: S101 (`start` has written it)
    schedule(article, publish_at=publish_at, by=batch.person)


def _move(article: Article, batch: Batch, item: BatchItem) -> None:
    move_many([article], shift=timedelta(minutes=batch.parameters["minutes"]), by=batch.person)


def _approve(article: Article, batch: Batch, item: BatchItem) -> None:
    approve(article, by=batch.person, revision=item.revision or 0)


def _put_back(article: Article, batch: Batch, item: BatchItem) -> None:
    before = _from_json(item.before)
    put_back(article, step=Step(batch.step), before=before, entry=item.entry or 0, by=batch.person)


def _simple(service: Callable[..., None]) -> Callable[[Article, Batch, BatchItem], None]:
    return lambda article, batch, item: service(article, by=batch.person)


_ACTS: Mapping[str, Callable[[Article, Batch, BatchItem], None]] = {
    Step.SUBMIT: _simple(submit),
    Step.APPROVE: _approve,
    Step.SCHEDULE: _schedule,
    Step.MOVE: _move,
    Step.CANCEL_SCHEDULE: _simple(cancel_schedule),
    Step.PUBLISH_NOW: _simple(publish_now),
    Step.WITHDRAW: _simple(withdraw),
    Step.RESTORE: _simple(restore),
    "undo": _put_back,
}


def _as_json(standing: Standing) -> dict[str, Any]:
    values = asdict(standing)
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in values.items()}


def _from_json(values: Mapping[str, Any]) -> Standing:
    times = {name: values[name] and parse_datetime(values[name]) for name in _TIMES}
    return Standing(**{**values, **times})
