"""Keeping the queue in step with SQL: loading the coming window, and giving lost hints out again.

Everything here is additive and may be done twice: no key is emptied first, and the row check drops what is stale.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from scheduling import registry
from scheduling.clock import clock, database_now
from scheduling.conf import conf
from scheduling.exceptions import ReconcilersFailed
from scheduling.failures import trouble_of
from scheduling.models import TaskInfo, topics_with_tasks
from scheduling.queues import DelayQueue, Hint, Topic, get_queue, to_milliseconds
from scheduling.services.changing import rearm
from scheduling.services.failing import max_attempts, record_failure
from scheduling.transactions import log_failure, retried

logger = logging.getLogger(__name__)


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
    clock.measure()
    token = queue.acquire(conf.REFRESH_LOCK)
    if token is None:
        return RefreshReport(skipped=True)
    try:
        return _pass(queue)
    finally:
        queue.release(token)


def _pass(queue: DelayQueue) -> RefreshReport:
    report = RefreshReport()
    report.healed += rearm()
    failed = [name for reconcile in registry.healers() if (name := _reconcile(reconcile, report))]
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


def _reconcile(reconcile: registry.Healer, report: RefreshReport) -> str:
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

    Only topics with nothing ready are looked into, so a backlog is not queued twice. This bounds every lost
    hint: a failed push, a lost pop, a dead worker, an emptied Redis. Returns how many hints were given out.
    """
    queue = queue or get_queue()
    before = clock.now() - timedelta(seconds=conf.SWEEP_GRACE if grace is None else grace)
    overdue = _topics_due_before(before)
    requeued = 0
    for topic in queue.drained(overdue) if overdue else ():
        ids = TaskInfo.objects.overdue_ids(*topic, now=before, limit=conf.SWEEP_LIMIT)
        due_ms = int(before.timestamp() * 1000)
        queue.push([Hint(task_id, topic, due_ms) for task_id in ids], now_ms=_now_ms())
        requeued += len(ids)
    return requeued


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
    last_id = -1
    while True:
        later = hints.filter(execute_time__gte=start).exclude(execute_time=start, task_id__lte=last_id)
        page = list(later[: conf.PAGE_SIZE])
        if page:
            yield [Hint(task_id, topic, to_milliseconds(due)) for task_id, due in page]
            last_id, start = page[-1]
        if len(page) < conf.PAGE_SIZE:
            return


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
