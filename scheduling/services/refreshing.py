"""Keeping the queue in step with SQL: loading the coming window, and giving lost hints out again.

Everything here is additive and may be done twice: no key is emptied first, and the row check drops what is stale.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from scheduling import registry
from scheduling.clock import clock, database_now, read_database_clock
from scheduling.conf import conf
from scheduling.exceptions import ReconcilersFailed
from scheduling.failures import trouble_of
from scheduling.models import TaskInfo, by_ids, topics_with_tasks
from scheduling.queues import DelayQueue, Hint, Topic, get_queue, to_milliseconds
from scheduling.services.changing import rearm
from scheduling.services.retry import max_attempts, record_failure
from scheduling.transactions import log_failure, retried

logger = logging.getLogger(__name__)

_LOOKED_AT = 100  # ready ids of which one at least should still be pending
_SAME_INSTANT = 100_000  # rows read at once: MariaDB reads an instant from its beginning for each page of it
_OUT_OF_TURN = timedelta(seconds=1)  # a worker may have in hand what is due so much earlier than what comes next


@dataclass(slots=True)
class RefreshReport:
    """What one pass did."""

    loaded: int = 0  #: hints that Redis did not have
    promoted: int = 0  #: hints that became ready
    requeued: int = 0  #: overdue tasks given out again, and expired leases freed
    healed: int = 0  #: repaired by the reconcilers of other apps
    skipped: bool = False  #: another node holds the lock and is at it


def refresh() -> RefreshReport:
    """One pass: load the window, promote what is due, free expired leases, sweep, reconcile.

    Only the holder of the refresh lock does it; who does not get the lock returns at once with `skipped`.
    Raises when the database fails; without Redis it reconciles and frees leases all the same. Reconcilers that raise
    keep nothing else from being done: `ReconcilersFailed` names them at the end, with the report.
    """
    queue = get_queue()
    token = queue.acquire(conf.REFRESH_LOCK)
    if token is None:
        return RefreshReport(skipped=True)
    try:
        clock.measure()
        return _pass(queue)
    finally:
        queue.release(token)


def _pass(queue: DelayQueue) -> RefreshReport:
    report = RefreshReport()
    report.healed += rearm()
    failed = [name for reconcile in registry.reconcilers() if (name := _reconcile(reconcile, report))]
    report.requeued += sum(_free_expired_leases(topic) for topic in _topics_due_before(clock.now()))
    for page in _pages_of_the_window(clock.now()):
        pushed = queue.push(page, now_ms=_now_ms())
        report.loaded += pushed.added
        report.promoted += pushed.promoted
    report.promoted += queue.promote(now_ms=_now_ms())
    report.requeued += sweep(queue)
    if failed:
        raise ReconcilersFailed(failed, report)
    return report


def _reconcile(reconcile: registry.Reconciler, report: RefreshReport) -> str:
    """Run one reconciler; returns its name if it failed."""
    try:
        report.healed += reconcile()
    except Exception as error:
        trouble = trouble_of(error)
        if trouble and trouble.ends_connection:
            raise
        name = f"{reconcile.__module__}.{getattr(reconcile, '__qualname__', reconcile)}"
        log_failure(logger, f"{name} failed; everything else goes on", error)
        return name
    return ""


def sweep(queue: DelayQueue | None = None, *, grace: float | None = None) -> int:
    """Give out again what is overdue by `grace` seconds (default: `SWEEP_GRACE`) and that nobody is running.

    This bounds every lost hint: a failed push, a lost pop, a dead worker, an emptied Redis. Where something is ready,
    only what should have come before it is given out, so that a backlog is not queued twice. What has no handler here
    is left to processes that have one; programs outside need no hints. Returns how many hints were given out.
    """
    queue = queue or get_queue()
    before = read_database_clock() - timedelta(seconds=conf.SWEEP_GRACE if grace is None else grace)
    handled = registry.task_types()
    overdue = [topic for topic in _topics_due_before(before) if topic[0] in handled]
    requeued = 0
    for topic, ready in queue.ready(overdue, _LOOKED_AT).items() if overdue else ():
        if ready:
            ids = _passed_over(topic, ready)
        else:
            ids = TaskInfo.objects.overdue_ids(*topic, now=before, limit=conf.SWEEP_LIMIT)
        if ids:
            queue.requeue(topic, ids)
        requeued += len(ids)
    return requeued


def _passed_over(topic: Topic, ready: Sequence[int]) -> list[int]:
    """The oldest tasks that were due well before those that are given out next, and that nobody is running.

    Tasks become ready in the order in which they are due, or were promised if that was later, so their hints are lost.
    """
    first = min((task.due for task in by_ids(ready)), default=None)
    if first is None:
        return []  # none of them is pending any more; the next look finds others
    before = first - _OUT_OF_TURN
    oldest = TaskInfo.objects.topic(*topic).due(before).free(database_now()).oldest_first()[: conf.BATCH_SIZE]
    ids = [task_id for task_id, promised in oldest.values_list("task_id", "promised_at") if promised <= before]
    with transaction.atomic():
        free = set(by_ids(ids).due(before).free(database_now()).locked().values_list("task_id", flat=True))
    return [task_id for task_id in ids if task_id in free]


def _now_ms() -> int:
    return int(clock.timestamp() * 1000)


def _topics_due_before(moment: datetime) -> list[Topic]:
    return [(task_type, priority) for task_type, priority, first in topics_with_tasks() if first <= moment]


def _pages_of_the_window(now: datetime) -> Iterator[list[Hint]]:
    """Hints of all tasks due within the window, in keyset pages; what is overdue is the sweep's business."""
    start = now - timedelta(seconds=conf.SWEEP_GRACE)
    end = now + timedelta(seconds=conf.PRELOAD_WINDOW)
    for task_type, priority, first in topics_with_tasks():
        if first <= end:
            yield from _pages_of_topic((task_type, priority), start, end)


def _pages_of_topic(topic: Topic, start: datetime, end: datetime) -> Iterator[list[Hint]]:
    window = TaskInfo.objects.topic(*topic).filter(execute_time__lte=end).oldest_first()
    hints = window.values_list("task_id", "execute_time")  # all of it is in the due index
    size = conf.PAGE_SIZE
    rows = list(hints.filter(execute_time__gte=start)[:size])
    while rows:
        for first in range(0, len(rows), size):
            yield [Hint(task_id, topic, to_milliseconds(due)) for task_id, due in rows[first : first + size]]
        last_id, start = rows[-1]
        rest_of_instant = hints.filter(execute_time=start, task_id__gt=last_id)
        rows = list(rest_of_instant[:_SAME_INSTANT]) or list(hints.filter(execute_time__gt=start)[:size])


def _free_expired_leases(topic: Topic) -> int:
    """Take expired leases back; a task whose every attempt ended so is given up."""
    expired = TaskInfo.objects.topic(*topic).due(database_now()).filter(leased_until__lte=database_now())
    expired = expired.exclude(lease_token="")  # without one, no program has it: it waited, which needs no end
    return sum(1 for task_id in expired.values_list("task_id", flat=True) if _free_lease(task_id))


@retried
def _free_lease(task_id: int) -> bool:
    still_expired = TaskInfo.objects.filter(task_id=task_id, leased_until__lte=database_now())
    task = still_expired.select_for_update(skip_locked=True).first()
    if task is None:
        return False
    if task.attempts >= max_attempts(task.task_type):
        record_failure(task, f"No program finished it within its lease, {task.attempts} times.", worker="outside")
        return False
    TaskInfo.objects.filter(task_id=task_id).update(leased_until=None, lease_token="")
    return True
