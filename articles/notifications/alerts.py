"""Alerts about tasks of articles and releases that fail or are overdue."""

from __future__ import annotations

from collections.abc import Iterable

from articles.models import Article, Notification, NotificationQuerySet, Release
from articles.notifications.notify import Message, delete_unread, responsible_users, send
from articles.task_types import OF_ARTICLES, RELEASE
from scheduling.database import retried
from scheduling.services import FAILED, FAILING, OVERDUE, FoundTask, find_tasks

MAX_TASKS = 200
"""Tasks of one type checked in one pass."""


@retried
def notify_of_trouble() -> int:
    """Notify the users responsible, once for each task; returns the number of tasks.

    Only a release is overdue for readers, if it cannot go out and no worker has stored that: the clock shows them
    everything else. What is overdue no longer is deleted unless it was read.
    """
    overdue = _releases(OVERDUE, Notification.Kind.OVERDUE)
    messages = [
        *_messages(FAILED, Notification.Kind.FAILED, OF_ARTICLES),
        *_messages(FAILING, Notification.Kind.FAILED, OF_ARTICLES),
        *_releases(FAILING, Notification.Kind.FAILED),
        *overdue,
    ]
    if len(overdue) < MAX_TASKS:  # otherwise there may be more
        delete_unread(_overdue_before().exclude(occasion__in=[item.occasion for item in overdue]))
    known = Notification.objects.filter(occasion__in=[item.occasion for item in messages]).values_list(
        "occasion", flat=True
    )
    fresh = [item for item in messages if item.occasion not in set(known)] if messages else []
    send(fresh)
    return len(fresh)


def _overdue_before() -> NotificationQuerySet:
    """Notifications of overdue tasks, by their index: those of a task begin with the status of that time."""
    return Notification.objects.filter(occasion__gt=f"{OVERDUE}:", occasion__lt=f"{OVERDUE};")


def _messages(status: str, kind: Notification.Kind, task_types: Iterable[str]) -> list[Message]:
    found = [task for task_type in task_types for task in find_tasks(status, task_type=task_type, limit=MAX_TASKS)]
    titles = _titles(found)
    users = responsible_users() if titles else frozenset()
    return [
        Message(kind, pk, titles[pk], users, _last_line(task.log.error), f"{status}:{task.log.task_id}")
        for task in found
        if (pk := _subject(task)) in titles
    ]


def _releases(status: str, kind: Notification.Kind) -> list[Message]:
    found = {_subject(task): task.log for task in find_tasks(status, task_type=RELEASE, limit=MAX_TASKS)}
    pending = Release.objects.filter(pk__in=found, status__in=Release.Status.pending())  # not one that readers have
    names = dict(pending.values_list("pk", "name")) if found else {}
    return [
        Message(kind, None, name, responsible_users(), _last_line(log.error), f"{status}:{log.task_id}", release_id=pk)
        for pk, name in names.items()
        if (log := found[pk])
    ]


def _titles(found: Iterable[FoundTask]) -> dict[int, str]:
    ids = {_subject(task) for task in found}
    return dict(Article.objects.filter(pk__in=ids).values_list("pk", "title")) if ids else {}


def _subject(task: FoundTask) -> int:
    key = task.log.key or ""
    return int(key) if key.isdecimal() else 0


def _last_line(error: str) -> str:
    return error.strip().rpartition("\n")[2]
