"""The worker: runs due tasks, sleeps until the next due time, and is woken when an earlier task arrives."""

from __future__ import annotations

import gc
import logging
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime

from django.db import connections

from scheduling import registry
from scheduling.circuit_breaker import Breakers
from scheduling.clock import clock
from scheduling.conf import conf
from scheduling.exceptions import SchedulingError
from scheduling.maintenance import Maintenance
from scheduling.queues import DelayQueue, get_queue, make_queue
from scheduling.services.refreshing import sweep
from scheduling.services.running import RunReport, run_once
from scheduling.side_effects import SideEffects, run_side_effects
from scheduling.transactions import log_failure

logger = logging.getLogger(__name__)

_MAX_PAUSE = 1.0  # seconds between two rounds while the database is away
_IDLE_PAUSE = 0.01  # seconds after a round that handled nothing
_AHEAD = 0.002  # seconds before a task is due when the worker stops listening for wake-ups and pops its hint
_SWITCH_INTERVAL = 0.0005  # seconds the maintenance thread may keep the interpreter when the worker wants it
_COLLECTING_TIME = 0.1  # seconds until the next task that allow for a collection
_GARBAGE, _TOO_MUCH_GARBAGE = 2_000, 200_000  # new objects that are worth one, and that are not left any longer
_MAX_IDLE_ROUNDS = 200  # idle rounds after which `drain` leaves the rest to the next run


class Worker:
    """Runs the tasks of some types (default: all that have a handler here) until it is stopped."""

    def __init__(
        self, *, task_types: Collection[str] = (), batch: int | None = None, queue: DelayQueue | None = None
    ) -> None:
        self.task_types = runnable(task_types)
        self.at_least_once_types = (
            registry.at_least_once_types() if not task_types else registry.at_least_once_types() & set(task_types)
        )
        self.batch = batch or conf.BATCH_SIZE
        self.name = f"{socket.gethostname()}:{os.getpid()}"[:100]
        self.queue = queue or get_queue()
        self.breakers = Breakers()
        self.beat: Callable[[], None] = lambda: None
        self.total = RunReport()
        self.busy_since: datetime | None = None  # the end of the last round without hints
        self.has_backlog = threading.Event()  # the last round popped as many hints as it may
        self.idle_rounds = 0  # rounds in a row whose hints were all stale or whose rows were locked

    def run(
        self, stopping: threading.Event, *, seconds: float | None = None, beat: Callable[[], None] = lambda: None
    ) -> RunReport:
        """Work until `stopping` is set or `seconds` are over, and finish the current batch. Returns the totals.

        `beat` is called before each round and each transaction, at least every `MAX_SLEEP` while nothing hangs.
        """
        self.beat = beat
        deadline = time.monotonic() + (float("inf") if seconds is None else seconds)
        sys.setswitchinterval(_SWITCH_INTERVAL)
        gc.freeze()  # loaded modules stay, so no collection has to scan them (60 ms)
        gc.disable()  # garbage is collected when there is time, see `_collect_garbage`
        with ExitStack() as stack:
            stack.enter_context(Maintenance(self.name, sorted(self.task_types), self.queue, self.breakers))
            stack.enter_context(SideEffects(self.at_least_once_types))
            for other in self._others():
                stack.enter_context(self.in_thread(other, stopping, deadline))
            self._loop(stopping, deadline, beat)
        return self.total

    def _loop(self, stopping: threading.Event, deadline: float, beat: Callable[[], None] = lambda: None) -> None:
        failures, due_ms = 0, None
        while not stopping.is_set() and time.monotonic() < deadline:
            beat()
            try:
                if due_ms is None:
                    clock.measure_if_stale()  # also detects in time that an idle connection has died
                due_ms = None if self.run_round(due_ms) else self.sleep_until_due(deadline)
                failures = 0
            except Exception as error:
                log_failure(logger, "a round failed; its tasks are still pending, the worker continues", error)
                connections.close_all()
                failures += 1
                stopping.wait(min(_MAX_PAUSE, 0.05 * 2**failures))

    def _others(self) -> Iterator[Worker]:
        """Those in further threads: one for the types that may wait for row locks, one that helps with the rest."""
        waiting = self.task_types & registry.types_that_wait_for_locks()
        if waiting and waiting != self.task_types:
            self.task_types -= waiting
            yield Worker(task_types=waiting, batch=self.batch, queue=make_queue(conf.REDIS_URL))
        if self.task_types:
            yield Helper(self)

    @contextmanager
    def in_thread(self, other: Worker, stopping: threading.Event, deadline: float = float("inf")) -> Iterator[None]:
        """Let another worker run beside this one while the block lasts, which ends with `stopping` or the deadline."""
        other.breakers = self.breakers.for_thread()
        name = "helper" if isinstance(other, Helper) else "waiting"
        thread = threading.Thread(target=other._run_in_thread, args=[stopping, deadline], name=name, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self.has_backlog.set()  # wakes the helper, so that it ends
            thread.join()
            self.total += other.total

    def _run_in_thread(self, stopping: threading.Event, deadline: float) -> None:
        try:
            self._loop(stopping, deadline)
        finally:
            self.queue.close()
            connections.close_all()

    def drain(self) -> RunReport:
        """Run due tasks until there are none, including those without a hint in Redis. Returns the totals."""
        clock.measure()
        more = True
        while more and self.idle_rounds < _MAX_IDLE_ROUNDS:
            while self.run_round() and self.idle_rounds < _MAX_IDLE_ROUNDS:
                pass
            sweep(self.queue, grace=0)
            more = self.run_round()
        run_side_effects(self.at_least_once_types)
        return self.total

    def run_round(self, due_ms: int | None = None) -> bool:
        """Run one round; True if hints were popped, so that there may be more. `due_ms` is as in `run_once`."""
        began = clock.now()
        report = run_once(
            self.batch,
            task_types=self.task_types,
            worker=self.name,
            queue=self.queue,
            breakers=self.breakers,
            beat=self.beat,
            busy_since=self.busy_since,
            due_ms=due_ms,
        )
        self.busy_since = (self.busy_since or began) if report.popped else None
        if report.popped >= self.batch:
            self.has_backlog.set()
        self.total += report
        self._collect_garbage()
        if report.handled:
            logger.info(
                "executed=%d failed=%d dropped=%d late_max_ms=%.1f",
                report.executed, report.failed, report.dropped, report.late_max.total_seconds() * 1000,
            )  # fmt: skip
        self.idle_rounds = 0 if report.handled or not report.popped else self.idle_rounds + 1
        if self.idle_rounds:
            time.sleep(_IDLE_PAUSE)
        return report.popped > 0

    def sleep_until_due(self, deadline: float = float("inf")) -> int | None:
        """Sleep until shortly before the next due time that the queue knows of, `MAX_SLEEP` at most.

        Returns the due time if it comes next.
        """
        due_ms = self.total.next_due_ms
        seconds = min(_until(due_ms) - _AHEAD, conf.MAX_SLEEP, deadline - time.monotonic())
        if seconds > 0:
            self.queue.wait(seconds, before_ms=due_ms)
        return due_ms if 0 < _until(due_ms) < 2 * _AHEAD else None

    def _collect_garbage(self) -> None:
        """Collect while there is nothing to run for a while, or after many rounds."""
        has_time = _until(self.total.next_due_ms) > _COLLECTING_TIME
        if has_time and gc.get_count()[0] > _GARBAGE or gc.get_count()[0] > _TOO_MUCH_GARBAGE:
            gc.collect()


class Helper(Worker):
    """Takes part in a worker's bursts, in another thread: while the database works for one, the other prepares."""

    def __init__(self, worker: Worker) -> None:
        super().__init__(task_types=worker.task_types, batch=worker.batch, queue=make_queue(conf.REDIS_URL))
        self.has_backlog = worker.has_backlog
        self._worker = worker

    def run_round(self, due_ms: int | None = None) -> bool:
        """Run one round if there is a backlog."""
        self.busy_since = self.busy_since or self._worker.busy_since
        return self.has_backlog.is_set() and super().run_round()

    def sleep_until_due(self, deadline: float = float("inf")) -> None:
        """Sleep until there is a backlog."""
        self.has_backlog.clear()
        self.has_backlog.wait(min(conf.MAX_SLEEP, max(deadline - time.monotonic(), 0.0)))


def _until(due_ms: int | None) -> float:
    """Seconds until a due time, if there is one."""
    return float("inf") if due_ms is None else due_ms / 1000 - clock.timestamp()


def runnable(task_types: Collection[str]) -> frozenset[str]:
    """The batch types among `task_types` (default: all). Raises `SchedulingError` for a type without a handler here."""
    mine = registry.task_types() | registry.at_least_once_types()
    if unknown := set(task_types) - mine:
        known = ", ".join(sorted(mine)) or "none"
        raise SchedulingError(f"no handler for {', '.join(sorted(unknown))}; this process can run: {known}")
    return registry.task_types() & set(task_types) if task_types else registry.task_types()
