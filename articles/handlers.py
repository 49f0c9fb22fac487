"""The tasks of the newsroom: going live and being taken off, a batch at a time."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from django.db import transaction
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from articles.audit import Actor, Source, reads_articles, source
from articles.cache import CacheFailed, run_purge
from articles.distribution import keep_up, ping, topics
from articles.models import Article, BulkAction, Release
from articles.notifications import notify_of_trouble, remove_orphaned_notifications, send_mail
from articles.publishing import (
    Outcome,
    carry_on,
    conclude,
    publish_due,
    reconcile_reviews,
    reconcile_tasks,
    review_again,
    sync_tasks,
    unpublish_due,
    update_due,
)
from articles.releases import PATIENCE, reconcile_releases, release_due
from articles.search import reconcile_index
from articles.task_types import (
    BULK_ACTION,
    MAIL,
    PING,
    PUBLISH,
    PURGE,
    RELEASE,
    REVIEW,
    REVIEW_AGAIN,
    UNPUBLISH,
    UPDATE,
)
from articles.workflow import TRANSITIONS, Transition
from scheduling.registry import Drop, Postpone, Verdict, handler, reconciler
from scheduling.services import lock_by_ids, retried

if TYPE_CHECKING:
    from scheduling.models import TaskInfo

logger = logging.getLogger(__name__)

reconciler(reconcile_releases)  # first: a time that a member must not have gets no task
reconciler(reconcile_tasks)
reconciler(reconcile_reviews)
reconciler(notify_of_trouble)
reconciler(reconcile_index)
reconciler(remove_orphaned_notifications)
reconciler(keep_up)


def titles(keys: Collection[str], to: Actor) -> Mapping[str, str]:
    """The headlines of the articles whose tasks have these keys, for who may read articles."""
    if not reads_articles(to):
        return {}
    ids = [int(key) for key in keys if key.isdecimal()]
    return {str(pk): title for pk, title in Article.objects.filter(pk__in=ids).values_list("pk", "title")}


@handler(PUBLISH, label=_("Publication"), namer=titles, recoverable=True)
def publish(tasks: Sequence[TaskInfo]) -> Mapping[int, Verdict]:
    """Put the articles out whose time has come."""
    return _run(publish_due, tasks, "published")


@handler(UNPUBLISH, label=_("Taking off"), namer=titles, recoverable=True)
def unpublish(tasks: Sequence[TaskInfo]) -> Mapping[int, Verdict]:
    """Take the articles off whose time is over."""
    return _run(unpublish_due, tasks, "withdrew")


@handler(UPDATE, may_wait=True, label=_("Update"), namer=titles, recoverable=True)
def update(tasks: Sequence[TaskInfo]) -> Mapping[int, Verdict]:
    """Put newer texts in the place of the present ones."""
    return _run(update_due, tasks, "updated")


def names(keys: Collection[str], to: Actor) -> Mapping[str, str]:
    """The names of the releases whose tasks have these keys, for who may see releases."""
    if not to.has_perm("articles.view_release"):  # type: ignore[union-attr]
        return {}
    ids = [int(key) for key in keys if key.isdecimal()]
    return {str(pk): name for pk, name in Release.objects.filter(pk__in=ids).values_list("pk", "name")}


@handler(RELEASE, may_wait=True, label=_("Release"), namer=names, recoverable=True)
def release(tasks: Sequence[TaskInfo]) -> Mapping[int, Verdict]:
    """Put releases out, each as a whole or not at all."""
    until = time.monotonic() + PATIENCE
    with source(Source.WORKER):
        verdicts = {task.task_id: release_due(_release(task), until=until) for task in tasks}
    return {task_id: verdict for task_id, verdict in verdicts.items() if verdict is not None}


@handler(REVIEW, at_least_once=True, label=_("Review of a long text"), namer=titles)
def review(tasks: Sequence[TaskInfo]) -> None:
    """Have long texts reviewed."""
    for task in tasks:
        conclude(_subject(task), needs_reviewer=bool(dict(task.parameters or {})["needs_reviewer"]))


def everything(keys: Collection[str], to: Actor) -> Mapping[str, str]:
    """There is one such task, and it is about all that waits."""
    return dict.fromkeys(keys, gettext("everything that waits"))


@handler(REVIEW_AGAIN, at_least_once=True, label=_("Review with new words"), namer=everything, recoverable=True)
def review_with_new_words(tasks: Sequence[TaskInfo]) -> None:
    """Have everything that waits reviewed with the new words."""
    review_again()


def transitions(keys: Collection[str], to: Actor) -> Mapping[str, str]:
    """The steps that the batches take whose tasks have these keys."""
    numbers = {key: key.partition(":")[0] for key in keys}
    known = dict(
        BulkAction.objects.filter(pk__in={n for n in numbers.values() if n.isdecimal()}).values_list("pk", "transition")
    )
    found = {key: known.get(int(number)) for key, number in numbers.items() if number.isdecimal()}
    return {key: str(TRANSITIONS[Transition(transition)].label) for key, transition in found.items() if transition}


@handler(BULK_ACTION, at_least_once=True, label=_("Step with many articles"), namer=transitions)
def bulk_action(tasks: Sequence[TaskInfo]) -> None:
    """Go on with steps with many articles, also when nobody looks."""
    for task in tasks:
        carry_on(dict(task.parameters or {})["bulk_action_id"])


@handler(MAIL, max_attempts=8, at_least_once=True, label=_("Mail"))
def mail_notification(tasks: Sequence[TaskInfo]) -> None:
    """Send notices by mail."""
    for task in tasks:
        send_mail(dict(task.parameters or {})["notice"])


@handler(PING, max_attempts=8, at_least_once=True, label=_("Word to the hub"))
def ping_hub(tasks: Sequence[TaskInfo]) -> None:
    """Tell the hub of feeds that changed."""
    for task in tasks:
        told = dict(task.parameters or {})
        ping(told["topics"] if "topics" in told else topics(told["articles"], are_gone=told.get("are_gone", True)))


_OUTLIVED = 6
"""Attempts after which an answer that was to be purged has ended by itself: they take more than a minute."""


@handler(PURGE, max_attempts=8, at_least_once=True, label=_("Word to the proxies"), namer=titles)
def purge_proxies(tasks: Sequence[TaskInfo]) -> None:
    """Make sure that proxies forget what was changed."""
    for task in tasks:
        wanted = dict(task.parameters or {})
        try:
            run_purge(wanted["articles"], wanted["tags"])
        except CacheFailed:
            if task.attempts < _OUTLIVED:
                raise


def _run(effect: Callable[[Collection[int]], Outcome], tasks: Sequence[TaskInfo], done: str) -> Mapping[int, Verdict]:
    began = time.monotonic()
    subjects = {task.task_id: _subject(task) for task in tasks}
    with source(Source.WORKER):
        outcome = effect(set(subjects.values()))
    if outcome.early:
        transaction.on_commit(partial(_give_the_right_task, outcome.early), robust=True)
    _report(outcome, [task for task in tasks if subjects[task.task_id] in outcome.done], done, began)
    verdicts = _verdicts(outcome)
    return {task_id: verdicts[pk] for task_id, pk in subjects.items() if pk in verdicts}


def _report(outcome: Outcome, tasks: Sequence[TaskInfo], done: str, began: float) -> None:
    """After the commit, a line in the log with how late the latest was: with all that was waited for since `began`."""
    if outcome.at is not None and tasks:
        found_late = max(outcome.at - task.due for task in tasks)
        transaction.on_commit(partial(_log_lateness, done, len(outcome.done), found_late, began), robust=True)


def _log_lateness(done: str, count: int, found_late: timedelta, began: float) -> None:
    late = found_late / timedelta(milliseconds=1) + (time.monotonic() - began) * 1000
    logger.info("%s %d %s, late %.0f ms at most", done, count, "article" if count == 1 else "articles", late)


def _verdicts(outcome: Outcome) -> Mapping[int, Verdict]:
    """Article to verdict, for those that were neither published nor withdrawn."""
    verdicts: dict[int, Verdict] = {pk: Drop(reason) for pk, reason in outcome.void.items()}
    verdicts |= dict.fromkeys(outcome.early, Drop("the article's time has not come"))
    verdicts |= dict.fromkeys(outcome.busy, Postpone())
    return verdicts


def _subject(task: TaskInfo) -> int:
    """The article a task is about. Anything that is not one raises, and so fails this task alone."""
    return int(dict(task.parameters or {})["article_id"])


def _release(task: TaskInfo) -> int:
    return int(dict(task.parameters or {})["release_id"])


@retried
def _give_the_right_task(article_ids: Collection[int]) -> None:
    """The time was changed behind the tasks' back: set the tasks right, unless an editor is about to."""
    sync_tasks(list(lock_by_ids(Article, article_ids, skip_locked=True).values_list("pk", flat=True)))
