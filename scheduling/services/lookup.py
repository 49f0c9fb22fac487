"""Look up pending tasks by key, for reconcilers that compare their rows with tasks."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from django.db.models import CharField, Exists, OuterRef
from django.db.models.functions import Cast

from scheduling.models import TaskInfo, TaskInfoLog


def pending_times(task_type: str, keys: Collection[str]) -> dict[str, datetime]:
    """The requested due time by key, for those keys that have a pending task.

    For a task that is being retried this is its first due time, not that of its next attempt.
    """
    tasks = TaskInfo.objects.filter(task_type=task_type, key__in=keys)
    rows = list(tasks.values_list("task_id", "key", "execute_time", "attempts"))
    retried = [task_id for task_id, _, _, attempts in rows if attempts]
    first_due = dict(TaskInfoLog.objects.filter(task_id__in=retried).values_list("task_id", "execute_time"))
    return {key: first_due.get(task_id, due) for task_id, key, due, _ in rows if key is not None}


def has_pending(task_type: str, key: str = "pk") -> Exists:
    """A condition for a queryset: whether a task is pending whose key is this column, looked up by an index."""
    return Exists(TaskInfo.objects.filter(task_type=task_type, key=Cast(OuterRef(key), CharField(max_length=20))))
