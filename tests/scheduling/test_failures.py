"""Classification of failures: a task's own fault and a crash count as attempts, trouble never does."""

from __future__ import annotations

import errno
import logging
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
import redis
from django.db import (
    DataError,
    IntegrityError,
    InterfaceError,
    OperationalError,
    ProgrammingError,
    connection,
    transaction,
)
from django.test.utils import CaptureQueriesContext

from scheduling import registry
from scheduling.conf import conf
from scheduling.database import Trouble, causes, read_database_clock, trouble_of
from scheduling.exceptions import QueueUnavailable, TaskNotPending
from scheduling.models import TaskInfo, TaskInfoLog, WorkerHeartbeat, close_executed
from scheduling.queues import DelayQueue
from scheduling.queues.database import DatabaseQueue
from scheduling.registry import Drop, Fail, Verdict
from scheduling.services import add_task, add_tasks, refresh, retry_task, run_once, sweep
from scheduling.services.circuit_breaker import Breakers
from scheduling.services.measuring import overdue_by_topic, refused_work
from scheduling.workers.maintenance import Maintenance
from scheduling.workers.worker import Worker
from tests.conftest import Manage
from tests.harness import PATIENCE, eventually
from tests.probe.models import Effect
from tests.scheduling.conftest import TYPE, Add, Notes, Travel

Status = TaskInfoLog.Status
FULL = OperationalError(1114, "The table 'articles_auditentry' is full")
DEADLOCK = OperationalError(1213, "Deadlock found when trying to get lock; try restarting transaction")
LOCKED = OperationalError(1205, "Lock wait timeout exceeded; try restarting transaction")


def chained(first: BaseException, then: BaseException, *, explicit: bool) -> BaseException:
    try:
        try:
            raise first
        except BaseException as cause:
            raise then from (cause if explicit else None)
    except BaseException as error:
        if not explicit:
            error.__suppress_context__ = False
        return error


def test_a_circle_of_causes_is_followed_once() -> None:
    first, second = OSError("lost"), ValueError("interrupted")
    first.__cause__, second.__context__ = second, first
    assert list(causes(first)) == [first, second]
    assert trouble_of(first) is None


@pytest.mark.parametrize(
    ("error", "trouble"),
    [
        (FULL, Trouble.DISK_FULL),
        (OperationalError(1021, "Disk full (/tmp/#sql-1); waiting for someone to free some space"), Trouble.DISK_FULL),
        (OperationalError(1030, 'Got error 28 "No space left on device" from storage engine'), Trouble.DISK_FULL),
        (OperationalError(1054, "Unknown column 'source' in 'INSERT INTO'"), Trouble.SCHEMA),
        (ProgrammingError(1146, "Table 'headline.articles_auditentry' doesn't exist"), Trouble.SCHEMA),
        (IntegrityError(1364, "Field 'source' doesn't have a default value"), Trouble.SCHEMA),
        (LOCKED, Trouble.LOCKS),
        (DEADLOCK, Trouble.LOCKS),
        (OperationalError("database is locked"), Trouble.LOCKS),
        (OperationalError(1317, "Query execution was interrupted"), Trouble.STOPPED),
        (OperationalError(1969, "Query execution was interrupted (max_statement_time exceeded)"), Trouble.STOPPED),
        (OperationalError(1290, "The MariaDB server is running with the --read-only option"), Trouble.READ_ONLY),
        (OperationalError(1836, "Running in read-only mode"), Trouble.READ_ONLY),
        (OperationalError(2013, "Lost connection to server during query"), Trouble.UNREACHABLE),
        (OperationalError(1047, "WSREP has not yet prepared node for application use"), Trouble.UNREACHABLE),
        (OperationalError(1180, 'Got error 6 "No such device or address" during COMMIT'), Trouble.UNREACHABLE),
        (OperationalError(2099, "a client error of tomorrow"), Trouble.UNREACHABLE),
        (InterfaceError(0, ""), Trouble.UNREACHABLE),
        (OperationalError(1644, "refused by a trigger"), Trouble.REFUSED),
        (OperationalError(4999, "an error of tomorrow"), Trouble.REFUSED),
        (OSError(errno.ENOSPC, "No space left on device"), Trouble.MACHINE),
        (MemoryError(), Trouble.MACHINE),
        (QueueUnavailable(), Trouble.QUEUE),
        (DataError(1406, "Data too long for column 'title'"), None),
        (IntegrityError(1062, "Duplicate entry '7' for key 'PRIMARY'"), None),
        (IntegrityError(1452, "Cannot add or update a child row: a foreign key constraint fails"), None),
        (ValueError("no number"), None),
        (OperationalError(1153, "Got a packet bigger than 'max_allowed_packet' bytes"), None),
        (OperationalError(1267, "Illegal mix of collations"), None),
        (ConnectionRefusedError(errno.ECONNREFUSED, "the mail server is away"), None),
        (chained(FULL, ValueError("hidden"), explicit=True), Trouble.DISK_FULL),
        (chained(FULL, ValueError("hidden"), explicit=False), Trouble.DISK_FULL),
        (chained(IntegrityError(1062, "twice"), OSError(errno.ECONNRESET, "x"), explicit=True), None),
        (chained(DEADLOCK, OperationalError(1305, "SAVEPOINT s1 does not exist"), explicit=False), Trouble.LOCKS),
    ],
    ids=lambda value: repr(value)[:60] if isinstance(value, BaseException) else str(value),
)  # fmt: skip
def test_exceptions_are_classified_in_one_place(error: BaseException, trouble: Trouble | None) -> None:
    assert trouble_of(error) == trouble


def sqlite_error(*statements: str) -> BaseException:
    """An SQLite error as Django wraps it."""
    with sqlite3.connect(":memory:") as own:
        own.executescript("CREATE TABLE news (title TEXT UNIQUE); INSERT INTO news VALUES ('a');")
        try:
            for statement in statements:
                own.execute(statement)
        except sqlite3.Error as error:
            kind = {"IntegrityError": IntegrityError, "OperationalError": OperationalError}[type(error).__name__]
            raised: BaseException = kind(*error.args)
            raised.__cause__ = error
            return raised
    raise AssertionError("nothing was refused")


@pytest.mark.parametrize(
    ("statements", "trouble"),
    [
        (["INSERT INTO news (titel) VALUES ('b')"], Trouble.SCHEMA),
        (["INSERT INTO newz VALUES ('b')"], Trouble.SCHEMA),
        (["PRAGMA query_only = 1", "INSERT INTO news VALUES ('b')"], Trouble.READ_ONLY),
        (["INSERT INTO news VALUES ('a')"], None),
        (
            [
                "CREATE TRIGGER no BEFORE INSERT ON news BEGIN SELECT RAISE(ABORT, 'refused'); END",
                "INSERT INTO news VALUES ('b')",
            ],
            Trouble.REFUSED,
        ),
        (["PRAGMA max_page_count = 1", "INSERT INTO news VALUES (zeroblob(100000))"], Trouble.DISK_FULL),
    ],
)
def test_sqlite_errors_are_classified_by_their_codes(statements: list[str], trouble: Trouble | None) -> None:
    assert trouble_of(sqlite_error(*statements)) == trouble


@pytest.mark.django_db
def test_a_statement_after_a_row_that_was_refused_is_still_the_tasks_fault(add: Add, notes: Notes) -> None:
    def fault(_: Sequence[TaskInfo]) -> None:
        with transaction.atomic():
            try:
                Effect.objects.create(pk=1, task_id=1, task_type=TYPE, at=read_database_clock(), process=1)
                with transaction.atomic(savepoint=False):
                    Effect.objects.create(pk=1, task_id=1, task_type=TYPE, at=read_database_clock(), process=1)
            except IntegrityError:
                pass
            TaskInfo.objects.count()

    notes.fault = fault
    task = add(0)
    connection.rollback_exc = OperationalError(1205, "of another transaction")  # type: ignore[attr-defined]
    assert run_once(10).failed == 1
    task.refresh_from_db()
    assert task.attempts == 1


# -- own fault: sorted out of its batch


def poison(*bad: Any) -> Any:
    def fault(tasks: Sequence[TaskInfo]) -> None:
        if any(task.parameters in bad for task in tasks):
            raise ValueError("out of ink")

    return fault


def many(count: int) -> None:
    now = read_database_clock()
    add_tasks({"task_type": TYPE, "execute_time": now, "parameters": number} for number in range(count))


@pytest.mark.cases(3)
@pytest.mark.parametrize("bad", [[0], [250], [499], [3, 307]])
def test_an_invalid_task_costs_its_batch_a_few_calls(queue: DelayQueue, notes: Notes, bad: list[int]) -> None:
    """By halves, not one by one."""
    many(500)
    notes.fault = poison(*bad)
    report = run_once(500)
    assert (report.executed, report.failed) == (500 - len(bad), len(bad))
    assert len(notes.batches) <= 1 + 2 * 9 * len(bad)
    assert set(TaskInfo.objects.values_list("parameters", flat=True)) == set(bad)


def test_many_invalid_tasks_cost_their_batch_no_more_transactions_than_one(queue: DelayQueue, notes: Notes) -> None:
    many(200)
    notes.fault = poison(17)
    one = transactions_of(200)
    many(200)
    bad = range(0, 200, 8)
    notes.fault = poison(*bad)
    assert transactions_of(200) == one > 0
    failing = TaskInfo.objects.failing()
    assert {*failing.values_list("parameters", flat=True)} == {*bad, 17}
    assert set(failing.values_list("attempts", flat=True)) == {1}
    assert TaskInfo.objects.count() == len(bad) + 1


def transactions_of(limit: int) -> int:
    with CaptureQueriesContext(connection) as queries:
        run_once(limit)
    return sum(query["sql"].startswith("BEGIN") for query in queries)


def test_what_an_invalid_task_wrote_is_undone_and_what_the_others_wrote_is_kept(
    queue: DelayQueue, notes: Notes
) -> None:
    def fault(tasks: Sequence[TaskInfo]) -> None:
        for task in tasks:
            note_effect(task)
        poison(3, 4)(tasks)

    many(20)
    notes.fault = fault
    assert run_once(20).executed == 18
    executed = TaskInfoLog.objects.filter(status=Status.EXECUTED)
    assert set(Effect.objects.values_list("task_id", flat=True)) == set(executed.values_list("task_id", flat=True))
    assert Effect.objects.count() == 18


def note_effect(task: TaskInfo) -> None:
    Effect.objects.create(task_id=task.task_id, task_type=TYPE, at=read_database_clock(), process=1)


def test_a_task_whose_handler_hides_the_error_that_undid_its_effect_is_not_done(
    queue: DelayQueue, notes: Notes
) -> None:
    def fault(tasks: Sequence[TaskInfo]) -> None:
        for task in tasks:
            note_effect(task)
            if task.parameters == 3:
                with suppress(ValueError), transaction.atomic(savepoint=False):
                    raise ValueError("out of ink")

    many(8)
    notes.fault = fault
    report = run_once(8)
    assert (report.executed, report.failed, Effect.objects.count()) == (7, 1, 7)
    assert TaskInfo.objects.get().parameters == 3


def test_tasks_that_cannot_be_closed_together_have_transactions_of_their_own(
    queue: DelayQueue, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the database refuses the commit."""
    many(8)
    bad = TaskInfo.objects.get(parameters=5).task_id

    def close(ids: Sequence[int], **values: Any) -> None:
        if bad in ids:
            raise IntegrityError(1452, "a foreign key constraint fails")
        close_executed(ids, **values)

    monkeypatch.setattr("scheduling.services.running.close_executed", close)
    report = run_once(8)
    assert (report.executed, report.failed) == (7, 1)
    assert TaskInfo.objects.get().attempts == 1


def test_trouble_while_invalid_tasks_are_sorted_out_counts_no_attempt_of_the_others(
    queue: DelayQueue, notes: Notes
) -> None:
    many(16)
    invalid, refused = poison(2), refuse(FULL, 11)

    def fault(tasks: Sequence[TaskInfo]) -> None:
        invalid(tasks)
        refused(tasks)

    notes.fault = fault
    report = run_once(16)
    assert (report.executed, report.failed, report.refused) == (14, 1, 1)
    assert dict(TaskInfo.objects.values_list("parameters", "attempts")) == {2: 1, 11: 0}


def test_a_handler_can_name_the_tasks_that_fail(queue: DelayQueue, notes: Notes) -> None:
    """Then the others are done at once."""

    def fault(tasks: Sequence[TaskInfo]) -> dict[int, Verdict]:
        return {task.task_id: Fail("out of ink \ud800") for task in tasks if task.parameters in {3, 4}}

    many(20)
    notes.fault = fault
    report = run_once(20)
    assert (report.executed, report.failed, len(notes.batches)) == (18, 2, 1)
    assert dict(TaskInfo.objects.values_list("parameters", "attempts")) == {3: 1, 4: 1}
    assert TaskInfo.objects.filter(execute_time__gt=read_database_clock()).count() == 2
    logs = TaskInfoLog.objects.filter(status=Status.SCHEDULED, attempts=1, error__startswith="out of ink")
    assert logs.count() == 2


def test_tasks_that_a_handler_names_are_dead_after_their_attempts(
    queue: DelayQueue, add: Add, notes: Notes, travel: Travel
) -> None:
    task = add(0)
    notes.fault = lambda tasks: {task.task_id: Fail("out of ink")}
    for _ in range(3):
        run_once(10)
        travel(60)
        sweep(queue, grace=0)
    log = TaskInfoLog.objects.get()
    assert (log.status, log.attempts, log.error, TaskInfo.objects.count()) == (Status.FAILED, 3, "out of ink", 0)


def test_the_invalid_tasks_of_a_late_batch_are_sorted_out_too(queue: DelayQueue, notes: Notes, travel: Travel) -> None:
    """Each attempt was counted before it began."""
    many(60)
    travel(5)
    notes.fault = poison(17)
    report = run_once(60)
    assert (report.executed, report.failed) == (59, 1)
    assert len(notes.batches) <= 13
    assert TaskInfo.objects.get().attempts == 1
    assert set(TaskInfoLog.objects.filter(status=Status.EXECUTED).values_list("attempts", flat=True)) == {1}


# -- trouble: no attempt counts


def refuse(error: BaseException, *bad: Any) -> Any:
    def fault(tasks: Sequence[TaskInfo]) -> None:
        if not bad or any(task.parameters in bad for task in tasks):
            raise error

    return fault


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    "error",
    [
        FULL,
        pytest.param(LOCKED, marks=pytest.mark.thorough),
        OperationalError(1054, "Unknown column"),
        OSError(errno.ENOSPC, "full"),
    ],
)
def test_trouble_counts_no_attempt_however_long_it_lasts(
    queue: DelayQueue, add: Add, notes: Notes, travel: Travel, error: Exception
) -> None:
    """Attempts are counted beforehand for tasks this late, and uncounted."""
    tasks = [add(0, parameters=number) for number in range(6)]  # more than run alone as a sample
    notes.fault = refuse(error)
    breakers = Breakers()
    for _ in range(conf.MAX_ATTEMPTS + 2):
        travel(10)
        sweep()
        assert run_once(20, breakers=breakers).failed == 0
        breakers._breakers.clear()  # close it
    assert set(TaskInfo.objects.values_list("attempts", flat=True)) == {0}
    assert TaskInfoLog.objects.filter(status=Status.SCHEDULED, error="").count() == len(tasks)
    notes.fault = None
    travel(10)
    sweep()
    assert run_once(20, breakers=breakers).executed == len(tasks)
    assert set(TaskInfoLog.objects.values_list("attempts", "status")) == {(1, Status.EXECUTED)}


def test_an_attempt_counted_before_the_connection_was_lost_is_uncounted_later(
    queue: DelayQueue, add: Add, notes: Notes, travel: Travel
) -> None:
    task, breakers = add(0), Breakers()
    notes.fault = refuse(OperationalError(2013, "Lost connection to server during query"))
    for _ in range(conf.MAX_ATTEMPTS + 1):
        travel(60)
        sweep()
        with pytest.raises(OperationalError):
            run_once(10, breakers=breakers)
    task.refresh_from_db()
    assert task.attempts == 1
    notes.fault = None
    travel(5)
    sweep()
    assert run_once(10, breakers=breakers).executed == 1
    assert TaskInfoLog.objects.get().attempts == 1


def test_refused_tasks_stay_overdue_and_keep_their_due_time(
    queue: DelayQueue, add: Add, notes: Notes, travel: Travel
) -> None:
    task = add(0)
    notes.fault = refuse(FULL)
    travel(60)
    run_once(10)
    assert overdue_by_topic(read_database_clock()).total() == 1
    again = TaskInfo.objects.get()
    assert again.execute_time == task.execute_time
    assert again.leased_until is not None
    notes.fault = None
    travel(10)
    sweep()
    run_once(10)
    assert TaskInfoLog.objects.get().lateness >= timedelta(seconds=60)  # type: ignore[operator]


def test_a_deferred_task_is_no_expired_lease(queue: DelayQueue, add: Add, notes: Notes, travel: Travel) -> None:
    task = add(0)
    TaskInfo.objects.update(attempts=7, leased_until=task.execute_time)
    travel(60)
    refresh()
    assert TaskInfo.objects.exists()


def test_only_the_refused_tasks_of_a_batch_wait(queue: DelayQueue, notes: Notes) -> None:
    many(500)
    notes.fault = refuse(FULL, 77, 78)
    report = run_once(500)
    assert (report.executed, report.failed, report.refused) == (498, 0, 2)
    assert len(notes.batches) < 100
    assert set(TaskInfo.objects.values_list("parameters", "attempts")) == {(77, 0), (78, 0)}


def test_refused_tasks_at_the_head_of_the_queue_do_not_starve_the_others(
    queue: DelayQueue, notes: Notes, settings: Any
) -> None:
    settings.SCHEDULING_BATCH_SIZE = settings.SCHEDULING_SWEEP_LIMIT = 10
    many(30)
    notes.fault = refuse(FULL, *range(20))
    for _ in range(4):
        run_once(10, breakers=Breakers())
        sweep(grace=0)
    assert set(notes.flat) == set(range(30))
    assert TaskInfoLog.objects.filter(status=Status.EXECUTED).count() == 10


def test_when_everything_is_refused_the_breaker_opens_and_closes_again(
    queue: DelayQueue, notes: Notes, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.SCHEDULING_TROUBLE_PAUSE = 0.3
    many(100)
    notes.fault = refuse(FULL)
    breakers = Breakers()
    report = run_once(100, breakers=breakers)
    assert (report.refused, report.failed) == (100, 0)
    assert len(notes.batches) == 4  # the batch, and three of it alone
    assert run_once(100, breakers=breakers).popped == 0
    assert len(notes.batches) == 4
    (row,) = breakers.report()
    assert (row["task_type"], row["trouble"]) == (TYPE, Trouble.DISK_FULL)
    assert any(record.levelno == logging.ERROR and "disk full" in record.getMessage() for record in caplog.records)
    notes.fault = None
    ran = 0
    while not ran:
        sweep(grace=0)
        ran = run_once(100, breakers=breakers).executed
    assert breakers.report() == []


def test_a_worker_beats_however_many_transactions_are_refused(queue: DelayQueue, notes: Notes) -> None:
    """Otherwise its supervisor would kill it as hanging, which counts as a crash."""
    many(50)
    notes.fault = refuse(LOCKED)
    beats: list[int] = []
    run_once(50, beat=lambda: beats.append(len(notes.batches)))
    assert len(beats) == 4
    assert beats == sorted(set(beats))


def test_a_long_lock_wait_is_not_retried_at_once(
    queue: DelayQueue, add: Add, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scheduling.database.transactions._RETRY_FOR", -1.0)
    add(0)
    notes.fault = refuse(LOCKED)
    run_once(10)
    assert len(notes.batches) == 1


def test_a_breaker_pauses_its_own_type_only(queue: DelayQueue, add: Add, notes: Notes) -> None:
    calls: list[int] = []
    registry.handler("other")(lambda tasks: calls.append(len(tasks)))
    notes.fault = refuse(FULL)
    many(10)
    breakers = Breakers()
    run_once(10, breakers=breakers)
    add(0, task_type="other")
    add(0)
    assert run_once(10, breakers=breakers).popped == 1
    assert calls == [1]
    assert len(notes.batches) == 4


def test_the_pause_of_a_breaker_grows_to_its_limit(settings: Any) -> None:
    settings.SCHEDULING_TROUBLE_PAUSE = 5
    breakers = Breakers()
    pauses = [breakers.refused(TYPE, Trouble.LOCKS, LOCKED, times=1, some_ran=False) for _ in range(2000)]
    assert pauses == sorted(pauses)
    assert (pauses[0], pauses[-1]) == (0.5, 5)
    assert breakers.closed([TYPE, "other"]) == {"other"}
    breakers.succeeded(TYPE)
    assert breakers.closed([TYPE]) == {TYPE}


def test_a_type_of_which_some_tasks_run_is_not_paused() -> None:
    breakers = Breakers()
    breakers.refused(TYPE, Trouble.LOCKS, LOCKED, times=9, some_ran=True)
    assert breakers.closed([TYPE]) == {TYPE}
    breakers.refused(TYPE, Trouble.LOCKS, LOCKED, times=2, some_ran=False)
    assert breakers.closed([TYPE]) == {TYPE}
    breakers.refused(TYPE, Trouble.LOCKS, LOCKED, times=1, some_ran=False)
    assert breakers.closed([TYPE]) == frozenset()


def test_refused_work_that_others_ran_is_no_longer_reported(settings: Any) -> None:
    settings.SCHEDULING_TROUBLE_PAUSE = 0.05
    breakers = Breakers()
    breakers.refused(TYPE, Trouble.LOCKS, LOCKED, times=4, some_ran=False)
    assert len(breakers.report()) == 1
    eventually(lambda: breakers.report() == [])
    breakers.refused(TYPE, Trouble.LOCKS, LOCKED, times=1, some_ran=False)
    assert breakers.closed([TYPE]) == {TYPE}


def test_a_record_that_cannot_be_written_counts_no_attempt(
    queue: DelayQueue, add: Add, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The handler raised by its own fault, and the database refused to record it."""

    def full(*args: Any, **kwargs: Any) -> bool:
        raise FULL

    notes.fault = poison(None)
    task = add(0)
    monkeypatch.setattr("scheduling.services.running.record_failure", full)
    assert run_once(10).refused == 1
    monkeypatch.undo()
    task.refresh_from_db()
    assert task.attempts == 0


def test_the_poll_command_reports_refused_tasks(manage: Manage) -> None:
    now = read_database_clock()
    add_task("probe.refused", execute_time=now, parameters={})
    result = manage("poll")
    assert result.returncode != 0
    assert "disk full" in result.stderr
    assert TaskInfo.objects.get().attempts == 0


# -- crashes


def test_a_crash_is_only_recorded_when_there_was_one(queue: DelayQueue, add: Add, notes: Notes, travel: Travel) -> None:
    """Two attempts raised, one killed its worker."""
    notes.fault = poison(None)
    task = add(0)
    for _ in range(2):
        run_once(10)
        travel(10)
        sweep()
    TaskInfo.objects.update(attempts=3)  # counted by a worker that died
    travel(5)
    sweep()
    assert run_once(10).failed == 1
    log = TaskInfoLog.objects.get(pk=task.pk)
    assert (log.status, log.attempts) == (Status.FAILED, 3)
    assert "died once" in log.error


# -- recoverable tasks are never dead


@pytest.fixture
def recoverable(notes: Notes) -> Notes:
    registry._handlers.clear()
    registry.handler(TYPE, max_attempts=3, recoverable=True)(notes.run)
    return notes


def test_a_recoverable_task_is_never_dead(
    queue: DelayQueue, add: Add, recoverable: Notes, travel: Travel, caplog: pytest.LogCaptureFixture
) -> None:
    recoverable.fault = poison(None)
    task = add(0)
    for attempts in range(1, 12):
        assert run_once(10).failed == 1
        task.refresh_from_db()
        assert task.attempts == attempts
        wait = task.execute_time - read_database_clock()
        assert wait <= timedelta(seconds=conf.MAX_BACKOFF)
        travel(wait.total_seconds() + 1)
        sweep()
    assert wait > timedelta(minutes=1)
    assert [record.levelno for record in caplog.records if "attempt 1 failed" in record.getMessage()] == [logging.ERROR]
    recoverable.fault = None
    assert run_once(10).executed == 1


def test_a_recoverable_task_that_kills_its_workers_waits_longer_and_longer(
    queue: DelayQueue, add: Add, recoverable: Notes, travel: Travel
) -> None:
    task = add(0)
    for crashes in range(1, 4):
        TaskInfo.objects.update(attempts=3 * crashes)  # counted by workers that died
        travel(5)
        sweep()
        assert run_once(10).failed == 1
        task.refresh_from_db()
        assert TaskInfoLog.objects.get().status == Status.SCHEDULED
        assert "Its worker died 3 times" in TaskInfoLog.objects.get().error
        assert task.execute_time > read_database_clock()
        travel((task.execute_time - read_database_clock()).total_seconds() + 1)
    assert recoverable.batches == []
    sweep()
    assert run_once(10).executed == 1
    assert recoverable.flat == [None]


def test_dead_tasks_of_recoverable_types_are_reopened(
    queue: DelayQueue, add: Add, recoverable: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its first due time, so that the record shows its lateness."""
    monkeypatch.setattr(registry, "_reconcilers", [])
    lost, moved, foreign = add(-90, key="lost"), add(-90, key="moved"), add(-90, task_type="foreign")
    TaskInfo.objects.all().delete()
    TaskInfoLog.objects.update(status=Status.FAILED, attempts=5, error="Its worker died 5 times while running it.")
    add(0, key="moved", parameters="again")
    assert refresh().reconciled == 1
    assert run_once(10).executed == 2
    log = TaskInfoLog.objects.get(pk=lost.pk)
    assert (log.status, log.attempts, log.error, log.execute_time) == (Status.EXECUTED, 1, "", lost.execute_time)
    superseded = TaskInfoLog.objects.get(pk=moved.pk)
    assert (superseded.status, superseded.version) == (Status.CANCELLED, 2)
    assert TaskInfoLog.objects.get(pk=foreign.pk).status == Status.FAILED
    assert sorted(map(str, recoverable.flat)) == ["None", "again"]


def test_a_reopened_task_that_is_no_longer_valid_is_closed(
    queue: DelayQueue, add: Add, recoverable: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "_reconcilers", [])
    task = add(-1)
    TaskInfo.objects.all().delete()
    TaskInfoLog.objects.update(status=Status.FAILED)
    recoverable.fault = lambda tasks: {task.task_id: Drop("it is out already")}
    refresh()
    sweep(grace=0)
    run_once(10)
    assert TaskInfoLog.objects.get().status == Status.CANCELLED
    assert refresh().reconciled == 0


def test_a_failing_task_may_be_retried_now_and_stays_late(
    queue: DelayQueue, add: Add, recoverable: Notes, travel: Travel
) -> None:
    recoverable.fault = poison(None)
    task = add(0)
    run_once(10)
    travel(0.5)
    recoverable.fault = None
    assert run_once(10).executed == 0
    retry_task(task.task_id)
    assert run_once(10).executed == 1
    assert TaskInfoLog.objects.get().lateness >= timedelta(seconds=0.5)  # type: ignore[operator]
    with pytest.raises(TaskNotPending):
        retry_task(task.task_id)
    with pytest.raises(TaskNotPending):
        retry_task(add(60).task_id)


# -- tasks with effects outside


@pytest.mark.django_db(transaction=True)
def test_trouble_counts_no_attempt_of_an_at_least_once_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_handlers", {})
    faults: list[Exception] = [FULL, LOCKED, FULL]

    def send(tasks: Sequence[TaskInfo]) -> None:
        if faults:
            raise faults.pop()

    registry.handler("mail", at_least_once=True, max_attempts=1)(send)
    task = add_task("mail", execute_time=read_database_clock(), parameters={})
    for left in (2, 1, 0):
        Worker().drain()
        task.refresh_from_db()
        assert (len(faults), task.attempts, task.lease_token) == (left, 0, "")
        Worker().drain()
        assert len(faults) == left  # it waits
        TaskInfo.objects.update(leased_until=read_database_clock())
    Worker().drain()
    assert TaskInfoLog.objects.get().status == Status.EXECUTED


# -- what others learn of it


@pytest.mark.django_db(transaction=True)
def test_a_hanging_refresh_does_not_delay_reports_of_trouble(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    settings.SCHEDULING_HEARTBEAT_INTERVAL = 3600  # it is reported at once
    hangs, released = threading.Event(), threading.Event()

    def hang() -> int:
        hangs.set()
        released.wait(10 * PATIENCE)
        return 0

    monkeypatch.setattr(registry, "_reconcilers", [hang])
    breakers = Breakers()
    with Maintenance("w", [TYPE], DatabaseQueue(), breakers):
        assert hangs.wait(PATIENCE)
        breakers.refused(TYPE, Trouble.DISK_FULL, FULL, times=1, some_ran=False)
        try:
            eventually(lambda: reported() == {Trouble.DISK_FULL})
            breakers.succeeded(TYPE)
            eventually(lambda: reported() == set())
        finally:
            released.set()
    assert not WorkerHeartbeat.objects.filter(stopped_at=None).exists()


def reported() -> set[Trouble]:
    return {one.trouble for one in refused_work(read_database_clock())}


@pytest.mark.django_db(transaction=True)
def test_a_heartbeat_that_is_refused_does_not_stop_the_sweep(
    monkeypatch: pytest.MonkeyPatch, add: Add, notes: Notes, settings: Any
) -> None:
    def refuse_beat(self: Maintenance) -> None:
        raise FULL

    monkeypatch.setattr(Maintenance, "beat", refuse_beat)
    swept = threading.Event()

    def sweep_once(queue: DelayQueue) -> int:
        swept.set()
        return 0

    monkeypatch.setattr("scheduling.workers.maintenance.sweep", sweep_once)
    monkeypatch.setattr("scheduling.workers.maintenance.refresh", lambda: None)
    with Maintenance("w", [TYPE], DatabaseQueue()):
        assert swept.wait(PATIENCE)


# -- reconcilers


def test_one_failing_reconciler_does_not_stop_the_pass(
    queue: DelayQueue, add: Add, notes: Notes, manage: Manage
) -> None:
    add(0, key="1")
    result = manage("refresh", env={"TEST_SETTINGS": '{"PROBE_RECONCILERS_FAIL": true}'})
    assert result.returncode != 0
    assert "tests.probe.handlers.reconcile" in result.stderr
    assert "healed=" in result.stdout


@pytest.mark.parametrize("error", [ZeroDivisionError(), FULL])
def test_the_other_reconcilers_run_and_the_window_is_loaded(
    queue: DelayQueue,
    queue_redis: redis.Redis | None,
    add: Add,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
) -> None:
    ran: list[str] = []

    def broken() -> int:
        with transaction.atomic():
            Effect.objects.create(task_id=1, task_type=TYPE, at=read_database_clock(), process=1)
            raise error

    def sound() -> int:
        ran.append("sound")
        return 2

    monkeypatch.setattr(registry, "_reconcilers", [sound, broken, sound])
    add(30)
    if queue_redis is not None:
        queue_redis.flushdb()
    with pytest.raises(Exception, match="broken") as raised:
        refresh()
    assert ran == ["sound", "sound"]
    assert raised.value.report.reconciled == 4  # type: ignore[attr-defined]
    assert raised.value.report.loaded == (queue.name == "redis")  # type: ignore[attr-defined]
    assert not Effect.objects.exists()


def test_a_lost_connection_ends_the_pass(queue: DelayQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost() -> int:
        raise OperationalError(2006, "Server has gone away")

    monkeypatch.setattr(registry, "_reconcilers", [lost])
    with pytest.raises(OperationalError):
        refresh()
    assert connection.is_usable()
