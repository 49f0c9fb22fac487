"""Find tasks by status, type and key, without reading a million rows."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from django.db.models import CharField, Exists, OuterRef
from django.db.models.functions import Cast

from scheduling.database import COUNT_LIMIT, read_database_clock
from scheduling.models import TaskInfo, TaskInfoLog, TaskInfoLogQuerySet, by_ids, recorded_types, topics_with_tasks
from scheduling.services.measuring import overdue_before

PENDING, OVERDUE, FAILING, FAILED, ALL = "pending", "overdue", "failing", "failed", "all"
CLOSED = {
    "executed": TaskInfoLog.Status.EXECUTED,
    "cancelled": TaskInfoLog.Status.CANCELLED,
    FAILED: TaskInfoLog.Status.FAILED,
}
STATUSES = (PENDING, OVERDUE, FAILING, *CLOSED, ALL)


@dataclass(frozen=True, slots=True)
class FoundTask:
    """The record of a task, and its row while it is pending."""

    log: TaskInfoLog
    task: TaskInfo | None

    @property
    def status(self) -> str:
        """One of `STATUSES` except "overdue", "failing" and "all"."""
        return next((name for name, status in CLOSED.items() if status == self.log.status), PENDING)

    @property
    def next_attempt(self) -> datetime | None:
        """When a pending task runs: after its due time if it failed or the database refused it."""
        if self.task is None or self.task.leased_until is None or self.task.lease_token:
            return self.task.execute_time if self.task else None
        return max(self.task.execute_time, self.task.leased_until)


def find_task(task_id: int) -> FoundTask | None:
    """The task with this id; None if it never existed or its record was pruned."""
    return next(iter(_with_tasks(TaskInfoLog.objects.filter(task_id=task_id))), None)


def executed_records(task_type: str, keys: Collection[str]) -> dict[str, TaskInfoLog]:
    """The record of the task of each key that was executed last."""
    wanted = TaskInfoLog.objects.filter(task_type=task_type, key__in=keys, status=TaskInfoLog.Status.EXECUTED)
    return {log.key: log for log in wanted.order_by("updated_at", "task_id") if log.key} if keys else {}


def find_tasks(status: str = PENDING, *, task_type: str = "", key: str = "", limit: int) -> list[FoundTask]:
    """Up to `limit` tasks of a status: pending ones soonest first, closed ones latest first, all newest first.

    Failing ones are still pending after a failed attempt; those with most attempts come first.
    """
    if status == FAILING:
        return _failing(task_type, key)[:limit]
    if status in (PENDING, OVERDUE):
        before = overdue_before(read_database_clock()) if status == OVERDUE else None
        ids = [task.task_id for task in _soonest(task_type, key, before, limit)]
        found = {item.log.task_id: item for item in _with_tasks(TaskInfoLog.objects.filter(task_id__in=ids))}
        return [found[task_id] for task_id in ids if task_id in found]
    logs = TaskInfoLog.objects.order_by("-task_id")
    if status != ALL:
        logs = logs.filter(status=CLOSED[status]).order_by("-updated_at", "-task_id")
    return _with_tasks(_filtered(logs, task_type, key)[:limit])


def _failing(task_type: str, key: str) -> list[FoundTask]:
    failing = {task.task_id: task for task in TaskInfo.objects.failing().order_by("-attempts", "task_id")[:COUNT_LIMIT]}
    # The number of attempts is in the row, the error in the record, and each has its index: two look-ups instead of a
    # join over all records.
    logs = _filtered(TaskInfoLog.objects.filter(task_id__in=failing).exclude(error=""), task_type, key)
    found = [FoundTask(log, failing[log.task_id]) for log in logs] if failing else []
    return sorted(found, key=lambda item: (-item.log.attempts, item.log.task_id))


def _filtered(logs: TaskInfoLogQuerySet, task_type: str, key: str) -> TaskInfoLogQuerySet:
    if key:
        return logs.filter(task_type__in=[task_type] if task_type else sorted(recorded_types()), key=key)
    return logs.filter(task_type=task_type) if task_type else logs


def _soonest(task_type: str, key: str, before: datetime | None, limit: int) -> Iterable[TaskInfo]:
    """Merge the heads of the topics: the due index is sorted within a topic only."""
    heads = []
    for found_type, priority, _ in topics_with_tasks():
        tasks = TaskInfo.objects.topic(found_type, priority)
        tasks = tasks.filter(key=key) if key else tasks
        tasks = tasks.due(before).unclaimed(read_database_clock()) if before else tasks
        if not task_type or task_type == found_type:
            heads.append(tasks.oldest_first()[:limit])
    return islice(heapq.merge(*heads, key=lambda task: (task.execute_time, task.task_id)), limit)


def _with_tasks(logs: Iterable[TaskInfoLog]) -> list[FoundTask]:
    found: Sequence[TaskInfoLog] = list(logs)
    pending: Collection[int] = [log.task_id for log in found if log.status == TaskInfoLog.Status.SCHEDULED]
    tasks = {task.task_id: task for task in by_ids(pending)}
    return [FoundTask(log, tasks.get(log.task_id)) for log in found]


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
