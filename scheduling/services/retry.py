"""Record failed attempts: retry with backoff and jitter, or close the task as failed."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from django.db.models import F

from scheduling import registry
from scheduling.conf import conf
from scheduling.database import read_database_clock, update_by_ids
from scheduling.log_fields import of_task
from scheduling.metrics import failures
from scheduling.models import TaskInfo, TaskInfoLog, delete_tasks
from scheduling.services.hints import push_hints_on_commit

logger = logging.getLogger(__name__)

_ERROR_LENGTH = 4000  # characters of an error that are stored
_DOUBLINGS = 100  # of the first wait at most: beyond any `MAX_BACKOFF`, without overflow


def max_attempts(task_type: str) -> int:
    """How many attempts a task of this type gets."""
    found = registry.get(task_type)
    return (found.max_attempts if found else None) or conf.MAX_ATTEMPTS


def record_failure(task: TaskInfo, error: str, *, worker: str) -> bool:
    """Record a failed attempt in the caller's transaction, which has locked the row; `attempts` includes it.

    True if the task will be retried, False if it is dead, which a recoverable one never is.
    """
    return bool(record_failures({task: error}, worker=worker))


def record_failures(errors: Mapping[TaskInfo, str], *, worker: str) -> list[TaskInfo]:
    """As `record_failure` for many tasks, in a few statements. Returns those that will be retried."""
    now = read_database_clock()
    retried = [task for task in errors if _has_attempts_left(task)]
    dead = [task for task in errors if not _has_attempts_left(task)]
    for task in retried:
        task.execute_time = now + backoff(task.attempts)
        task.leased_until, task.lease_token = None, ""
    times = [(task.task_id, task.execute_time, task.attempts) for task in retried]
    update_by_ids(TaskInfo, ["execute_time", "attempts"], times, leased_until=None, lease_token="")
    delete_tasks([task.task_id for task in dead])
    _change_records(retried, errors, updated_at=now, worker=worker)
    _change_records(dead, errors, updated_at=now, worker=worker, status=TaskInfoLog.Status.FAILED)
    # The next attempt may be within the window, which has been loaded already.
    push_hints_on_commit(retried, now=now)
    for task, error in errors.items():
        _report(task, _storable(error))
    return retried


def _has_attempts_left(task: TaskInfo) -> bool:
    return registry.is_recoverable(task.task_type) or task.attempts < max_attempts(task.task_type)


def _change_records(tasks: Iterable[TaskInfo], errors: Mapping[TaskInfo, str], **same: Any) -> None:
    rows = [(task.task_id, task.attempts, _storable(errors[task])) for task in tasks]
    update_by_ids(TaskInfoLog, ["attempts", "error"], rows, version=F("version") + 1, **same)


def _storable(error: str) -> str:
    """The end of an error; it may quote characters that no database stores."""
    # The end, which names the error; the beginning of a traceback is the same for all.
    return error[-_ERROR_LENGTH:].encode(errors="backslashreplace").decode()


def _report(task: TaskInfo, error: str) -> None:
    is_dead = not _has_attempts_left(task)
    failures.labels(task.task_type, "dead" if is_dead else "retried").inc()
    logger.log(
        logging.ERROR if is_dead or registry.is_recoverable(task.task_type) else logging.WARNING,
        "%s: attempt %d failed, %s: %s",
        task,
        task.attempts,
        "dead" if is_dead else f"next at {task.execute_time:%H:%M:%S} UTC",
        error.strip().rpartition("\n")[2],
        extra=of_task(task),
    )


def record_expired_lease(task: TaskInfo) -> bool:
    """Record as failed a task whose last attempt ended with its lease, in the transaction that has locked the row.

    False if it may be leased again.
    """
    if not task.lease_token or task.attempts < max_attempts(task.task_type):
        return False
    record_failure(task, f"No program finished it within its lease, {task.attempts} times.", worker="outside")
    return True


def backoff(attempts: int) -> timedelta:
    """The wait after this many attempts: exponential, half of it random to spread retries."""
    longest = min(conf.BACKOFF * 2.0 ** min(attempts - 1, _DOUBLINGS), conf.MAX_BACKOFF)
    return timedelta(seconds=random.uniform(longest / 2, longest))  # noqa: S311 (spreads load, guards nothing)
