"""Run due tasks: pop hints, then lock the rows, run the handlers and close the tasks in one transaction.

The row lock is the lease. A worker that dies loses its locks with its connection, and the sweep requeues the tasks; one
that may have killed its worker runs alone (`quarantine`).

`scheduling.database.trouble` defines what counts as a failure. A batch in which a task fails by its own fault is run
again in savepoints: its parts are halved until each such task is alone, and all others are committed together, since a
transaction for each part would cost them much more. Only if that fails, too, as at a commit, the halves have
transactions of their own. Tasks that the database refuses are deferred for a few seconds; running a few of the batch
alone shows whether it refuses all of them.
"""

from __future__ import annotations

import logging
import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

from django.db import DatabaseError, transaction
from django.db.models import F

from scheduling import registry
from scheduling.conf import conf
from scheduling.database import (
    Trouble,
    clock,
    compiled_for,
    database_now,
    pipelined,
    read_database_clock,
    retried,
    savepoint,
    trouble_of,
)
from scheduling.incidents import incidents
from scheduling.log_fields import logged_with, of_ids
from scheduling.metrics import refusals
from scheduling.models import (
    TaskInfo,
    TaskInfoLog,
    TaskInfoQuerySet,
    by_ids,
    close_executed,
    delete_tasks,
    note_lateness,
    records_of,
)
from scheduling.queues import DelayQueue, Hint, Popped, Topic, get_queue, to_milliseconds
from scheduling.registry import Drop, Fail, Handler, Postpone, Verdict
from scheduling.services.circuit_breaker import Breakers
from scheduling.services.commits import Commit
from scheduling.services.quarantine import quarantine_suspects, uncount_attempts
from scheduling.services.retry import record_failure, record_failures

logger = logging.getLogger(__name__)

_LOCK_CHECKS, _LOCK_CHECK_PAUSE = 5, 0.005  # retries for a claimed row that is locked, and seconds between them
_SAMPLE = 3  # tasks of a refused batch that run alone before all of it is deferred


@dataclass(slots=True)
class RunReport:
    """Counts of one round, or of several added up."""

    executed: int = 0
    failed: int = 0  #: attempts that raised
    dropped: int = 0  #: tasks that their handler dropped
    refused: int = 0  #: tasks that the database refused; they are unchanged
    late_max: timedelta | None = None  #: None: no commit was measured
    unmeasured: int = 0  #: executed tasks whose commit was not measured
    reported: int = 0  #: executed tasks whose handler was called after the commit, and has logged them
    popped: int = 0  #: hints taken from the queue
    late: Counter[tuple[str, timedelta]] = field(default_factory=Counter)  #: executed tasks by type and lateness

    def __iadd__(self, other: RunReport) -> RunReport:
        self.executed += other.executed
        self.failed += other.failed
        self.dropped += other.dropped
        self.refused += other.refused
        self.late_max = max((late for late in (self.late_max, other.late_max) if late is not None), default=None)
        self.unmeasured += other.unmeasured
        self.reported += other.reported
        self.popped += other.popped
        self.late.update(other.late)
        return self

    @property
    def handled(self) -> int:
        """Tasks that were executed, failed or dropped."""
        return self.executed + self.failed + self.dropped

    @property
    def punctuality(self) -> str:
        """How late executed tasks were, as fields of a log line."""
        none_measured = "unknown" if self.unmeasured else "0.0"
        late = none_measured if self.late_max is None else f"{self.late_max / timedelta(milliseconds=1):.1f}"
        return f"late_max_ms={late}" + (f" unmeasured={self.unmeasured}" if self.unmeasured else "")

    def measured(self, tasks: Sequence[TaskInfo], committed_at: datetime) -> None:
        """Add how late executed tasks were."""
        late = Counter((task.task_type, task.lateness(committed_at)) for task in tasks)
        self.late += late
        self.late_max = max(self.late_max or timedelta(), *(lateness for _, lateness in late))
        self.unmeasured -= len(tasks)
        found = registry.get(tasks[0].task_type)
        self.reported += len(tasks) if found and found.after_commit else 0


def prepare(task_types: Iterable[str], *, worker: str) -> None:
    """Compile the statements that run tasks of these types in this thread: otherwise its first tasks wait for that."""
    with transaction.atomic():
        compiled_for(_due_and_free, ())
        close_executed((), attempts=1, worker=worker)
        note_lateness((), committed_at=None)
        for found in filter(None, map(registry.get, task_types)):
            if found.prepare:
                found.prepare()


def run_due(limit: int) -> int:
    """Run up to `limit` due tasks of each topic that has a handler in this process; returns how many were handled."""
    return run_once(limit, now_ms=to_milliseconds(read_database_clock())).handled


def run_once(
    limit: int,
    *,
    task_types: Collection[str] | None = None,
    worker: str = "",
    queue: DelayQueue | None = None,
    now_ms: int | None = None,
    breakers: Breakers | None = None,
    beat: Callable[[], None] = lambda: None,
    busy_since: datetime | None = None,
) -> RunReport:
    """Run one round and return its report. `task_types` limits it to some of the types that have a handler.

    `now_ms` is the database's time; the default is this process's corrected clock, without a query. Raises when the
    connection is lost.
    """
    queue, breakers = queue or get_queue(), breakers or Breakers()
    types = registry.task_types() if task_types is None else task_types
    now_ms = now_ms or int(clock.timestamp() * 1000)
    popped = pop_due(limit, task_types=types, queue=queue, breakers=breakers, now_ms=now_ms)
    return run_popped(popped, worker=worker, queue=queue, breakers=breakers, beat=beat, busy_since=busy_since)


def pop_due(limit: int, *, task_types: Collection[str], queue: DelayQueue, breakers: Breakers, now_ms: int) -> Popped:
    """Pop the hints of up to `limit` tasks of each topic that are due at `now_ms`, but none whose breaker is open."""
    uncount_attempts(breakers)
    return queue.pop(breakers.closed(registry.task_types() & set(task_types)), limit, now_ms=now_ms)


def run_popped(
    popped: Popped,
    *,
    worker: str,
    queue: DelayQueue,
    breakers: Breakers,
    beat: Callable[[], None] = lambda: None,
    busy_since: datetime | None = None,
) -> RunReport:
    """Run tasks whose hints were popped. `beat` is called before each transaction.

    `busy_since` is when this worker was last idle, if it has run tasks ever since.
    """
    report = RunReport()
    for (task_type, _priority), ids in sorted(popped.ids.items(), key=_urgent_and_short_first):
        report.popped += len(ids)
        for start in range(0, len(ids), conf.BATCH_SIZE):
            if breakers.closed([task_type]):
                batch = ids[start : start + conf.BATCH_SIZE]
                report += Round(worker, queue, breakers, task_type, beat, busy_since).run(batch)
    return report


def _urgent_and_short_first(popped: tuple[Topic, list[int]]) -> tuple[int, int]:
    (_, priority), ids = popped
    return priority, len(ids)


class Round:
    """Runs one batch of popped ids."""

    def __init__(
        self,
        worker: str,
        queue: DelayQueue,
        breakers: Breakers | None = None,
        task_type: str = "",
        beat: Callable[[], None] = lambda: None,
        busy_since: datetime | None = None,
    ) -> None:
        self.worker = worker
        self.busy_since = busy_since
        self.queue = queue
        self.breakers = breakers or Breakers()
        self.task_type = task_type
        self.beat = beat
        self.report = RunReport()
        self.versions: dict[int, int] = {}  # of locked tasks, by id
        self.refusals: list[tuple[Trouble, BaseException]] = []
        self.refused: set[int] = set()

    def run(self, ids: Sequence[int]) -> RunReport:
        """Run the tasks with these ids: fresh ones as one batch, suspects alone."""
        # Fresh tasks first, together: a suspect may end this worker, with all that shares its transaction.
        suspects = self._run_batch(ids, trusted=True)
        self._run_counted([task_id for task_id, counted in suspects.items() if counted])
        for task_id in [task_id for task_id, counted in suspects.items() if not counted]:
            self._run_counted(list(self._run_batch([task_id], trusted=True)))
        self._finish()
        return self.report

    def _run_counted(self, ids: Sequence[int]) -> None:
        """Run tasks whose attempt is already counted; those that are refused will be uncounted."""
        self.breakers.uncounted.update(ids)
        self._run_batch(ids, trusted=False)

    def _run_batch(self, ids: Sequence[int], *, trusted: bool, apart: bool = False) -> dict[int, bool]:
        """Run a batch, and parts of it if that fails. Returns the suspects, and whether they may run now.

        With `apart`, tasks that fail by their own fault are told from the others. The parts run outside the `except`
        block, so that their errors are not chained to the first one.
        """
        if not ids:
            return {}
        self.beat()
        try:
            with logged_with({"task_type": self.task_type, **of_ids("task", ids)}):
                outcome = self._attempt(ids, trusted=trusted, apart=apart)
        except Exception as raised:
            error = raised
        else:
            self.breakers.uncounted.difference_update(set(ids) - outcome.missing)
            return outcome.suspects
        trouble = trouble_of(error)
        if trouble is None:
            return self._isolate_failure(ids, error, trusted=trusted, apart=apart)
        if trouble.ends_connection:
            raise error
        return self._handle_trouble(ids, trouble, error, trusted=trusted)

    def _isolate_failure(
        self, ids: Sequence[int], error: BaseException, *, trusted: bool, apart: bool
    ) -> dict[int, bool]:
        """Find the tasks that raised by their own fault, and count their attempts."""
        if len(ids) > 1:
            how = "its halves are run separately" if apart else "the tasks that failed are sorted out"
            logger.warning("a batch of %d failed (%s); %s", len(ids), error, how, extra=of_ids("task", ids))
            run = self._run_halves if apart else partial(self._run_batch, apart=True)
            return run(ids, trusted=trusted)
        try:
            # The transaction is rolled back, and the lock with it: the task may have been rescheduled since, or be
            # running elsewhere.
            version = self.versions.get(ids[0])
            self.report.failed += _record_failure(ids[0], version, Fail.by(error).error, trusted, self.worker)
        except DatabaseError as refusal:
            trouble = trouble_of(refusal)
            if trouble is None or trouble.ends_connection:
                raise
            return self._handle_trouble(ids, trouble, refusal, trusted=trusted)
        self.breakers.uncounted.discard(ids[0])
        return {}

    def _run_halves(self, ids: Sequence[int], *, trusted: bool) -> dict[int, bool]:
        # Halves, not single tasks: one that fails among 1,000 costs about 20 transactions instead of 1,000.
        middle = len(ids) // 2
        halves = ids[:middle], ids[middle:]
        return {
            task_id: counted for half in halves for task_id, counted in self._run_batch(half, trusted=trusted).items()
        }

    def _handle_trouble(
        self, ids: Sequence[int], trouble: Trouble, error: BaseException, *, trusted: bool
    ) -> dict[int, bool]:
        """Run a few of the refused tasks alone; if one succeeds, run the rest in halves, else defer all."""
        self.refusals.append((trouble, error))
        refusals.labels(self.task_type, trouble.value).inc()
        self.refused.update(ids)
        left, suspects = list(ids), dict[int, bool]()
        # At random: a batch is in the order of its ids, and its first rows would be tried each time.
        for task_id in random.sample(ids, min(_SAMPLE, len(ids))) if len(ids) > 1 else ():
            handled = self.report.handled
            left.remove(task_id)
            self.refused.discard(task_id)
            suspects |= self._run_batch([task_id], trusted=trusted)
            if self.report.handled > handled:
                self.refused.difference_update(left)
                return suspects | self._run_halves(left, trusted=trusted)
        return suspects

    def _finish(self) -> None:
        """Defer refused tasks, and update the breaker."""
        self.report.refused = len(self.refused)
        if not self.refusals:
            if self.report.handled and self.breakers.succeeded(self.task_type):
                incidents.succeeded(self.task_type)
            return
        trouble, error = self.refusals[-1]
        some_ran = self.report.handled > 0
        pause = self.breakers.refused(self.task_type, trouble, error, times=len(self.refusals), some_ran=some_ran)
        self._log_refusal(f"{len(self.refused)} tasks were refused and are retried in {pause:.1f} s", trouble, error)
        try:
            _defer(self.refused, pause)
            uncount_attempts(self.breakers)
        except DatabaseError as refusal:
            incidents.failed(logger, self.task_type, "the refused tasks could not be deferred", refusal)

    def _log_refusal(self, text: str, trouble: Trouble, error: BaseException) -> None:
        key, ids = ("refused", self.task_type), of_ids("task", self.refused)
        text = f"{self.task_type}: {text}. {trouble.label}"
        incidents.failed(logger, self.task_type, text, error, key=key, extra=ids)

    def _attempt(self, ids: Sequence[int], *, trusted: bool, apart: bool) -> Outcome:
        run_batch = partial(_run_apart, beat=self.beat) if apart else _run_together
        outcome = _run_transaction(ids, trusted, run_batch, self.worker, self.versions, self.busy_since)
        self.report += outcome.report
        # Its attempt is counted already, so it must run or be uncounted; others lock such a row only briefly, to look.
        for _ in range(0 if trusted else _LOCK_CHECKS):
            if not outcome.missing:
                break
            time.sleep(_LOCK_CHECK_PAUSE)
            outcome = _run_transaction(sorted(outcome.missing), trusted, run_batch, self.worker, self.versions)
            self.report += outcome.report
        if outcome.missing:
            self._push_back(outcome.missing)
        return outcome

    def _push_back(self, ids: Collection[int]) -> None:
        """Push the hints of tasks that were not due, because they were rescheduled or their hints popped early."""
        if hints := _hints_of_early(ids):
            # The clock may be ahead, as after a failover: each batch would be popped in vain.
            clock.measure()
            self.queue.push(hints, now_ms=int(clock.timestamp() * 1000))


@retried
def _hints_of_early(ids: Collection[int]) -> list[Hint]:
    """The hints of unlocked tasks that are not due yet, or only just: the sweep finds older ones."""
    # A batch holds many ids that are gone or running; those are not worth a push, and older ones are the sweep's.
    since = read_database_clock() - timedelta(seconds=conf.SWEEP_GRACE)
    return [Hint.of(task) for task in by_ids(ids).filter(execute_time__gt=since).free(database_now()).locked()]


RunBatch = Callable[[Handler, Sequence[TaskInfo]], Mapping[int, Verdict]]
"""Runs a handler for tasks of its type, and returns the verdicts for those that are not done."""


@dataclass(slots=True)
class Outcome:
    """The result of one transaction."""

    report: RunReport = field(default_factory=RunReport)
    missing: set[int] = field(default_factory=set)  #: ids that were gone, locked or not due
    suspects: dict[int, bool] = field(default_factory=dict)  #: ids in quarantine; True: the attempt is counted


@retried
def _run_transaction(
    ids: Sequence[int],
    trusted: bool,
    run_batch: RunBatch,
    worker: str,
    versions: dict[int, int],
    busy_since: datetime | None = None,
) -> Outcome:
    """Lock the rows that are due, run the handlers, close the records and delete the rows: all or nothing.

    `versions` receives the versions of the locked tasks, also when a handler raises.
    """
    # Registered first, so that the clock is read before the hooks of handlers, which take time.
    commit = Commit()
    # The database compares due times with its own clock: a hint that came early, or a wrong clock here, runs nothing
    # early. A task whose attempt this worker has counted has a lease, which is this worker's own.
    tasks: list[TaskInfo] = compiled_for(_due_and_free if trusted else _due, ids)
    versions.update((task.task_id, task.version) for task in tasks)
    outcome = Outcome(missing=set(ids) - {task.task_id for task in tasks})
    if trusted:
        outcome.suspects, outcome.report.failed = quarantine_suspects(tasks, worker, busy_since or clock.now())
        tasks = [task for task in tasks if task.task_id not in outcome.suspects]
    handled = list(_run_handlers(tasks, run_batch))
    for batch, verdicts in handled:
        done = _close_tasks(batch, verdicts, outcome.report, worker, counted=not trusted)
        commit.executes(done, outcome.report.measured)
    return outcome


def _run_handlers(
    tasks: Sequence[TaskInfo], run_batch: RunBatch
) -> Iterator[tuple[Sequence[TaskInfo], Mapping[int, Verdict]]]:
    """The tasks of each type with a handler here, and its verdicts."""
    by_type: defaultdict[str, list[TaskInfo]] = defaultdict(list)
    for task in tasks:
        by_type[task.task_type].append(task)
    for task_type, batch in by_type.items():
        if found := registry.get(task_type):
            yield batch, run_batch(found, batch)


def _run_together(found: Handler, tasks: Sequence[TaskInfo]) -> Mapping[int, Verdict]:
    return found.run(tasks) or {}


def _run_apart(found: Handler, tasks: Sequence[TaskInfo], *, beat: Callable[[], None]) -> Mapping[int, Verdict]:
    """The verdicts for a batch that has failed: `Fail` for the tasks that raise, each of which leaves nothing."""
    middle = len(tasks) // 2
    first, rest = tasks[:middle], tasks[middle:]
    verdicts = dict(_run_part(found, first, beat=beat)) if first else {}
    # Where the first half does not fail, the rest does: to run it as a whole would be in vain.
    is_known_to_fail = len(rest) > 1 and not any(isinstance(verdict, Fail) for verdict in verdicts.values())
    return verdicts | dict((_run_apart if is_known_to_fail else _run_part)(found, rest, beat=beat))


def _run_part(found: Handler, tasks: Sequence[TaskInfo], *, beat: Callable[[], None]) -> Mapping[int, Verdict]:
    """As `_run_apart`, for tasks of which none may raise. Raises trouble, since that may have undone all parts."""
    beat()
    try:
        with savepoint():
            return found.run(tasks) or {}
    except Exception as raised:
        error = raised
    if trouble_of(error):
        raise error
    return _run_apart(found, tasks, beat=beat) if len(tasks) > 1 else {tasks[0].task_id: Fail.by(error)}


def _due(ids: Collection[int]) -> TaskInfoQuerySet:
    return by_ids(ids).due(database_now()).locked().needed_to_run()


def _due_and_free(ids: Collection[int]) -> TaskInfoQuerySet:
    return _due(ids).free(database_now())


def _close_tasks(
    tasks: Sequence[TaskInfo], verdicts: Mapping[int, Verdict], report: RunReport, worker: str, *, counted: bool
) -> list[TaskInfo]:
    """Close executed, dropped and failed tasks; postponed ones stay pending. Returns the executed ones."""
    now = database_now()
    done = [task for task in tasks if task.task_id not in verdicts]
    # A statement for each number of attempts, mostly one, instead of a value for each row.
    for attempts in {task.attempts for task in done}:
        ids = [task.task_id for task in done if task.attempts == attempts]
        close_executed(ids, attempts=attempts if counted else attempts + 1, worker=worker)
    dropped = {task_id: verdict for task_id, verdict in verdicts.items() if isinstance(verdict, Drop)}
    for reason in {verdict.reason for verdict in dropped.values()}:
        ids = [task_id for task_id, verdict in dropped.items() if verdict.reason == reason]
        records_of(ids).change(now=now, status=TaskInfoLog.Status.CANCELLED, error=reason, worker=worker)
    # Nothing depends on the number of rows deleted, so the statement travels with the next one.
    with pipelined():
        delete_tasks([task.task_id for task in done] + list(dropped))
    # The attempt was counted before it ran, and a postponed task has not begun.
    if counted:
        postponed = [task_id for task_id, verdict in verdicts.items() if isinstance(verdict, Postpone)]
        by_ids(postponed).update(attempts=F("attempts") - 1, leased_until=None)
    report.failed += _record_failures(verdicts, worker, counted=counted)
    report.executed += len(done)
    report.unmeasured += len(done)
    report.dropped += len(dropped)
    return done


def _record_failures(verdicts: Mapping[int, Verdict], worker: str, *, counted: bool) -> int:
    """Record the failures among the verdicts about locked tasks; returns how many there are."""
    errors = {task_id: verdict.error for task_id, verdict in verdicts.items() if isinstance(verdict, Fail)}
    failed = list(by_ids(errors)) if errors else []
    for task in failed:
        task.attempts += not counted
    if failed:
        record_failures({task: errors[task.task_id] for task in failed}, worker=worker)
    return len(failed)


@retried
def _record_failure(task_id: int, version: int | None, error: str, trusted: bool, worker: str) -> int:
    """Record a failed attempt unless the task was rescheduled, locked or cancelled since; 1 if it was recorded.

    A task that was rescheduled may be due again already, but has another version.
    """
    task = by_ids([task_id]).at_version(version).due(database_now()).locked().first()
    if task is None:
        return 0
    task.attempts += trusted
    record_failure(task, error, worker=worker)
    return 1


@retried
def _defer(ids: Collection[int], seconds: float) -> None:
    """Keep refused tasks from running for `seconds`; their due time, and so their lateness, does not change."""
    # Others may run one of them by now: their lock, or a program's lease, is left alone.
    free = [task.task_id for task in by_ids(ids).filter(lease_token="").locked()]
    by_ids(free).update(leased_until=read_database_clock() + timedelta(seconds=seconds))
