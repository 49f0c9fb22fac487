"""Child process: reschedules and cancels tasks, and pushes hints early, until SIGTERM.

Then it prints the ids of the rescheduled tasks as JSON.
"""

from __future__ import annotations

import json
import random
from collections.abc import Collection
from datetime import timedelta

import django

django.setup()

from django.db import Error, connection, transaction  # noqa: E402 (models need a Django that is set up)

from articles.models import Article  # noqa: E402
from scheduling.exceptions import TaskNotPending  # noqa: E402
from scheduling.models import TaskInfo  # noqa: E402
from scheduling.queues import get_queue  # noqa: E402
from scheduling.services import cancel_task, read_database_clock, reschedule_task  # noqa: E402
from scheduling.shutdown import stop_on_signals  # noqa: E402

PAUSE = 0.2  # seconds
INSERTED = 1_000_000  # the faults' own tasks have smaller ids
FURTHEST = 3.0  # seconds a task is moved at most; some become due at once
moved: set[int] = set()


def main() -> None:
    """Change tasks repeatedly, ignoring database errors."""
    with stop_on_signals() as stopping:
        while not stopping.wait(PAUSE):
            try:
                random.choice((move_note, move_note, cancel_note, move_article, offer_notes))()
            except (Error, TaskNotPending):
                connection.close()
    print(json.dumps(sorted(moved)))  # noqa: T201


def pick(task_type: str) -> TaskInfo | None:
    """One of the tasks that are due next; each once, except those that a fault waits for."""
    pending = next_due(task_type, but=moved)
    return random.choice(pending) if pending else None


def next_due(task_type: str, *, but: Collection[int] = ()) -> list[TaskInfo]:
    """Some of the tasks that are due next."""
    others = TaskInfo.objects.filter(task_type=task_type, task_id__gt=INSERTED).exclude(task_id__in=but)
    return list(others.order_by("execute_time")[:40])


def move_note() -> None:
    """Also one that a worker is running."""
    if task := pick("probe.note"):
        moved.add(task.task_id)
        reschedule_task(task.task_id, read_database_clock() + timedelta(seconds=random.uniform(0, FURTHEST)))


def cancel_note() -> None:
    """Cancel a task, which must have no effect."""
    if task := pick("probe.note"):
        moved.add(task.task_id)  # the answer may get lost with the connection
        cancel_task(task.task_id)


def move_article() -> None:
    """Reschedule an article by its time, as an editor would; a published one stays."""
    if task := pick("articles.publish"):
        moved.add(task.task_id)
        with transaction.atomic():
            article = Article.objects.select_for_update().get(pk=int(task.key or 0))
            if article.status == Article.Status.APPROVED:
                article.publish_at = read_database_clock() + timedelta(seconds=random.uniform(1, FURTHEST))
                article.save()


def offer_notes() -> None:
    """Push hints before tasks are due, and of running ones."""
    if tasks := next_due("probe.note"):
        get_queue().requeue(tasks[0].topic, [task.task_id for task in tasks])


if __name__ == "__main__":
    main()
