"""Forgetting the records of tasks that ended long ago. Pending tasks are never touched, however old."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from scheduling.models import TaskInfoLog

BATCH = 1000  #: rows deleted by one statement, so that nobody waits for its locks


def prune(cutoff: datetime) -> Iterator[int]:
    """Delete the records of tasks closed before `cutoff`, a batch at a time; yields how many each batch removed."""
    for status in (TaskInfoLog.Status.EXECUTED, TaskInfoLog.Status.CANCELLED, TaskInfoLog.Status.FAILED):
        old = TaskInfoLog.objects.filter(status=status, updated_at__lt=cutoff)
        while ids := list(old.order_by("updated_at").values_list("task_id", flat=True)[:BATCH]):
            # Said again, because a task may have been retried since the ids were read.
            yield old.filter(task_id__in=ids).delete()[0]
