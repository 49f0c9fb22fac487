"""Prune the records of tasks that ended long ago. Pending tasks are never touched."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from scheduling.conf import conf
from scheduling.database import read_database_clock
from scheduling.models import TaskInfoLog

BATCH = 1000  #: rows deleted by one statement, to keep its locks short

_CLOSED = (TaskInfoLog.Status.EXECUTED, TaskInfoLog.Status.CANCELLED, TaskInfoLog.Status.FAILED)


def prune(*, days: int | None = None) -> Iterator[int]:
    """Delete the records of tasks closed more than `days` ago, by default `LOG_RETENTION_DAYS`.

    It works in turns, a batch of each status, so that no status waits for another, and yields how many records each
    turn deleted. The worker runs one turn in each `PRUNE_INTERVAL`.
    """
    cutoff = read_database_clock() - timedelta(days=conf.LOG_RETENTION_DAYS if days is None else days)
    while removed := sum(_prune(status, cutoff) for status in _CLOSED):
        yield removed


def _prune(status: TaskInfoLog.Status, cutoff: datetime) -> int:
    old = TaskInfoLog.objects.filter(status=status, updated_at__lt=cutoff)
    ids = list(old.order_by("updated_at").values_list("task_id", flat=True)[:BATCH])
    # Filtered again, because a task may have been retried since the ids were read.
    return old.filter(task_id__in=ids).delete()[0] if ids else 0
