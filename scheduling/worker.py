"""A worker: runs what is due, sleeps to the next due instant, and is woken when something earlier arrives."""

from __future__ import annotations

import gc
import logging
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

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

_MAX_PAUSE = 1.0  # seconds between two tries while the database is away
_FRUITLESS_PAUSE = 0.01  # seconds after a fruitless round
_FINE = 0.002  # seconds before a task is due from which on only the clock counts
_SWITCH_INTERVAL = 0.0005  # seconds the maintenance thread may keep the interpreter when the worker wants it
_GIVE_UP = 200  # fruitless rounds after which `drain` leaves the rest to the next run


class Worker:
    """Runs the tasks of some types (default: all that have a handler here) until told to stop."""

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
        self.fruitless = 0  # rounds in a row whose tasks were all stale, or locked by somebody

    def run(
        self, stopping: threading.Event, *, seconds: float | None = None, beat: Callable[[], None] = lambda: None
    ) -> RunReport:
        """Work until `stopping` is set or `seconds` are over; what was begun is finished. Returns what was done.

        `beat` is called before each round and each transaction, at least every `MAX_SLEEP` while nothing hangs.
        """
        self.beat = beat
        deadline = time.monotonic() + (float("inf") if seconds is None else seconds)
        sys.setswitchinterval(_SWITCH_INTERVAL)
        gc.freeze()  # what is loaded by now stays, so no collection has to walk through it (60 ms) any more
        maintenance = Maintenance(self.name, sorted(self.task_types), self.queue, self.breakers)
        with maintenance, SideEffects(self.at_least_once_types), self._patient_one_beside(stopping, deadline):
            self._loop(stopping, deadline, beat)
        return self.total

    def _loop(self, stopping: threading.Event, deadline: float, beat: Callable[[], None] = lambda: None) -> None:
        failures = 0
        while not stopping.is_set() and time.monotonic() < deadline:
            beat()
            try:
                clock.measure_if_stale()  # which also notices in time that an idle connection has died
                if not self.work():
                    self.rest(deadline)
                failures = 0
            except Exception as error:
                log_failure(logger, "a round failed; its tasks are still pending, the worker goes on", error)
                connections.close_all()
                failures += 1
                stopping.wait(min(_MAX_PAUSE, 0.05 * 2**failures))

    @contextmanager
    def _patient_one_beside(self, stopping: threading.Event, deadline: float) -> Iterator[None]:
        """Tasks that may wait for somebody are run in a thread of their own meanwhile."""
        patient = self.task_types & registry.types_that_may_wait()
        if not patient or patient == self.task_types:
            yield
            return
        beside = Worker(task_types=patient, batch=self.batch, queue=make_queue(conf.REDIS_URL))
        beside.breakers = self.breakers.beside()
        self.task_types -= patient
        thread = threading.Thread(target=beside._work_beside, args=[stopping, deadline], name="patient", daemon=True)
        thread.start()
        try:
            yield
        finally:
            thread.join()
            self.total += beside.total

    def _work_beside(self, stopping: threading.Event, deadline: float) -> None:
        try:
            self._loop(stopping, deadline)
        finally:
            self.queue.close()
            connections.close_all()

    def drain(self) -> RunReport:
        """Run what is due until nothing is, also what Redis has no hint of. Returns what was done."""
        clock.measure()
        more = True
        while more and self.fruitless < _GIVE_UP:
            while self.work() and self.fruitless < _GIVE_UP:
                pass
            sweep(self.queue, grace=0)
            more = self.work()
        run_side_effects(self.at_least_once_types)
        return self.total

    def work(self) -> bool:
        """One round; True if there was work, so that there may be more."""
        report = run_once(
            self.batch,
            task_types=self.task_types,
            worker=self.name,
            queue=self.queue,
            breakers=self.breakers,
            beat=self.beat,
        )
        self.total += report
        if report.handled:
            logger.info(
                "executed=%d failed=%d dropped=%d late_max_ms=%.1f",
                report.executed, report.failed, report.dropped, report.late_max.total_seconds() * 1000,
            )  # fmt: skip
        self.fruitless = 0 if report.handled or not report.popped else self.fruitless + 1
        if self.fruitless:
            time.sleep(_FRUITLESS_PAUSE)
        return report.popped > 0

    def rest(self, deadline: float = float("inf")) -> None:
        """Sleep to the next due instant the queue knows of, by this process's own clock, `MAX_SLEEP` at most."""
        due_ms = self.total.next_due_ms
        until_due = conf.MAX_SLEEP if due_ms is None else due_ms / 1000 - clock.timestamp()
        seconds = min(until_due, conf.MAX_SLEEP, deadline - time.monotonic())
        if seconds > _FINE:
            self.queue.wait(seconds - _FINE, before_ms=due_ms)
        elif seconds > 0:
            time.sleep(seconds)


def runnable(task_types: Collection[str]) -> frozenset[str]:
    """Those of these types (none given: of all) that workers run in batches. Raises for one without a handler here."""
    mine = registry.task_types() | registry.at_least_once_types()
    if unknown := set(task_types) - mine:
        known = ", ".join(sorted(mine)) or "none"
        raise SchedulingError(f"no handler for {', '.join(sorted(unknown))}; this process can run: {known}")
    return registry.task_types() & set(task_types) if task_types else registry.task_types()
