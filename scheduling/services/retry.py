"""Record failed attempts: retry with backoff and jitter, or close the task as failed."""

from __future__ import annotations

import logging
import random
from datetime import timedelta

from scheduling import registry
from scheduling.clock import read_database_clock
from scheduling.conf import conf
from scheduling.log_fields import of_task
from scheduling.metrics import failures
from scheduling.models import TaskInfo, TaskInfoLog, by_ids
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
    recoverable = registry.is_recoverable(task.task_type)
    again = recoverable or task.attempts < max_attempts(task.task_type)
    now = read_database_clock()
    values = {"attempts": task.attempts, "error": error[-_ERROR_LENGTH:], "worker": worker}
    log = TaskInfoLog.objects.filter(task_id=task.task_id)
    if again:
        task.execute_time = now + backoff(task.attempts)
        task.leased_until, task.lease_token = None, ""
        task.save(update_fields=["execute_time", "attempts", "leased_until", "lease_token"])
        log.change(now=now, **values)
        push_hints_on_commit([task], now=now)
    else:
        by_ids([task.task_id]).delete()
        log.change(now=now, status=TaskInfoLog.Status.FAILED, **values)
    failures.labels(task.task_type, "retried" if again else "dead").inc()
    logger.log(
        logging.WARNING if again and not recoverable else logging.ERROR,
        "%s: attempt %d failed, %s: %s",
        task,
        task.attempts,
        f"next at {task.execute_time:%H:%M:%S} UTC" if again else "dead",
        error.strip().rpartition("\n")[2],
        extra=of_task(task),
    )
    return again


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
