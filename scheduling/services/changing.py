"""Cancel, reschedule and retry tasks. A race with a worker has one winner, and the return value says which."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from django.db.models import F
from django.utils.translation import gettext as _

from scheduling import registry
from scheduling.database import duplicates_collide, read_database_clock, retried
from scheduling.exceptions import InvalidTask, TaskNotPending
from scheduling.models import TaskInfo, TaskInfoLog, TaskInfoQuerySet, by_ids, close_executed, delete_tasks
from scheduling.services.adding import reset_task, store_reset
from scheduling.services.hints import discard_hints_on_commit, push_hints_on_commit
from scheduling.validation import checked_key, checked_task_type, checked_time

Status = TaskInfoLog.Status
_REOPEN_LIMIT = 1000  # tasks per refresh


def cancel_task(task_id: int) -> bool:
    """Cancel a pending task. True if it will not run; False if it has run, failed or been cancelled before.

    Waits for a worker that is running the task, so the result is definite.
    """
    return cancel_tasks([task_id]) == 1


def cancel_tasks(task_ids: Collection[int], *, reason: str = "") -> int:
    """Cancel many tasks; returns how many were still pending."""
    return _cancel(by_ids(task_ids), reason)


def cancel_key(task_type: str, key: str) -> bool:
    """Cancel the pending task of this type and key; True if there was one."""
    return cancel_keys(task_type, [key]) == 1


def cancel_keys(task_type: str, keys: Collection[str], *, reason: str = "") -> int:
    """Cancel the pending tasks of this type with any of these keys; returns how many there were."""
    wanted = [checked_key(key) for key in keys]
    return _cancel(TaskInfo.objects.filter(task_type=checked_task_type(task_type), key__in=wanted), reason)


@retried
def _cancel(tasks: TaskInfoQuerySet, reason: str) -> int:
    pending = tasks.lock_all()
    if pending:
        close_cancelled(pending, now=read_database_clock(), reason=reason)
    return len(pending)


@retried
def execute_keys(task_type: str, keys: Collection[str], *, worker: str) -> int:
    """Close pending tasks as executed, because their effect has come about without them; returns how many there were.

    `worker` says by what, for the record. In the caller's transaction, which has stored the effect.
    """
    wanted = [checked_key(key) for key in keys]
    pending = TaskInfo.objects.filter(task_type=checked_task_type(task_type), key__in=wanted).lock_all()
    for attempts in {task.attempts for task in pending}:
        ids = [task.task_id for task in pending if task.attempts == attempts]
        close_executed(ids, attempts=attempts, worker=worker)
    delete_tasks([task.task_id for task in pending])
    discard_hints_on_commit(pending)
    return len(pending)


def close_cancelled(tasks: Collection[TaskInfo], *, now: datetime, reason: str = "") -> None:
    """Delete pending tasks and close their records; the caller has locked them, or waits here for those who have."""
    ids = sorted(task.task_id for task in tasks)
    delete_tasks(ids)
    open_logs = TaskInfoLog.objects.filter(task_id__in=ids)
    open_logs.change(now=now, status=TaskInfoLog.Status.CANCELLED, error=reason)
    discard_hints_on_commit(tasks)


@retried
def reschedule_task(task_id: int, execute_time: datetime) -> TaskInfo:
    """Change the due time of a pending task; a program that had leased it loses the lease.

    Raises `TaskNotPending`, `NaiveTime` and `TimeOutOfRange`.
    """
    moment = checked_time(execute_time)
    # Waits for a worker that is running the task: afterwards either it has run, or it runs at the new time.
    task = by_ids([task_id]).select_for_update().first()
    if task is None:
        raise TaskNotPending
    now = read_database_clock()
    reset_task(task, now=now, execute_time=moment)
    store_reset([task], now=now)
    push_hints_on_commit([task], now=now)
    return task


@retried
def retry_task(task_id: int) -> TaskInfo:
    """Give a failed or cancelled task a full set of attempts again, starting at once.

    It keeps its id and record. Raises `TaskNotPending` when it was executed, has not been tried yet or is unknown,
    and `InvalidTask` when another pending task has its key by now.
    """
    closed = TaskInfoLog.objects.filter(status__in=[Status.FAILED, Status.CANCELLED])
    # The record, not the task, which does not exist: two retries at once would insert it twice.
    log = closed.select_for_update().filter(task_id=task_id).first()
    if log is None:
        return _retry_now(task_id)
    if _is_superseded(log):
        raise InvalidTask(
            _("Another task for %(type)r with key %(key)r is pending already.")
            % {"type": log.task_type, "key": log.key}
        )
    now = read_database_clock()
    return _reopen(log, now=now, execute_time=now, promised_at=now)


def _retry_now(task_id: int) -> TaskInfo:
    """Make a task that waits for its next attempt due now; its lateness still counts from its due time."""
    failing = by_ids([task_id]).failing().filter(lease_token="")
    # A locked one is running at this moment, so there is nothing to bring forward.
    task = failing.select_for_update(skip_locked=True).first()
    if task is None:
        raise TaskNotPending(_("Only a task that failed or was cancelled can be retried; this one is neither."))
    now = read_database_clock()
    task.execute_time, task.attempts, task.leased_until = now, 0, None
    task.save(update_fields=["execute_time", "attempts", "leased_until"])
    TaskInfoLog.objects.filter(task_id=task_id).update(attempts=0)
    push_hints_on_commit([task], now=now)
    return task


def reopen_recoverable() -> int:
    """Reopen recoverable tasks that failed before their type was recoverable; returns how many."""
    failed = TaskInfoLog.objects.filter(status=Status.FAILED, task_type__in=registry.recoverable_types())
    return sum(_reopen_failed(task_id) for task_id in list(failed.values_list("task_id", flat=True)[:_REOPEN_LIMIT]))


@retried
def _reopen_failed(task_id: int) -> bool:
    failed = TaskInfoLog.objects.filter(status=Status.FAILED, task_id=task_id)
    log = failed.select_for_update(skip_locked=True).first()
    if log is None:
        return False
    now = read_database_clock()
    if _is_superseded(log):
        reason = _("Another task does the same.")
        failed.update(status=Status.CANCELLED, error=reason, version=F("version") + 1, updated_at=now)
        return False
    _reopen(log, now=now, execute_time=log.execute_time, promised_at=log.promised_at)
    return True


def _is_superseded(log: TaskInfoLog) -> bool:
    """Whether another task with the same key is pending."""
    return log.key is not None and TaskInfo.objects.filter(task_type=log.task_type, key=log.key).exists()


def _reopen(log: TaskInfoLog, *, now: datetime, execute_time: datetime, promised_at: datetime) -> TaskInfo:
    """Make the task of a locked, closed record pending again.

    Raises `Collision` when another task with its key is added at the same time.
    """
    task = TaskInfo(**{field.attname: getattr(log, field.attname) for field in TaskInfoLog.identity_fields()})
    reset_task(task, now=promised_at, execute_time=execute_time)
    with duplicates_collide():
        task.save(force_insert=True)
    TaskInfoLog.objects.filter(task_id=log.task_id).update(
        status=Status.SCHEDULED,
        version=task.version,
        attempts=0,
        execute_time=execute_time,
        promised_at=promised_at,
        updated_at=now,
    )
    push_hints_on_commit([task], now=now)
    return task
