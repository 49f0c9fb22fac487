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
from dataclasses import dataclass
from datetime import datetime

from django.db import connections

from scheduling import registry
from scheduling.conf import conf
from scheduling.database import clock
from scheduling.exceptions import SchedulingError
from scheduling.incidents import incidents
from scheduling.log_fields import of_ids
from scheduling.metrics import lateness
from scheduling.queues import DelayQueue, Popped, get_queue
from scheduling.services.circuit_breaker import Breakers
from scheduling.services.refreshing import sweep
from scheduling.services.running import RunReport, pop_due, prepare, run_popped
from scheduling.workers.companions import Companions
from scheduling.workers.maintenance import Maintenance
from scheduling.workers.side_effects import SideEffects, run_side_effects

logger = logging.getLogger(__name__)

_MAX_PAUSE = 1.0  # seconds between two rounds while the database is away
_IDLE_PAUSE = 0.01  # seconds after a round that handled nothing
_AHEAD = 0.008  # seconds before a task is due when the worker stops listening for wake-ups and pops its hint
_SWITCH_INTERVAL = 0.0001  # seconds the maintenance thread may keep the interpreter when the worker wants it
_FIRST_BATCH = 100  # tasks that are popped at once after a pause
_QUIET = 0.02  # seconds without a task after which a burst is over
_PAGE = 0.004  # seconds that a part of a refresh takes
_COLLECTING_TIME = 0.1  # seconds until the next task that allow for a collection
_GARBAGE, _TOO_MUCH_GARBAGE = 2_000, 100_000  # new objects that are worth one, and that are not left any longer
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
        self.companions = [] if task_types else list(registry.companions())
        self.batch = batch or conf.BATCH_SIZE
        self.name = f"{socket.gethostname()}:{os.getpid()}"[:100]
        self.queue = queue or get_queue()
        self.breakers = Breakers()
        self.beaten_at = time.monotonic()  # when it last showed progress
        self.others: list[Worker] = []  # in further threads
        self._report_progress: Callable[[float], None] = lambda at: None
        self.total = RunReport()
        self.turn = Turn()
        self._failures = 0  # of the turn, as of this thread's last look
        self.idle_rounds = 0  # rounds in a row whose hints were all stale or whose rows were locked

    def run(
        self,
        stopping: threading.Event,
        *,
        seconds: float | None = None,
        beat: Callable[[float], None] = lambda at: None,
    ) -> RunReport:
        """Work until `stopping` is set or `seconds` are over, and finish the current batch. Returns the totals.

        `beat` is called before each round and each transaction, at least every `MAX_SLEEP` while nothing hangs, with
        the monotonic time at which the slowest thread last showed progress.
        """
        self._report_progress = beat
        deadline = time.monotonic() + (float("inf") if seconds is None else seconds)
        # The default of 5 ms is longer than a whole batch: a thread that refreshes would keep the interpreter at a due
        # time.
        sys.setswitchinterval(_SWITCH_INTERVAL)
        # Loaded modules stay, so that no collection has to scan them (60 ms).
        gc.freeze()
        # Automatic collections would hit tasks at their due time; see `_collect_garbage`.
        gc.set_threshold(_TOO_MUCH_GARBAGE)
        lateness.begin(self.task_types)
        with ExitStack() as stack:
            types = sorted(self.task_types)
            stack.enter_context(Maintenance(self.name, types, self.queue, self.breakers, self.turn.is_busy))
            stack.enter_context(SideEffects(self.at_least_once_types))
            stack.enter_context(Companions(self.companions, self.turn.is_busy))
            for other in self._others():
                stack.enter_context(self.in_thread(other, stopping, deadline))
            self._loop(stopping, deadline)
        return self.total

    def beat(self) -> None:
        """Show progress."""
        self.beaten_at = time.monotonic()
        self._report_progress(min([self.beaten_at, *(other.beaten_at for other in self.others)]))

    def _loop(self, stopping: threading.Event, deadline: float) -> None:
        self._prepare()
        failures = 0
        while not stopping.is_set() and time.monotonic() < deadline:
            self.beat()
            try:
                with incidents.watch(logger, self._source, "a round failed; its tasks are still pending"):
                    self._take_turn(stopping, deadline)
                failures = 0
            except Exception:  # it is logged
                connections.close_all()
                # The other thread's connection has probably failed, too, and would time out in its own time.
                self.turn.failures += 1
                failures += 1
                stopping.wait(min(_MAX_PAUSE, 0.05 * 2**failures))

    @property
    def _source(self) -> str:
        """Of this thread's failures."""
        return f"rounds of {threading.get_ident()}"

    def _prepare(self) -> None:
        try:
            prepare(self.task_types, worker=self.name)
        except Exception as error:
            incidents.failed(logger, self._source, "tasks run unprepared", error)
            connections.close_all()

    def _take_turn(self, stopping: threading.Event, deadline: float) -> None:
        """Wait for this thread's turn and for hints, pop them and run their tasks.

        The other thread has its turn while these tasks wait for their due time, and in a burst. Otherwise it would
        take what is better run in fewer, larger batches.
        """
        # With a timeout, to notice that the worker is being stopped.
        if not self.turn.lock.acquire(timeout=conf.MAX_SLEEP):
            return
        with ExitStack() as turn:
            turn.callback(self.turn.lock.release)
            # Within the turn: while the other thread cannot use its connection.
            turn.push(self._count_failure)
            if stopping.is_set():
                return
            self._drop_suspect_connections()
            # Also detects in time that an idle connection has died: not when the next task is due.
            clock.measure_if_stale(conf.CLOCK_INTERVAL)
            found, due_ms = self._pop(None), None
            if found is None and (due_ms := self.sleep_until_due(deadline)):
                found = self._pop(due_ms)
            if found is None:
                return
            if due_ms or found.is_full:
                # Handed on as soon as popped: the other thread prepares the next due time while this one waits for its
                # own.
                turn.close()
            self._run(found)

    def _count_failure(self, kind: type[BaseException] | None, *_: object) -> None:
        self.turn.failures += kind is not None

    def _drop_suspect_connections(self) -> None:
        """Close this thread's connections if a round has failed in any: each would time out in turn."""
        if self._failures != self.turn.failures:
            connections.close_all()
            self._failures = self.turn.failures

    def _others(self) -> Iterator[Worker]:
        """Those in further threads: one for the types that may wait for row locks, one that shares the rest."""
        # Those wait up to a quarter of a second for an editor's lock; beside them, articles go live on time.
        waiting = self.task_types & registry.types_that_wait_for_locks()
        if waiting and waiting != self.task_types:
            self.task_types -= waiting
            yield Worker(task_types=waiting, batch=self.batch, queue=self.queue.for_thread())
        if self.task_types:
            yield self.helper()

    def helper(self) -> Worker:
        """A worker for another thread that takes turns with this one."""
        helper = Worker(task_types=self.task_types, batch=self.batch, queue=self.queue)
        helper.turn = self.turn
        return helper

    @contextmanager
    def in_thread(self, other: Worker, stopping: threading.Event, deadline: float = float("inf")) -> Iterator[None]:
        """Let another worker run beside this one while the block lasts, which ends with `stopping` or the deadline."""
        other.breakers = self.breakers.for_thread()
        self.others.append(other)
        name = "helper" if other.turn is self.turn else "waiting"
        thread = threading.Thread(target=other._run_in_thread, args=[stopping, deadline], name=name, daemon=True)
        thread.start()
        try:
            yield
        finally:
            thread.join()
            if other.queue is not self.queue:
                other.queue.close()
            self.total += other.total

    def _run_in_thread(self, stopping: threading.Event, deadline: float) -> None:
        try:
            self._loop(stopping, deadline)
        finally:
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
        """Run one round; True if hints were popped, so that there may be more. `due_ms` is a due time that is next."""
        with self.turn.lock:
            popped = self._pop(due_ms)
        if popped:
            self._run(popped)
        return popped is not None

    def _pop(self, due_ms: int | None) -> PoppedAt | None:
        """Pop hints if there are any, including those that become due at `due_ms`, which spares a round trip then."""
        now, turn = clock.now(), self.turn
        # The first tasks of a burst are committed soon, so that what follows them, such as a webhook, begins.
        most = self.batch if turn.busy_since else min(self.batch, _FIRST_BATCH)
        popped = pop_due(
            most,
            task_types=self.task_types,
            queue=self.queue,
            breakers=self.breakers,
            now_ms=due_ms or int(now.timestamp() * 1000),
        )
        turn.next_due_ms, busy_since = popped.next_due_ms, turn.busy_since or now
        # A task that waited only because this worker was busy is no suspect, however late it is.
        turn.busy_since = busy_since if popped else None
        if popped:
            return PoppedAt(popped, due_ms, busy_since, is_full=len(popped) >= most)
        self.idle_rounds = 0
        # Another worker has it, or it is in the database queue, which gives none early.
        if due_ms:
            clock.sleep_until(due_ms / 1000)
            turn.next_due_ms = due_ms
        return None

    def _run(self, found: PoppedAt) -> None:
        with self.turn.running():
            if found.due_ms:
                clock.sleep_until(found.due_ms / 1000)
            report = run_popped(
                found.popped,
                worker=self.name,
                queue=self.queue,
                breakers=self.breakers,
                beat=self.beat,
                busy_since=found.busy_since,
            )
        lateness.add(report.late)
        # The totals of a worker that runs for months would grow with each lateness.
        report.late.clear()
        self.total += report
        self._collect_garbage()
        if report.handled:
            logger.log(
                logging.INFO if report.handled > report.reported else logging.DEBUG,
                "executed=%d failed=%d dropped=%d %s",
                report.executed, report.failed, report.dropped, report.punctuality,
                extra=of_ids("task", [task_id for ids in found.popped.ids.values() for task_id in ids]),
            )  # fmt: skip
        self.idle_rounds = 0 if report.handled else self.idle_rounds + 1
        if self.idle_rounds:
            # All hints were stale, or early and pushed back: without a pause they would circle through Redis.
            time.sleep(_IDLE_PAUSE)

    def sleep_until_due(self, deadline: float = float("inf")) -> int | None:
        """Sleep until shortly before the next due time that the queue knows of, `MAX_SLEEP` at most.

        Returns the due time if it comes next.
        """
        due_ms = self.turn.next_due_ms
        seconds = min(_until(due_ms) - _AHEAD, conf.MAX_SLEEP, deadline - time.monotonic())
        if seconds > 0:
            self.queue.wait(seconds, before_ms=due_ms)
        return due_ms if 0 < _until(due_ms) < 2 * _AHEAD else None

    def _collect_garbage(self) -> None:
        """Collect while there is nothing to run for a while."""
        if gc.get_count()[0] > _GARBAGE and _until(self.turn.next_due_ms) > _COLLECTING_TIME:
            gc.collect()


class Turn:
    """Shared by a worker's threads: one waits for hints and pops them, while the other runs those it has popped.

    So tasks of the next due time are prepared while those of this one wait for theirs or are committed (leader and
    followers, Schmidt 2000).
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.failures = 0  # rounds that failed
        self.next_due_ms: int | None = None  # when the next hint becomes due, as far as the queue knows
        self.busy_since: datetime | None = None  # when hints were last looked for in vain, unless that was just now
        self._running: set[int] = set()  # threads that run tasks now
        self._ran_at = float("-inf")  # when one has last ended that

    @contextmanager
    def running(self) -> Iterator[None]:
        """This thread runs tasks while the block lasts."""
        self._running.add(threading.get_ident())
        try:
            yield
        finally:
            self._ran_at = time.monotonic()
            self._running.discard(threading.get_ident())

    def is_busy(self) -> bool:
        """Whether tasks run, ran just now as in a burst, or become due before a part of a refresh would end."""
        ran_just_now = time.monotonic() - self._ran_at < _QUIET
        return bool(self._running) or ran_just_now or _until(self.next_due_ms) < _AHEAD + _PAGE


@dataclass(frozen=True, slots=True)
class PoppedAt:
    """Popped hints, when they are due if they were popped early, and since when the worker has had others."""

    popped: Popped
    due_ms: int | None
    busy_since: datetime
    is_full: bool  #: as many as may be popped at once: there may be more


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
