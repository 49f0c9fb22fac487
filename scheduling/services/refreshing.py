"""Refresh and sweep: load the coming window into the queue and requeue lost hints.

Everything here is additive and idempotent: no key is emptied first, and the row check drops stale hints.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db import transaction

from scheduling import registry
from scheduling.conf import conf
from scheduling.database import (
    EpochMicroseconds,
    clock,
    database_now,
    log_failure,
    read_database_clock,
    retried,
    trouble_of,
)
from scheduling.exceptions import ReconcilersFailed
from scheduling.models import TaskInfo, by_ids, topics_with_tasks
from scheduling.queues import DelayQueue, Hint, Topic, get_queue
from scheduling.services.changing import reopen_recoverable
from scheduling.services.retry import record_expired_lease

logger = logging.getLogger(__name__)

_READY_SAMPLE = 100  # ready ids read per topic; at least one of them should still be pending
_SAME_INSTANT_PAGE = 20_000  # rows per page: MariaDB scans an instant from its beginning for each (0.1 µs a row)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OUT_OF_ORDER = timedelta(seconds=1)  # a worker may be running tasks due this much before the next ready one


@dataclass(slots=True)
class RefreshReport:
    """Counts of one refresh pass."""

    loaded: int = 0  #: hints that were missing in Redis
    promoted: int = 0  #: hints that became ready
    requeued: int = 0  #: overdue tasks requeued, and expired leases released
    reconciled: int = 0  #: rows repaired by the reconcilers
    skipped: bool = False  #: another node holds the refresh lock


def refresh(*, pause: Callable[[], None] = lambda: None) -> RefreshReport:
    """One pass: load the window, promote what is due, free expired leases, sweep, reconcile.

    `pause` is called between its parts, of some milliseconds each, and may wait while the process has more urgent work;
    but not after hints were lost, since other tasks may be late without theirs.

    Only the holder of the refresh lock runs it; any other caller returns at once with `skipped`. Raises when the
    database fails; without Redis it still reconciles and frees leases. A reconciler that raises does not stop the
    pass: `ReconcilersFailed` names it at the end, with the report.
    """
    queue = get_queue()
    # The lock saves work only: two passes at once are harmless, since all that they do may be done twice.
    token = queue.acquire(conf.REFRESH_LOCK)
    if token is None:
        return RefreshReport(skipped=True)
    try:
        clock.measure()
        return _pass(queue, pause)
    finally:
        queue.release(token)


def _pass(queue: DelayQueue, pause: Callable[[], None]) -> RefreshReport:
    report = RefreshReport()
    # First, because the window that is loaded next then has these tasks, too.
    report.requeued += sum(_free_expired_leases(topic) for topic in _topics_due_before(clock.now()))

    lost = 0
    known_ms = _now_ms() + int((conf.PRELOAD_WINDOW - 2 * conf.REFRESH_INTERVAL) * 1000)  # loaded by the one before

    def wait() -> None:
        if not lost:
            pause()

    for page in _window_pages(clock.now(), wait):
        pushed = queue.push(page, now_ms=_now_ms())
        report.loaded += pushed.added
        lost += max(0, pushed.added - sum(hint.due_ms > known_ms for hint in page))
        report.promoted += pushed.promoted
    report.promoted += queue.promote(now_ms=_now_ms())
    report.requeued += sweep(queue)
    report.reconciled += reopen_recoverable()  # what reconcilers add, they push
    failed = [name for reconcile in registry.reconcilers() if (name := _reconcile(reconcile, report, wait))]
    if failed:
        raise ReconcilersFailed(failed, report)
    return report


def _reconcile(reconcile: registry.Reconciler, report: RefreshReport, pause: Callable[[], None]) -> str:
    """Run one reconciler; returns its name if it failed."""
    pause()
    try:
        report.reconciled += reconcile()
    except Exception as error:
        trouble = trouble_of(error)
        if trouble and trouble.ends_connection:
            raise
        name = f"{reconcile.__module__}.{getattr(reconcile, '__qualname__', reconcile)}"
        log_failure(logger, f"{name} failed; the pass continues", error)
        return name
    return ""


def sweep(queue: DelayQueue | None = None, *, grace: float | None = None) -> int:
    """Requeue tasks that are overdue by `grace` seconds (default: `SWEEP_GRACE`) and not running. Returns their number.

    This bounds the delay of every lost hint: a failed push, a lost pop, a dead worker, an emptied Redis. In a topic
    with ready hints, only tasks due before those are requeued, so that a backlog is not queued twice. Task types
    without a handler here are left to processes that have one; external programs need no hints.
    """
    queue = queue or get_queue()
    before = read_database_clock() - timedelta(seconds=conf.SWEEP_GRACE if grace is None else grace)
    handled = registry.task_types()
    overdue = [topic for topic in _topics_due_before(before) if topic[0] in handled]
    requeued = 0
    # Ready hints show that the topic is only behind: requeueing its backlog each 250 ms would fill Redis with it.
    for topic, ready in queue.ready(overdue, _READY_SAMPLE).items() if overdue else ():
        if ready:
            ids = _out_of_order_ids(topic, ready)
        else:
            ids = TaskInfo.objects.overdue_ids(*topic, now=before, limit=conf.SWEEP_LIMIT)
        if ids:
            queue.requeue(topic, ids)
        requeued += len(ids)
    return requeued


def _out_of_order_ids(topic: Topic, ready: Sequence[int]) -> list[int]:
    """Ids of the oldest tasks that were due well before the next ready ones and are not running.

    Tasks become ready in the order of their due time (or promise, if later), so the hints of these are lost.
    """
    first = min((task.due for task in by_ids(ready)), default=None)
    if first is None:
        return []  # none of them is pending any more; the next sweep reads others
    before = first - _OUT_OF_ORDER
    # Found without locks, then locked by id: a locking read by this condition would lock along the due index.
    oldest = TaskInfo.objects.topic(*topic).due(before).free(database_now()).oldest_first()[: conf.BATCH_SIZE]
    ids = [task_id for task_id, promised in oldest.values_list("task_id", "promised_at") if promised <= before]
    with transaction.atomic():
        free = set(by_ids(ids).due(before).free(database_now()).locked().values_list("task_id", flat=True))
    return [task_id for task_id in ids if task_id in free]


def _now_ms() -> int:
    return int(clock.timestamp() * 1000)


def _topics_due_before(moment: datetime) -> list[Topic]:
    return [(task_type, priority) for task_type, priority, first in topics_with_tasks() if first <= moment]


def _window_pages(now: datetime, pause: Callable[[], None]) -> Iterator[list[Hint]]:
    """Hints of all tasks due within the window, in keyset pages; overdue tasks are left to the sweep."""
    start = now - timedelta(seconds=conf.SWEEP_GRACE)
    end = now + timedelta(seconds=conf.PRELOAD_WINDOW)
    for task_type, priority, first in topics_with_tasks():
        if first <= end:
            yield from _topic_pages((task_type, priority), start, end, pause)


def _topic_pages(topic: Topic, start: datetime, end: datetime, pause: Callable[[], None]) -> Iterator[list[Hint]]:
    window = TaskInfo.objects.topic(*topic).filter(execute_time__lte=end).oldest_first()
    hints = window.values_list("task_id", EpochMicroseconds("execute_time"))  # covered by the due index
    size = conf.PAGE_SIZE
    pause()
    start = max(start, clock.now() - timedelta(seconds=conf.SWEEP_GRACE))  # what became overdue is left to the sweep
    rows = list(hints.filter(execute_time__gte=start)[:size])
    while rows:
        # All pages of what was read, at once: the rows may change.
        for first in range(0, len(rows), size):
            yield [Hint(task_id, topic, -(-due // 1000)) for task_id, due in rows[first : first + size]]
        last_id, last_due = rows[-1]
        # Before the next ones take as much memory.
        rows.clear()
        start = _EPOCH + timedelta(microseconds=last_due)
        # A keyset in two parts, each a range of the due index; one condition over both columns would not be.
        rest_of_instant = hints.filter(execute_time=start, task_id__gt=last_id)
        pause()
        rows = list(rest_of_instant[:_SAME_INSTANT_PAGE]) or list(hints.filter(execute_time__gt=start)[:size])


def _free_expired_leases(topic: Topic) -> int:
    """Release expired leases; a task whose attempts all ended like that is dead."""
    expired = TaskInfo.objects.topic(*topic).due(database_now()).filter(leased_until__lte=database_now())
    # Without a token it was deferred after a refusal, not leased.
    expired = expired.exclude(lease_token="")
    return sum(1 for task_id in expired.values_list("task_id", flat=True) if _free_lease(task_id))


@retried
def _free_lease(task_id: int) -> bool:
    still_expired = TaskInfo.objects.filter(task_id=task_id, leased_until__lte=database_now())
    # One row per transaction, skipping locked ones: a worker or program that is ending its lease at this moment wins.
    task = still_expired.select_for_update(skip_locked=True).first()
    if task is None:
        return False
    if record_expired_lease(task):
        return False
    TaskInfo.objects.filter(task_id=task_id).update(leased_until=None, lease_token="")
    return True
