"""Task handlers: going live, updates, releases, reviews, bulk actions, mail, pings and purges."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from django.db import transaction
from django.utils.translation import gettext, gettext_lazy as _

from articles.alerts import sync_open_alerts
from articles.audit import Actor, Source, source
from articles.cache import MAX_TTL, CacheFailed, run_purge
from articles.distribution import catch_up_completely, ping, topics
from articles.fronts import extend_rules
from articles.models import Article, BulkAction, Release
from articles.notifications import notify_authors, notify_of_trouble, remove_orphaned_notifications, send_mail
from articles.permissions import reads_articles
from articles.publishing import (
    BatchResult,
    date_articles,
    date_of_late_commit,
    prepare_to_publish,
    publish_due,
    reconcile_reviews,
    reconcile_tasks,
    review_again,
    review_submitted,
    run_bulk_action,
    sync_tasks,
    unpublish_due,
    update_due,
)
from articles.push import prune_pushes, send_pushes as send_pushes  # a companion of workers
from articles.releases import PATIENCE, as_due, date_release_by_worker, reconcile_releases, release_due
from articles.search import reconcile_index
from articles.task_types import (
    BULK_ACTION,
    DATE,
    MAIL,
    NOTIFY,
    PING,
    PUBLISH,
    PURGE,
    RELEASE,
    REVIEW,
    REVIEW_AGAIN,
    UNPUBLISH,
    UPDATE,
)
from articles.webhooks import mail_owner, prune_events, send_events as send_events  # a companion of workers
from articles.workflow import TRANSITIONS, Transition
from scheduling.database import lock_by_ids, read_database_clock, retried
from scheduling.log_fields import of_ids, of_task
from scheduling.registry import Drop, Fail, Postpone, Verdict, handler, reconciler

if TYPE_CHECKING:
    from scheduling.models import TaskInfo

logger = logging.getLogger(__name__)

reconciler(reconcile_releases)  # first: a release member's own time must not get a task
reconciler(reconcile_tasks)
reconciler(reconcile_reviews)
reconciler(as_due()(notify_of_trouble))
reconciler(reconcile_index)
reconciler(remove_orphaned_notifications)
reconciler(sync_open_alerts)
reconciler(extend_rules)
reconciler(catch_up_completely)
reconciler(prune_events)
reconciler(prune_pushes)


def titles(keys: Collection[str], to: Actor) -> Mapping[str, str]:
    """The headlines of the articles whose tasks have these keys, if `to` may read articles."""
    if not reads_articles(to):
        return {}
    ids = [int(key) for key in keys if key.isdecimal()]
    return {str(pk): title for pk, title in Article.objects.filter(pk__in=ids).values_list("pk", "title")}


def _log_lateness(done: str, tasks: Sequence[TaskInfo], committed_at: datetime) -> None:
    late = max(task.lateness(committed_at) for task in tasks) / timedelta(milliseconds=1)
    text, count, which = "%s %d %s, late %.1f ms at most", len(tasks), of_ids("article", [*map(_subject, tasks)])
    logger.info(text, done, count, "article" if count == 1 else "articles", late, extra=which)


def _prepare_to_publish() -> None:
    with source(Source.WORKER):
        prepare_to_publish()


@handler(
    PUBLISH,
    label=_("Publication"),
    namer=titles,
    recoverable=True,
    prepare=_prepare_to_publish,
    after_commit=partial(_log_lateness, "published"),
)
def publish(tasks: Sequence[TaskInfo]) -> Mapping[int, Verdict]:
    """Publish the articles that are due."""
    return _run(publish_due, tasks)


@handler(
    UNPUBLISH,
    label=_("Unpublication"),
    namer=titles,
    recoverable=True,
    after_commit=partial(_log_lateness, "unpublished"),
)
def unpublish(tasks: Sequence[TaskInfo]) -> Mapping[int, Verdict]:
    """Unpublish the articles that are due."""
    return _run(unpublish_due, tasks)


@handler(
    UPDATE,
    waits_for_locks=True,
    label=_("Update"),
    namer=titles,
    recoverable=True,
    after_commit=partial(_log_lateness, "updated"),
)
def update(tasks: Sequence[TaskInfo]) -> Mapping[int, Verdict]:
    """Publish the updates that are due."""
    return _run(update_due, tasks)


def names(keys: Collection[str], to: Actor) -> Mapping[str, str]:
    """The names of the releases whose tasks have these keys, if `to` may see releases."""
    if not to.has_perm("articles.view_release"):  # type: ignore[union-attr]
        return {}
    ids = [int(key) for key in keys if key.isdecimal()]
    return {str(pk): name for pk, name in Release.objects.filter(pk__in=ids).values_list("pk", "name")}


def _log_release(tasks: Sequence[TaskInfo], committed_at: datetime) -> None:
    for task in tasks:
        text = "published a release, late %.1f ms"
        logger.info(text, task.lateness(committed_at) / timedelta(milliseconds=1), extra=of_task(task))


@handler(
    RELEASE,
    waits_for_locks=True,
    label=_("Release"),
    namer=names,
    recoverable=True,
    after_commit=_log_release,
)
def release(tasks: Sequence[TaskInfo]) -> Mapping[int, Verdict]:
    """Publish releases, each as a whole or not at all."""
    until = time.monotonic() + PATIENCE
    releases, verdicts = _subjects(tasks, _release)
    with source(Source.WORKER):
        verdicts |= {
            task_id: verdict
            for task_id, pk in releases.items()
            if (verdict := release_due(pk, until=until)) is not None
        }
    return verdicts


def dated(keys: Collection[str], to: Actor) -> Mapping[str, str]:
    """The articles and releases that tasks with these keys date, see `publishing.date_later`."""
    parts = {key: key.split(":") for key in keys}
    named = {
        subject: namer([pk for one, pk, *_time in parts.values() if one == subject], to)
        for subject, namer in (("article", titles), ("release", names))
    }
    return {key: named[subject][pk] for key, (subject, pk, *_time) in parts.items() if pk in named[subject]}


@handler(DATE, waits_for_locks=True, label=_("Time of publication"), namer=dated)
def date(tasks: Sequence[TaskInfo]) -> Mapping[int, Verdict]:
    """Date what was published by a process that died before it knew the time of its commit."""
    verdicts = {}
    for task in tasks:
        if (verdict := _date(task)) is not None:
            verdicts[task.task_id] = verdict
    return verdicts


def _date(task: TaskInfo) -> Verdict | None:
    given = dict(task.parameters or {})
    before = datetime.fromisoformat(given["before"])
    known = datetime.fromisoformat(given["committed_at"]) if "committed_at" in given else None
    committed_at, until = known or date_of_late_commit(before), known or task.promised_at
    if committed_at is None:
        return Drop("no worker ran when it was published")
    if "article_ids" in given:
        return date_articles(given["article_ids"], before, committed_at, until=until)
    (release_id,) = given["release_ids"]
    return date_release_by_worker(release_id, before, committed_at, until=until)


@handler(REVIEW, at_least_once=True, label=_("Review of a long text"), namer=titles)
def review(tasks: Sequence[TaskInfo]) -> None:
    """Review long texts."""
    for task in tasks:
        review_submitted(_subject(task), needs_reviewer=bool(dict(task.parameters or {})["needs_reviewer"]))


def everything(keys: Collection[str], to: Actor) -> Mapping[str, str]:
    """There is one such task, about everything that waits."""
    return dict.fromkeys(keys, gettext("everything that waits"))


@handler(REVIEW_AGAIN, at_least_once=True, label=_("Review with new words"), namer=everything, recoverable=True)
def review_with_new_words(tasks: Sequence[TaskInfo]) -> None:
    """Review everything that waits again, with the new words."""
    review_again()


def transitions(keys: Collection[str], to: Actor) -> Mapping[str, str]:
    """The labels of the bulk actions whose tasks have these keys."""
    numbers = {key: key.partition(":")[0] for key in keys}
    known = dict(
        BulkAction.objects.filter(pk__in={n for n in numbers.values() if n.isdecimal()}).values_list("pk", "transition")
    )
    found = {key: known.get(int(number)) for key, number in numbers.items() if number.isdecimal()}
    return {key: str(TRANSITIONS[Transition(transition)].label) for key, transition in found.items() if transition}


@handler(BULK_ACTION, at_least_once=True, label=_("Bulk action"), namer=transitions)
def bulk_action(tasks: Sequence[TaskInfo]) -> None:
    """Continue bulk actions, whether or not their page is open."""
    for task in tasks:
        run_bulk_action(dict(task.parameters or {})["bulk_action_id"])


@handler(NOTIFY, waits_for_locks=True, label=_("Notifications"))
def notify(tasks: Sequence[TaskInfo]) -> None:
    """Notify the authors of articles that went live together."""
    for task in tasks:
        given = dict(task.parameters or {})
        notify_authors(given["action"], given["articles"])


@handler(MAIL, max_attempts=8, at_least_once=True, label=_("Mail"))
def mail_notification(tasks: Sequence[TaskInfo]) -> None:
    """Send notifications, and what concerns webhooks, by mail."""
    for task in tasks:
        given = dict(task.parameters or {})
        if "webhook" in given:
            mail_owner(given["webhook"], given["why"])
        else:
            send_mail(given["notice"])


@handler(PING, max_attempts=8, at_least_once=True, label=_("WebSub ping"))
def ping_hub(tasks: Sequence[TaskInfo]) -> None:
    """Ping the hub about feeds that changed."""
    for task in tasks:
        given = dict(task.parameters or {})
        ping(given["topics"] if "topics" in given else topics(given["articles"], are_gone=given.get("are_gone", True)))


_PURGE_LEASE = 3.0
"""Seconds after which a purge is sent again if its worker has died."""
_MAX_PURGE_ATTEMPTS = 30
"""Many: while the database cannot store results, each lease that expires counts as an attempt."""
_postponed_purges: set[tuple[int, int]] = set()
"""Id and version of the tasks of this process that have purged the CDN but not the cache, since it was away."""


@handler(
    PURGE, max_attempts=_MAX_PURGE_ATTEMPTS, at_least_once=True, lease=_PURGE_LEASE, label=_("CDN purge"), namer=titles
)
def purge_proxies(tasks: Sequence[TaskInfo]) -> Mapping[int, Verdict]:
    """Purge changed pages from the CDN.

    An unreachable cache is tried each second: when it is back, it serves the outdated responses again.
    """
    verdicts: dict[int, Verdict] = {}
    now = read_database_clock()
    for task in tasks:
        wanted = dict(task.parameters or {})
        is_last = now - task.promised_at >= MAX_TTL  # the responses have expired by themselves
        is_repeated = (task.task_id, task.version) in _postponed_purges and not is_last
        try:
            run_purge(wanted["articles"], wanted["tags"], is_repeated=is_repeated)
            _postponed_purges.clear()
        except CacheFailed:
            if not is_last:
                _postponed_purges.add((task.task_id, task.version))
                verdicts[task.task_id] = Postpone()
    return verdicts


def _run(effect: Callable[[Collection[int]], BatchResult], tasks: Sequence[TaskInfo]) -> Mapping[int, Verdict]:
    articles, failed = _subjects(tasks, _subject)
    if not articles:
        return failed
    with source(Source.WORKER):
        outcome = effect(set(articles.values()))
    if outcome.early:
        transaction.on_commit(partial(_sync_tasks, outcome.early), robust=True)
    verdicts = _verdicts(outcome)
    return failed | {task_id: verdicts[pk] for task_id, pk in articles.items() if pk in verdicts}


def _subjects(
    tasks: Iterable[TaskInfo], subject: Callable[[TaskInfo], int]
) -> tuple[dict[int, int], dict[int, Verdict]]:
    """What each task is about, and a failure of those without: they must not cost the others of their batch."""
    subjects, failed = dict[int, int](), dict[int, Verdict]()
    for task in tasks:
        try:
            subjects[task.task_id] = subject(task)
        except (KeyError, OverflowError, TypeError, ValueError) as error:
            failed[task.task_id] = Fail.by(error)
    return subjects, failed


def _verdicts(outcome: BatchResult) -> Mapping[int, Verdict]:
    """Article to verdict, for those that were not done."""
    verdicts: dict[int, Verdict] = {pk: Drop(reason) for pk, reason in outcome.invalid.items()}
    verdicts |= dict.fromkeys(outcome.early, Drop("the article's time has not come"))
    verdicts |= dict.fromkeys(outcome.busy, Postpone())
    return verdicts


def _subject(task: TaskInfo) -> int:
    """The article of a task. Raises if there is none."""
    return int(dict(task.parameters or {})["article_id"])


def _release(task: TaskInfo) -> int:
    return int(dict(task.parameters or {})["release_id"])


@retried
def _sync_tasks(article_ids: Collection[int]) -> None:
    """Correct tasks whose article got another time without a save, unless an editor holds the article."""
    sync_tasks(list(lock_by_ids(Article, article_ids, skip_locked=True).values_list("pk", flat=True)))
