"""Looking at tasks by key, for code that keeps its own rows and their tasks in step."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from scheduling.models import TaskInfo, TaskInfoLog


def pending_times(task_type: str, keys: Collection[str]) -> dict[str, datetime]:
    """Key to the due time that was asked for, for those of the keys that have a pending task.

    A task that is being retried still counts with its first due time, not with that of its next attempt.
    """
    tasks = TaskInfo.objects.filter(task_type=task_type, key__in=keys)
    rows = list(tasks.values_list("task_id", "key", "execute_time", "attempts"))
    retried = [task_id for task_id, _, _, attempts in rows if attempts]
    asked = dict(TaskInfoLog.objects.filter(task_id__in=retried).values_list("task_id", "execute_time"))
    return {key: asked.get(task_id, due) for task_id, key, due, _ in rows if key is not None}
