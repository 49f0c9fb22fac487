"""Updates of articles: their time, and going live."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import cast

from django.db import connection
from django.db.models import Case, DateTimeField, F, OuterRef, Subquery, Value, When

from articles.audit import (
    Action,
    record_due,
)
from articles.events import ArticlesPublished, DueRecorded, emit
from articles.images import update_uses
from articles.models import Article, Correction, Revision, Text, Update
from articles.publishing.by_clock import BY_CLOCK
from articles.publishing.publish import BatchResult, sort_missing
from articles.publishing.resolve import tag_all
from articles.publishing.revisions import adopt, is_seen, keep_or_drop, pin_all, renumber
from articles.publishing.schedules import refuse_past
from articles.publishing.store import checked_time, store_update
from articles.publishing.transitions import Actor, performs, settles, transition
from articles.search import index
from articles.task_types import UPDATE
from articles.workflow import Transition
from scheduling.database import database_now, delete_by_ids, lock_by_ids, read_database_clock, retried
from scheduling.services import execute_keys

_TURN = 0.25  # seconds to wait for locked articles while holding no others


@performs(Transition.SCHEDULE_UPDATE)
@retried
def schedule_update(article: Article, *, publish_at: datetime, by: Actor, at_once: bool = True) -> None:
    """Have the update, once it is approved, go live at `publish_at`.

    A past time means at once, see `refuse_past`. Raises `InvalidSchedule` for a time without a zone or one no database
    stores.
    """
    moment = checked_time(publish_at)
    with transition(Transition.SCHEDULE_UPDATE, article, by=by) as context:
        refuse_past(moment, context.now, by=by, at_once=at_once)
        context.notes.details["update_at"] = moment.isoformat()
        _set_time(article, moment)


@performs(Transition.UNSCHEDULE_UPDATE)
@retried
def unschedule_update(article: Article, *, by: Actor) -> None:
    """Remove the update's time; an approved update stays approved."""
    with transition(Transition.UNSCHEDULE_UPDATE, article, by=by):
        _set_time(article, None)


@performs(Transition.PUBLISH_UPDATE)
@retried
def publish_update(article: Article, *, by: Actor) -> None:
    """Publish the approved update at this instant."""
    with transition(Transition.PUBLISH_UPDATE, article, by=by) as context:
        context.notes.revision = adopt(article.update, at=context.now).number
        emit(ArticlesPublished([article.pk]))


@performs(Transition.DISCARD_UPDATE)
@retried
def discard_update(article: Article, *, by: Actor) -> None:
    """Discard the draft of an update or, without one, its approved text; the revisions stay in the history."""
    with transition(Transition.DISCARD_UPDATE, article, by=by):
        update = article.update
        if update.draft is not None:
            update.draft, update.status, update.status_reason = None, Article.Status.DRAFT, ""
        else:
            update.approved = update.publish_at = None
        keep_or_drop(update)


_busy: set[int] = set()
"""The articles that were locked when this process last tried them; only a hint."""


def update_due(article_ids: Collection[int]) -> BatchResult:
    """Publish the updates that are due, in the caller's transaction.

    A few statements for any number. Does not wait for locked articles, except briefly, before locking any others, for
    those that were locked the last time: editors who take turns must not delay an update for ever.
    """
    # Before any other lock, so that waiting here holds up no one.
    if again := _busy.intersection(article_ids):
        _busy.difference_update(again)
        wait_for_rows(again)
    now = read_database_clock()
    outcome = BatchResult()
    locked = {article.pk: article for article in lock_by_ids(Article, article_ids, skip_locked=True)}
    waiting = Update.objects.filter(article__in=locked, approved__isnull=False, publish_at__isnull=False)
    updates = {update.article_id: update for update in waiting.select_related("approved")}
    due = [update for update in updates.values() if update.publish_at and update.publish_at <= now]
    outcome.done = {update.article_id for update in due}
    outcome.early = sorted(updates.keys() - outcome.done)
    outcome.invalid = dict.fromkeys(locked.keys() - updates.keys(), "no approved update waits")
    sort_missing(set(article_ids) - locked.keys(), outcome)
    _busy.update(outcome.busy)
    if due:
        _store_updated(due, {pk: locked[pk] for pk in outcome.done})
    return outcome


def _store_updated(due: Sequence[Update], articles: Mapping[int, Article]) -> None:
    """Store that these locked articles have the texts that readers have seen since their instants."""
    ids = [*articles]
    record_due(Action.UPDATED, ids)
    adopt_all(due, articles, {update.article_id: update.due_since for update in due})
    index(ids)
    update_uses(ids)
    emit(DueRecorded(Action.UPDATED, ids))
    emit(ArticlesPublished(ids))


@settles(Update)
def store_seen_update(article: Article) -> None:
    """Store the update of a locked article that readers have seen by the clock, and close its task."""
    _store_updated([article.update], {article.pk: article})
    execute_keys(UPDATE, [str(article.pk)], worker=BY_CLOCK)


def adopt_all(due: Sequence[Update], articles: Mapping[int, Article], times: Mapping[int, datetime]) -> None:
    """As `adopt` for many locked articles, each since its time.

    Not by `save()`, whose receivers would cancel the tasks that are running.
    """
    pin_all(list(articles.values()))
    texts = {update.article_id: cast(Revision, update.approved) for update in due}
    pending_update = Update.objects.filter(article=OuterRef("pk"))
    columns = {name: Subquery(pending_update.values(f"approved__{name}")) for name in (*Text.COLUMNS, "number")}
    columns["revision"] = columns.pop("number")
    # An update that only changes what readers do not notice, such as a slug, leaves their time of last change alone.
    seen = [pk for pk, revision in texts.items() if is_seen(articles[pk], Text.of(articles[pk]), revision)]
    whens = [When(pk=pk, then=Value(times[pk])) for pk in seen]
    stamp = Case(*whens, default=F("text_changed_at"), output_field=DateTimeField())
    Article.objects.filter(pk__in=texts).update(**columns, text_changed_at=stamp, updated_at=database_now())
    tag_all({pk: revision.tags for pk, revision in texts.items()})
    corrected = [revision for revision in texts.values() if revision.correction]
    Correction.objects.bulk_create(
        Correction(article_id=one.article_id, revision=one, note=one.correction, published_at=times[one.article_id])
        for one in corrected
    )
    done = Update.objects.filter(article__in=texts)
    done.filter(draft__isnull=False).update(approved=None, publish_at=None, updated_at=database_now())
    delete_by_ids(Update, done.filter(draft__isnull=True).values_list("pk", flat=True))
    for pk, revision in texts.items():
        articles[pk].title, articles[pk].revision = revision.title, revision.number


def _set_time(article: Article, moment: datetime | None) -> None:
    article.update.publish_at = moment
    store_update(article.update)
    renumber(article)


def wait_for_rows(article_ids: Collection[int]) -> bool:
    """Lock these articles, for about `_TURN` at most; False if it took longer. SQLite has no row locks.

    A fair queue: editors who take turns with an article cannot starve a worker.
    """
    lock_within = getattr(connection, "lock_within", None)
    if lock_within is None:
        return True
    select, parameters = lock_by_ids(Article, article_ids).values_list("pk").query.sql_with_params()
    return bool(lock_within(_TURN, select, parameters))
