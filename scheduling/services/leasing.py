"""Lease tasks to external programs: a committed claim with a token, ended by completing or failing the task.

The oldest due task comes first, which only SQL can guarantee; its hint in the queue is popped and ignored.
"""

from __future__ import annotations

import logging
import secrets
from datetime import timedelta

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from scheduling.conf import conf
from scheduling.database import clock, compiled_once, database_now, read_database_clock, retried, update_by_ids
from scheduling.exceptions import InvalidTask, LeaseLost, QueueUnavailable
from scheduling.limits import MOST_LEASED
from scheduling.models import TaskInfo, TaskInfoQuerySet, by_ids, close_executed
from scheduling.queues import get_queue
from scheduling.services.commits import Commit
from scheduling.services.retry import record_expired_lease, record_failure
from scheduling.validation import checked_priority, checked_seconds, checked_task_type

logger = logging.getLogger(__name__)


def poll(task_type: str, priority: int = 0, limit: int = 1, lease: float | None = None) -> list[TaskInfo]:
    """Lease up to `limit` due tasks of a topic, oldest due first, for `lease` seconds (default: `LEASE`).

    Each has a `lease_token` and `leased_until`; unless it is completed or failed by then, it is due again, so a task
    may run twice: use its id as idempotency key. One whose last attempt ended with its lease is dead. Without due tasks
    the list is empty.
    """
    topic = checked_task_type(task_type), checked_priority(priority)
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST_LEASED:
        raise InvalidTask(
            _("%(name)s must be a whole number from %(least)d to %(most)d, not %(value)r")
            % {"name": "limit", "least": 1, "most": MOST_LEASED, "value": limit}
        )
    seconds = checked_seconds(conf.LEASE if lease is None else lease, what="lease", most=conf.MAX_LEASE)
    # Outside of the transaction, which locks rows: a slow Redis must not hold them.
    _pop_hints(topic[0], limit)
    # Programs mostly poll in vain, which takes one statement then, and no transaction.
    if not compiled_once(_due_id, *topic):
        return []
    return _lease_due(*topic, limit, seconds)


def _pop_hints(task_type: str, limit: int) -> None:
    """Pop the hints of tasks that are leased from SQL, so that the ready list does not grow."""
    clock.measure_if_stale(conf.CLOCK_INTERVAL)
    try:
        get_queue().pop([task_type], limit, now_ms=int(clock.timestamp() * 1000))
    except QueueUnavailable as error:
        logger.warning("%s", error)


@retried
def _lease_due(task_type: str, priority: int, limit: int, seconds: float) -> list[TaskInfo]:
    tasks: list[TaskInfo] = []
    while not tasks and (found := compiled_once(_oldest_due, task_type, priority, limit)):
        # What was leased too often is dead now, and the next ones are looked at, so that a program does not get an
        # empty list while others wait.
        tasks = [task for task in found if not record_expired_lease(task)]
    if tasks:
        leased_until = read_database_clock() + timedelta(seconds=seconds)
        for task in tasks:
            task.attempts += 1
            task.leased_until, task.lease_token = leased_until, secrets.token_hex(16)
        tokens = [(task.task_id, task.attempts, task.lease_token) for task in tasks]
        update_by_ids(TaskInfo, ["attempts", "lease_token"], tokens, leased_until=leased_until)
    return tasks


def _due_id(task_type: str, priority: int) -> QuerySet[TaskInfo, int]:
    return _due(task_type, priority).values_list("task_id", flat=True)[:1]


def _oldest_due(task_type: str, priority: int, limit: int) -> TaskInfoQuerySet:
    return _due(task_type, priority)[:limit].select_for_update(skip_locked=True)


def _due(task_type: str, priority: int) -> TaskInfoQuerySet:
    return TaskInfo.objects.topic(task_type, priority).due(database_now()).free(database_now()).oldest_first()


def renew_lease(task: TaskInfo, seconds: float) -> bool:
    """Extend a lease by `seconds`; False if the task was leased again, rescheduled, cancelled or closed."""
    until = read_database_clock() + timedelta(seconds=seconds)
    # By the token alone: a lease that has just expired is as good as another's until another has it.
    return bool(by_ids([task.task_id]).filter(lease_token=task.lease_token).update(leased_until=until))


@retried
def complete_task(task_id: int, *, lease_token: str) -> None:
    """Close a leased task as executed. Raises `LeaseLost` if it was leased again, rescheduled, cancelled or closed."""
    commit = Commit()
    task = _leased(task_id, lease_token)
    commit.executes([task])
    close_executed([task_id], attempts=task.attempts, worker="outside")
    by_ids([task_id]).delete()


@retried
def fail_task(task_id: int, *, lease_token: str, error: str) -> bool:
    """Record that a leased task failed; True if it will be retried after a backoff.

    Raises `LeaseLost` as `complete_task` does.
    """
    return record_failure(_leased(task_id, lease_token), error, worker="outside")


@retried
def postpone_task(task_id: int, *, lease_token: str, seconds: float) -> None:
    """Release a leased task that trouble kept from running: it is free after `seconds`, and no attempt counts.

    Raises `LeaseLost` as `complete_task` does.
    """
    task = _leased(task_id, lease_token)
    until = read_database_clock() + timedelta(seconds=seconds)
    by_ids([task_id]).update(attempts=max(task.attempts - 1, 0), leased_until=until, lease_token="")


def _leased(task_id: int, lease_token: str) -> TaskInfo:
    task = by_ids([task_id]).select_for_update().first()
    # An expired lease still counts until another program leases the task: the work was done, and only once.
    given = str(lease_token).encode(errors="replace")
    if task is None or not task.lease_token or not secrets.compare_digest(task.lease_token.encode(), given):
        raise LeaseLost
    return task
