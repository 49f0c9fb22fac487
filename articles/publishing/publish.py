"""Publishing, unpublishing and retracting articles: on request, and in bulk when they are due."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import BooleanField, ExpressionWrapper, Q, QuerySet
from django.utils.translation import gettext as _

from articles.events import ArticlesPublished, ArticlesUnpublished, emit
from articles.exceptions import ChangeGone, InvalidSchedule, RetractionNoticeMissing
from articles.models import Article, ProposedChange, due_at, over_at
from articles.publishing.by_clock import SEEN, store_passed, store_published, store_unpublished
from articles.publishing.edits import write_author
from articles.publishing.revisions import date_corrections, drop_update
from articles.publishing.schedules import refuse_embargo
from articles.publishing.store import store_article
from articles.publishing.transitions import Actor, performs, set_target_status, transition
from articles.review import applies, discard_changes, needs_second_person, propose, refuse_sensitive
from articles.workflow import Transition
from scheduling.database import compiled_for, database_now, lock_by_ids, retried

Status = Article.Status
RETRACTION_NOTICE_LENGTH = 500


@performs(Transition.PUBLISH_NOW)
@retried
def publish_now(article: Article, *, by: Actor) -> None:
    """Publish an approved article at this instant.

    Raises `UnderEmbargo`, and `InvalidSchedule` if its time to be unpublished is past.
    """
    with transition(Transition.PUBLISH_NOW, article, by=by) as context:
        refuse_embargo(article, context.now)
        if article.unpublish_at and article.unpublish_at <= context.now:
            raise InvalidSchedule(_("The article’s time to be unpublished is past; change that first."))
        set_target_status(Transition.PUBLISH_NOW, article)
        article.publish_at = article.published_at = article.text_changed_at = context.now
        emit(ArticlesPublished([article.pk]))


@performs(Transition.UNPUBLISH)
@retried
def unpublish(article: Article, *, by: Actor) -> None:
    """Unpublish an article: readers cannot see it from now on."""
    with transition(Transition.UNPUBLISH, article, by=by):
        set_target_status(Transition.UNPUBLISH, article)
        emit(ArticlesUnpublished([article.pk]))


@performs(Transition.REPUBLISH)
@retried
def republish(article: Article, *, by: Actor) -> None:
    """Publish an unpublished article again, with its old date; a past time to be unpublished is cleared.

    So is an embargo that was set after it went live and has ended.
    """
    with transition(Transition.REPUBLISH, article, by=by) as context:
        now = context.now
        refuse_embargo(article, now)
        set_target_status(Transition.REPUBLISH, article)
        if article.unpublish_at and article.unpublish_at <= now:
            article.unpublish_at = None
        if article.published_at and article.embargo_until and article.embargo_until > article.published_at:
            article.embargo_until = None  # it has ended, and readers had the article before it
        if article.publish_at is None or article.publish_at > now:
            article.publish_at = now
        if article.published_at is None:  # readers never saw it
            article.published_at = article.cleared_at = now
        date_corrections(article, at=now)
        emit(ArticlesPublished([article.pk]))


@performs(Transition.RETRACT)
@retried
def retract(article: Article, *, by: Actor, notice: str) -> None:
    """Retract an article: it loses its schedule and its update, and readers see `notice` instead.

    Under the two-person rule readers see a standard text until another person has approved the notice. Its revisions
    stay, and the audit log names those of the update. Raises `RetractionNoticeMissing` without a notice, and
    `SensitiveText`.
    """
    if not notice.strip():
        raise RetractionNoticeMissing
    refuse_sensitive(notice)
    with transition(Transition.RETRACT, article, by=by) as context:
        was_live = article.status == Status.PUBLISHED
        set_target_status(Transition.RETRACT, article)
        values = {"retraction_notice": notice.strip()[:RETRACTION_NOTICE_LENGTH]}
        if needs_second_person():
            article.retraction_notice = ""
            propose(article, values, name=article.title, by=by)
            context.notes.details["values"] = values
        else:
            article.retraction_notice = context.notes.details["notice"] = values["retraction_notice"]
        article.publish_at = article.publish_at if article.published_at else None
        context.notes.details |= _discarded(article)
        drop_update(article)
        if was_live:
            emit(ArticlesUnpublished([article.pk]))


def _discarded(article: Article) -> dict[str, Any]:
    """The details of the audit entry about an update that is dropped."""
    pending_update = article.pending_update
    if pending_update is None:
        return {}
    numbers = [revision.number for revision in (pending_update.approved, pending_update.draft) if revision]
    planned = {"update_at": pending_update.publish_at.isoformat()} if pending_update.publish_at else {}
    return {"discarded": numbers, **planned}


@performs(Transition.UNDO_RETRACTION)
@retried
def undo_retraction(article: Article, *, by: Actor) -> None:
    """Undo a retraction: the article is unpublished then, and can be republished."""
    with transition(Transition.UNDO_RETRACTION, article, by=by):
        set_target_status(Transition.UNDO_RETRACTION, article)
        article.retraction_notice = ""
        discard_changes(article)


@applies(ProposedChange.Subject.ARTICLE, Article)
def _apply(article: Article, values: Mapping[str, Any], by: Actor) -> None:
    """Show an approved retraction notice, unless the retraction was undone; or another author."""
    if "retraction_notice" in values and article.status != Status.RETRACTED:
        raise ChangeGone
    author_id = values.get("author_id")
    if author_id is not None and not get_user_model()._default_manager.filter(pk=author_id).exists():
        raise ChangeGone
    if "author_id" in values:
        write_author(article, values["author_id"], by=by)
    if "retraction_notice" in values:
        article.retraction_notice = values["retraction_notice"]
        store_article(article)


@dataclass
class BatchResult:
    """The results of a task for several articles, by their ids."""

    done: set[int] = field(default_factory=set)
    early: list[int] = field(default_factory=list)  #: in the right status, but its time has not come
    invalid: dict[int, str] = field(default_factory=dict)  #: nothing to do, and why
    busy: set[int] = field(default_factory=set)  #: locked by another transaction


def publish_due(article_ids: Collection[int]) -> BatchResult:
    """Publish those of these articles whose time has come, in the caller's transaction.

    A few statements for any number, audit entries and notifications included. Never waits for an article
    that another transaction holds.
    """
    outcome = _take(article_ids, Status.waiting(), _free_to_publish)
    if outcome.early:
        _drop_over(outcome)
    if outcome.done:
        store_published(outcome.done)
    return outcome


def _drop_over(outcome: BatchResult) -> None:
    """Drop those that were approved after their end: their tasks would be made again at once, until that is stored."""
    over = set(Article.objects.filter(over_at(database_now()), pk__in=outcome.early).values_list("pk", flat=True))
    outcome.early = [pk for pk in outcome.early if pk not in over]
    outcome.invalid |= dict.fromkeys(over, "the article's time to be unpublished is past")


def prepare_to_publish() -> None:
    """Compile the statements of `publish_due`."""
    compiled_for(_free_to_publish, ())
    store_published(())


def _free_to_publish(ids: Collection[int]) -> QuerySet[Article, Any]:
    return _free(ids, due_at(database_now()) & SEEN)


def unpublish_due(article_ids: Collection[int]) -> BatchResult:
    """Unpublish those of these articles that are due; otherwise as `publish_due`."""
    outcome = _take(article_ids, Status.visible(), _free_to_unpublish)
    if outcome.done:
        store_passed(outcome.done)
        store_unpublished(outcome.done)
    return outcome


def _free_to_unpublish(ids: Collection[int]) -> QuerySet[Article, Any]:
    return _free(ids, over_at(database_now()))


def _free(ids: Collection[int], condition: Q) -> QuerySet[Article, Any]:
    """Lock those that no other transaction holds: id, status, and whether they are due."""
    is_due = ExpressionWrapper(condition, output_field=BooleanField())
    return lock_by_ids(Article, ids, skip_locked=True).values_list("pk", "status", is_due)


def _take(
    article_ids: Collection[int], statuses: Collection[Status], free: Callable[..., QuerySet[Article, Any]]
) -> BatchResult:
    """Lock those that are free, and sort all by what can be done."""
    outcome = BatchResult()
    missing = set(article_ids)
    for pk, status, due in compiled_for(free, missing):
        missing.discard(pk)
        if status not in statuses:
            outcome.invalid[pk] = f"the article is {Status(status).name.lower()}"
        elif due:
            outcome.done.add(pk)
        else:
            outcome.early.append(pk)
    sort_missing(missing, outcome)
    return outcome


def sort_missing(missing: Iterable[int], outcome: BatchResult) -> None:
    """Those that could not be locked are busy or deleted."""
    if missing:
        outcome.busy = set(Article.objects.filter(pk__in=missing).values_list("pk", flat=True))
        outcome.invalid |= dict.fromkeys(set(missing) - outcome.busy, "the article was deleted")
