"""Cancelling, moving and retrying tasks: a race with the worker has one winner, and the caller is told which."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from django.utils.translation import gettext as _

from scheduling.clock import read_database_clock
from scheduling.exceptions import InvalidTask, TaskNotPending
from scheduling.models import TaskInfo, TaskInfoLog, TaskInfoQuerySet, by_ids, delete_by_ids
from scheduling.services.adding import move, update_rows
from scheduling.services.announcing import announce_on_commit, withdraw_on_commit
from scheduling.transactions import retried
from scheduling.validation import checked_key, checked_task_type, checked_time


def cancel_task(task_id: int) -> bool:
    """Take a pending task back. True if it will not run; False if it has run, failed or been cancelled before.

    A worker that has the task in hand is waited for, so the answer is always the truth.
    """
    return cancel_tasks([task_id]) == 1


def cancel_tasks(task_ids: Collection[int], *, reason: str = "") -> int:
    """Take many back; returns how many were still pending."""
    return _cancel(by_ids(task_ids), reason)


def cancel_key(task_type: str, key: str) -> bool:
    """Take back the pending task of this type and key; True if there was one."""
    return cancel_keys(task_type, [key]) == 1


def cancel_keys(task_type: str, keys: Collection[str], *, reason: str = "") -> int:
    """Take back the pending tasks of this type with any of these keys; returns how many there were."""
    wanted = [checked_key(key) for key in keys]
    return _cancel(TaskInfo.objects.filter(task_type=checked_task_type(task_type), key__in=wanted), reason)


@retried
def _cancel(tasks: TaskInfoQuerySet, reason: str) -> int:
    pending = tasks.lock_all()
    if pending:
        ids = [task.task_id for task in pending]
        delete_by_ids(ids)
        open_logs = TaskInfoLog.objects.filter(task_id__in=ids)
        open_logs.change(now=read_database_clock(), status=TaskInfoLog.Status.CANCELLED, error=reason)
        withdraw_on_commit(pending)
    return len(pending)


@retried
def reschedule_task(task_id: int, execute_time: datetime) -> TaskInfo:
    """Move a pending task to another time; a program that had leased it loses the lease.

    Raises `TaskNotPending`, `NaiveTime` and `TimeOutOfRange`.
    """
    moment = checked_time(execute_time)
    task = by_ids([task_id]).select_for_update().first()
    if task is None:
        raise TaskNotPending
    now = read_database_clock()
    move(task, now=now, execute_time=moment)
    update_rows([task], now)
    announce_on_commit([task], now=now)
    return task


@retried
def retry_task(task_id: int) -> TaskInfo:
    """Give a task that failed for good, or was cancelled, another full set of attempts, starting at once.

    It keeps its id and record. Raises `TaskNotPending` when it was executed, is pending or unknown, and
    `InvalidTask` when another pending task has its key by now.
    """
    closed = TaskInfoLog.objects.filter(status__in=[TaskInfoLog.Status.FAILED, TaskInfoLog.Status.CANCELLED])
    log = closed.select_for_update().filter(task_id=task_id).first()
    if log is None:
        raise TaskNotPending(_("Only a task that failed or was cancelled can be retried; this one is neither."))
    if log.key is not None and TaskInfo.objects.filter(task_type=log.task_type, key=log.key).exists():
        raise InvalidTask(
            _("Another task for %(type)r with key %(key)r is pending already.")
            % {"type": log.task_type, "key": log.key}
        )
    now = read_database_clock()
    task = TaskInfo(**{field.attname: getattr(log, field.attname) for field in TaskInfoLog.identity_fields()})
    move(task, now=now, execute_time=now)
    task.save(force_insert=True)
    closed.filter(task_id=task_id).update(
        status=TaskInfoLog.Status.SCHEDULED, version=task.version, attempts=0, promised_at=now, updated_at=now
    )
    announce_on_commit([task], now=now)
    return task
