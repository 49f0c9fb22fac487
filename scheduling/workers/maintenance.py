"""Periodic work of a worker: the sweep, refresh and prune, and the heartbeat, in a thread each.

None delays a due task: the worker's own thread only pops, runs and sleeps. Nor does a refresh that waits for locks, or
takes long, delay the sweep or the heartbeat.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from types import TracebackType
from typing import Self

from django.db import connections
from django.db.models import Q

from scheduling import identity
from scheduling.conf import conf
from scheduling.database import clock, trouble_of
from scheduling.incidents import REPORT_INTERVAL, incidents
from scheduling.metrics import refreshed, requeued, snapshot
from scheduling.models import WorkerHeartbeat
from scheduling.queues import DelayQueue
from scheduling.services.circuit_breaker import Breakers, summary
from scheduling.services.pruning import prune
from scheduling.services.refreshing import refresh, sweep

logger = logging.getLogger(__name__)

_WAITS = 2.0  # seconds of a refresh in which it makes room for tasks; a worker may be busy all the time
_MAX_PAUSE = 1.0  # seconds between two attempts at what fails
_GLANCE = 0.001  # seconds between two looks whether the worker is busy
_DELETE_AFTER = timedelta(days=1)  # age at which the heartbeat of a dead worker is deleted


class Periodic:
    """Work that one of all workers does in each period, independent of any server's clock.

    Each worker waits by its own monotonic clock, and starts over when it sees that another has done the work.
    """

    def __init__(self, queue: DelayQueue, name: str) -> None:
        self._queue = queue
        self._name = name
        self._seen: int | None = None
        self._due_at = float("-inf")

    def is_due(self, period: float) -> bool:
        """Whether to do it now. The next time is a period from now unless `wait` is called."""
        count, seen = self._queue.passes(self._name), self._seen
        if count is None or (seen is not None and (count < seen or seen < 0 <= count)):
            self._due_at = float("-inf")  # the queue has lost the count, or another queue serves
        elif seen is not None and count > seen:
            self.wait(period)
        self._seen = count
        if time.monotonic() < self._due_at:
            return False
        self.wait(period)
        return True

    def wait(self, seconds: float) -> None:
        """Not due again until `seconds` have passed."""
        self._due_at = time.monotonic() + seconds

    def done(self) -> None:
        """Count the pass, for the other workers."""
        self._seen = self._queue.count_pass(self._name)


class Maintenance:
    """Runs `sweep`, `refresh_and_prune` and `beat_if_due` every `SWEEP_INTERVAL` while the `with` block lasts."""

    def __init__(
        self,
        worker: str,
        task_types: list[str],
        queue: DelayQueue,
        breakers: Breakers | None = None,
        is_busy: Callable[[], bool] = lambda: False,
    ) -> None:
        """`is_busy` is whether the worker runs tasks, or has some that become due within some milliseconds."""
        self.worker = worker
        self.is_busy = is_busy
        self.task_types = task_types
        self.queue = queue
        self.breakers = breakers or Breakers()
        self._refresh = Periodic(queue, "refresh")
        self._prune = Periodic(queue, "prune")
        self._beat_at = float("-inf")
        self._reported: set[tuple[str, str]] = set()
        self._ended = threading.Event()
        self._threads = [
            threading.Thread(target=self._repeat, args=[self.sweep], name="sweep", daemon=True),
            threading.Thread(target=self._repeat, args=[self.refresh_and_prune], name="maintenance", daemon=True),
            threading.Thread(target=self._beat_until_ended, name="heartbeat", daemon=True),
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _repeat(self, part: Callable[[], None]) -> None:
        pause = conf.SWEEP_INTERVAL
        while not self._ended.is_set():
            try:
                part()
                pause = conf.SWEEP_INTERVAL
            except Exception:  # it is logged
                connections.close_all()
                # While the database is away, all workers of all hosts retry: not four times a second.
                pause = min(2 * pause, _MAX_PAUSE)
            self._ended.wait(pause)
        connections.close_all()

    def _beat_until_ended(self) -> None:
        self._repeat(self.beat_if_due)
        self._note_stop()

    def sweep(self) -> None:
        """Requeue lost hints."""
        with incidents.watch(logger, "sweep", "a sweep failed and is retried"):
            count = sweep(self.queue)
        if count:
            requeued.inc(count)
            incidents.failed(logger, "hints", f"requeued {count} overdue tasks", level=logging.WARNING)
        else:
            incidents.succeeded("hints", quiet=REPORT_INTERVAL)

    def refresh_and_prune(self) -> None:
        """Refresh and prune if they are due."""
        self._run_if_due(self._refresh, conf.REFRESH_INTERVAL, self.refresh)
        self._run_if_due(self._prune, conf.PRUNE_INTERVAL, self.prune)

    def _run_if_due(self, periodic: Periodic, period: float, part: Callable[[], None]) -> None:
        name = part.__name__
        with incidents.watch(logger, f"due: {name}", f"looking whether to {name} failed and is retried"):
            is_due = periodic.is_due(period)
        if not is_due:
            return
        try:
            with incidents.watch(logger, name, f"{name} failed and is retried"):
                part()
        except Exception as error:
            if (trouble := trouble_of(error)) and trouble.ends_connection:
                periodic.wait(_MAX_PAUSE)
            raise

    def prune(self) -> None:
        """Delete a page of old records."""
        next(prune(), 0)
        self._prune.done()

    def refresh(self) -> None:
        """Refresh; if another node holds the lock, try again soon, because it may have died."""
        until = time.monotonic() + _WAITS
        report = refresh(pause=lambda: self.make_room(until))
        logger.debug("%s", report)
        if report.skipped:
            self._refresh.wait(conf.MAX_SLEEP)
        else:
            self._refresh.done()
            requeued.inc(report.requeued)
            refreshed.set(clock.timestamp())

    def make_room(self, until: float) -> None:
        """Wait while the worker is busy, but not beyond this monotonic time, nor when it ends."""
        while self.is_busy() and time.monotonic() < until and not self._ended.wait(_GLANCE):
            pass

    def beat_if_due(self) -> None:
        """Write a heartbeat at its interval, and at once when the set of refused work changes."""
        is_due = time.monotonic() - self._beat_at > conf.HEARTBEAT_INTERVAL
        if is_due or summary(self.breakers.report()) != self._reported:
            with incidents.watch(logger, "heartbeat", "a heartbeat failed and is retried"):
                self.beat()

    def beat(self) -> None:
        """Write a heartbeat, see whether the database is another server, and warn of a clock that is wrong."""
        # A failover keeps the connection's address, but not the server: keys in Redis follow.
        identity.confirm()
        self._compare_clocks()
        now, refused = clock.now(), self.breakers.report()
        values = {
            "seen_at": now,
            "clock_offset_ms": -clock.offset * 1000,
            "queue": self.queue.name,
            "refused": refused,
            "metrics": snapshot(),
        }
        # The row exists but for the first beat, so one statement is enough.
        if not WorkerHeartbeat.objects.filter(name=self.worker).update(**values):
            WorkerHeartbeat.objects.filter(Q(seen_at__lt=now - _DELETE_AFTER) | Q(stopped_at__lte=now)).delete()
            WorkerHeartbeat.objects.create(name=self.worker, task_types=self.task_types, started_at=now, **values)
        self._beat_at, self._reported = time.monotonic(), summary(refused)

    def _compare_clocks(self) -> None:
        if abs(clock.offset) <= conf.CLOCK_TOLERANCE:
            incidents.succeeded("clock")
            return
        text = f"this machine's clock is {-clock.offset * 1000:+.0f} ms off the database's"
        incidents.failed(logger, "clock", text, level=logging.WARNING)

    def _note_stop(self) -> None:
        """Only the worker that was seen last is of interest, so its row replaces those that were stopped before."""
        try:
            now = clock.now()
            WorkerHeartbeat.objects.filter(name=self.worker).update(seen_at=now, stopped_at=now)
            WorkerHeartbeat.objects.filter(stopped_at__lt=now).delete()
        except Exception as error:
            text = "the stop of the worker could not be noted; its heartbeat ages instead"
            incidents.failed(logger, "heartbeat", text, error)
        connections.close_all()
