"""Running due tasks: once, in one transaction with the effect, and never early."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import OperationalError, connection

from scheduling import registry
from scheduling.database import clock, read_database_clock
from scheduling.exceptions import ImproperHandler
from scheduling.models import TaskInfo, TaskInfoLog
from scheduling.queues import DelayQueue, Hint, to_milliseconds
from scheduling.queues.topics import encode_id
from scheduling.registry import Drop, Postpone
from scheduling.services import add_tasks, cancel_task, run_due, run_once, sweep
from scheduling.services.circuit_breaker import Breakers
from scheduling.services.retry import backoff
from scheduling.services.running import Round
from scheduling.workers import worker as worker_module
from scheduling.workers.worker import Worker
from tests.harness import PATIENCE
from tests.scheduling.conftest import TYPE, Add, Keys, Notes, Travel, held_by_another

Status = TaskInfoLog.Status


def test_a_due_task_runs_and_its_row_gives_way_to_its_record(queue: DelayQueue, add: Add, notes: Notes) -> None:
    """R0.4, R2.1, R4.2, R4.8"""
    add(0, parameters="news")
    assert run_once(10, worker="w").executed == 1
    assert notes.flat == ["news"]
    assert TaskInfo.objects.count() == 0
    log = TaskInfoLog.objects.get()
    assert (log.status, log.version, log.attempts, log.worker) == (Status.EXECUTED, 2, 1, "w")
    assert log.executed_at is not None
    assert log.lateness is not None
    assert log.lateness >= timedelta()


def test_a_task_that_is_not_due_is_untouched(queue: DelayQueue, add: Add, notes: Notes, travel: Travel) -> None:
    """R2.3, R4.3"""
    add(10)
    travel(9)
    assert run_due(10) == 0
    assert TaskInfo.objects.count() == 1
    travel(2)
    assert run_due(10) == 1


def test_the_first_tasks_of_a_burst_are_committed_before_the_others(
    queue: DelayQueue, add: Add, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "_FIRST_BATCH", 4)
    for _ in range(10):
        add(0)
    Worker(task_types=[TYPE], queue=queue).drain()
    assert [len(batch) for batch in notes.batches] == [4, 6]


@pytest.mark.cases(1)
def test_a_hint_may_be_popped_shortly_before_its_task_runs_on_time(queue: DelayQueue, add: Add, notes: Notes) -> None:
    clock.measure()
    task = add(0.2, parameters="news")
    worker = Worker(task_types=[TYPE], queue=queue)
    worker.run_round(to_milliseconds(task.execute_time))
    worker.run_round()
    assert (worker.total.executed, notes.flat) == (1, ["news"])
    lateness = TaskInfoLog.objects.get().lateness
    assert lateness is not None
    assert lateness >= timedelta()


def test_a_task_is_not_run_early_if_this_machines_clock_is_ahead(
    keys: Keys, add: Add, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as after a failover to a database whose clock is behind; then the clock is measured again."""
    task = add(60)
    monkeypatch.setattr(clock, "_ahead", clock._ahead + 61)
    assert run_once(10).executed == 0
    assert (notes.batches, TaskInfo.objects.get().attempts) == ([], 0)
    assert clock.now() < task.execute_time
    assert run_once(10, now_ms=to_milliseconds(task.execute_time)).popped == 1, "its hint is not lost"


def test_a_second_thread_takes_part_in_a_burst(mariadb: None, queue: DelayQueue, add: Add, notes: Notes) -> None:
    for _ in range(3):
        add(0)
    stopping, both = threading.Event(), threading.Barrier(2, timeout=PATIENCE)
    worker = Worker(task_types=[TYPE], batch=1, queue=queue)
    assert worker.run_round()
    notes.fault = lambda tasks: (both.wait(), None)[1]
    with worker.in_thread(worker.helper(), stopping):
        while worker.total.executed < 2:  # noqa: PLR2004 (a round may only find the row that the other one has locked)
            worker.run_round()
        stopping.set()
    assert (worker.total.executed, TaskInfo.objects.count()) == (3, 0)


def test_a_hint_that_is_popped_too_early_does_nothing_and_is_pushed_back(keys: Keys, add: Add, notes: Notes) -> None:
    """R2.4"""
    task = add(60)
    keys.client.delete("sched:future:{test.note:0}")
    keys.client.rpush("sched:ready:{test.note:0}", encode_id(task.task_id))
    assert run_due(10) == 0
    assert keys.ready() == []
    assert list(keys.future()) == [task.task_id]


def test_a_task_that_becomes_due_while_its_early_hint_is_pushed_back_is_not_lost(
    keys: Keys, add: Add, notes: Notes, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another worker promotes hints some milliseconds early."""
    settings.SCHEDULING_SWEEP_GRACE = 30
    task, push_back = add(60), Round._push_back

    def push_back_late(self: Round, ids: Collection[int]) -> None:
        TaskInfo.objects.update(execute_time=read_database_clock())
        push_back(self, ids)

    monkeypatch.setattr(Round, "_push_back", push_back_late)
    assert run_once(10, now_ms=to_milliseconds(task.execute_time)).executed == 0
    assert run_due(10) == 1


def test_a_hint_popped_twice_has_one_effect(keys: Keys, add: Add, notes: Notes) -> None:
    task = add(0)
    keys.client.rpush("sched:ready:{test.note:0}", *[encode_id(task.task_id)] * 2)
    assert run_due(10) == 1
    assert run_due(10) == 0
    assert notes.flat == [None]


def test_malformed_members_of_the_ready_list_are_skipped(keys: Keys, add: Add, notes: Notes) -> None:
    """R1.20"""
    keys.client.sadd("sched:topics", "test.note:0", b"\xff\xfe", "nonsense", ":", "x:y")
    keys.client.rpush("sched:ready:{test.note:0}", "nonsense", b"\xff", "-1", "+" * 11, "z" * 11, encode_id(4711))
    add(0, parameters="news")
    run_due(10)
    assert notes.flat == ["news"]


def test_tasks_come_in_batches(queue: DelayQueue, notes: Notes, settings: Any) -> None:
    settings.SCHEDULING_BATCH_SIZE = 4
    now = read_database_clock()
    add_tasks({"task_type": TYPE, "execute_time": now, "parameters": number} for number in range(10))
    assert run_due(10) == 10
    assert [len(batch) for batch in notes.batches] == [4, 4, 2]
    assert sorted(notes.flat) == list(range(10))


def test_one_failing_task_is_recorded_and_the_others_run(queue: DelayQueue, add: Add, notes: Notes) -> None:
    """R0.8, R2.2"""

    def fault(tasks: Sequence[TaskInfo]) -> None:
        if any(task.parameters == "bad" for task in tasks):
            raise ValueError("out of ink")

    notes.fault = fault
    for parameters in ("one", "bad", "two"):
        add(0, parameters=parameters)
    report = run_once(10)
    assert (report.executed, report.failed) == (2, 1)
    bad = TaskInfo.objects.get()
    assert (bad.parameters, bad.attempts) == ("bad", 1)
    assert bad.execute_time > read_database_clock()
    log = TaskInfoLog.objects.get(pk=bad.pk)
    assert (log.status, log.attempts) == (Status.SCHEDULED, 1)
    assert "ValueError: out of ink" in log.error


def test_a_task_is_retried_with_growing_waits_and_then_dead(
    queue: DelayQueue, add: Add, notes: Notes, travel: Travel
) -> None:
    """R2.2"""

    def fault(_: Sequence[TaskInfo]) -> None:
        raise ValueError("out of ink")

    notes.fault = fault
    task = add(0)
    waits = []
    for attempt in (1, 2):
        run_due(10)
        task.refresh_from_db()
        assert task.attempts == attempt
        waits.append(task.execute_time - read_database_clock())
        assert run_due(10) == 0
        travel(waits[-1].total_seconds() + 0.1)
    run_due(10)
    assert waits[0] < waits[1]
    assert TaskInfo.objects.count() == 0
    log = TaskInfoLog.objects.get()
    assert (log.status, log.attempts) == (Status.FAILED, 3)
    assert len(notes.batches) == 3


def test_backoff_doubles_with_jitter_up_to_its_limit(settings: Any) -> None:
    settings.SCHEDULING_BACKOFF, settings.SCHEDULING_MAX_BACKOFF = 2, 60
    for attempts, longest in [(1, 2), (2, 4), (3, 8), (10, 60), (1000, 60)]:
        for _ in range(50):
            assert longest / 2 <= backoff(attempts).total_seconds() <= longest


def test_the_effect_and_the_end_of_the_task_commit_together(queue: DelayQueue, add: Add, notes: Notes) -> None:
    """R0.5"""

    def write_and_fail(_: Sequence[TaskInfo]) -> None:
        Group.objects.create(name="half done")
        raise ValueError

    notes.fault = write_and_fail
    add(0)
    run_due(10)
    assert not Group.objects.filter(name="half done").exists()


def test_a_dropped_task_is_closed_with_the_reason(queue: DelayQueue, add: Add, notes: Notes) -> None:
    invalid, good = add(0), add(0)
    notes.fault = lambda tasks: {invalid.task_id: Drop("it was unpublished")}
    report = run_once(10)
    assert (report.executed, report.dropped) == (1, 1)
    assert TaskInfo.objects.count() == 0
    log = TaskInfoLog.objects.get(pk=invalid.pk)
    assert (log.status, log.error) == (Status.CANCELLED, "it was unpublished")
    assert TaskInfoLog.objects.get(pk=good.pk).status == Status.EXECUTED


def test_a_postponed_task_stays_and_counts_no_attempt(
    queue: DelayQueue, add: Add, notes: Notes, travel: Travel
) -> None:
    task = add(0)
    notes.fault = lambda tasks: {task.task_id: Postpone()}
    assert run_due(10) == 0
    task.refresh_from_db()
    assert task.attempts == 0
    notes.fault = None
    travel(0.5)
    sweep()
    assert run_due(10) == 1


def test_a_task_may_be_postponed_as_long_as_its_subject_is_locked(
    queue: DelayQueue, add: Add, notes: Notes, travel: Travel
) -> None:
    """R0.5: also when it is so late by then that its attempts are counted before they run."""
    task = add(0)
    notes.fault = lambda tasks: {task.task_id: Postpone()}
    for _ in range(10):
        travel(1)
        sweep()
        assert run_once(10).failed == 0
    notes.fault = None
    travel(1)
    sweep()
    assert run_due(10) == 1
    assert TaskInfoLog.objects.get().attempts == 1


def test_a_leased_task_is_not_run(queue: DelayQueue, add: Add, notes: Notes, travel: Travel) -> None:
    """R4.4"""
    task = add(0)
    until = read_database_clock() + timedelta(seconds=30)
    TaskInfo.objects.filter(pk=task.pk).update(leased_until=until, lease_token="held")
    queue.push([Hint.of(task)], now_ms=Hint.of(task).due_ms + 1)
    assert run_due(10) == 0
    travel(31)
    sweep()
    assert run_due(10) == 1


def test_types_without_a_handler_wait_and_block_no_others(queue: DelayQueue, add: Add, notes: Notes) -> None:
    add(0, task_type="unknown.type", priority=-10)
    add(0, parameters="news")
    run_due(10)
    assert notes.flat == ["news"]
    assert TaskInfo.objects.get().task_type == "unknown.type"


def test_two_workers_run_a_task_once(queue: DelayQueue, notes: Notes) -> None:
    """R0.6, R3.6, R4.5"""
    now = read_database_clock()
    add_tasks({"task_type": TYPE, "execute_time": now, "parameters": number} for number in range(60))
    start = threading.Barrier(4)

    def work() -> None:
        start.wait()
        while TaskInfo.objects.exists():
            run_due(7)
            sweep(grace=0)
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert TaskInfoLog.objects.filter(status=Status.EXECUTED, version=2).count() == 60


def test_trouble_with_the_database_counts_no_attempt(queue: DelayQueue, add: Add, notes: Notes) -> None:
    def fault(_: Sequence[TaskInfo]) -> None:
        raise OperationalError(2013, "Lost connection to server during query")

    notes.fault = fault
    task = add(0)
    with pytest.raises(OperationalError):
        run_due(10)
    task.refresh_from_db()
    assert task.attempts == 0


def test_a_batch_that_deadlocks_is_retried(queue: DelayQueue, add: Add, notes: Notes) -> None:
    def deadlock_once(_: Sequence[TaskInfo]) -> None:
        if len(notes.batches) == 1:
            raise OperationalError(1213, "Deadlock found when trying to get lock; try restarting transaction")

    notes.fault = deadlock_once
    add(0)
    assert run_due(10) == 1
    assert len(notes.batches) == 2


def test_a_task_found_long_overdue_is_counted_before_it_runs(
    queue: DelayQueue, add: Add, notes: Notes, travel: Travel
) -> None:
    """Otherwise a task that kills its worker would do so for ever."""
    task = add(0)
    travel(60)
    seen: list[int] = []
    notes.fault = lambda tasks: seen.extend(task.attempts for task in tasks)
    run_due(10)
    assert seen == [1]
    assert TaskInfoLog.objects.get(pk=task.pk).attempts == 1


def test_a_task_that_killed_its_workers_too_often_is_dead(
    queue: DelayQueue, add: Add, notes: Notes, travel: Travel
) -> None:
    task = add(0)
    TaskInfo.objects.update(attempts=3)
    travel(5)
    assert run_once(10).failed == 1
    assert notes.batches == []
    log = TaskInfoLog.objects.get(pk=task.pk)
    assert log.status == Status.FAILED
    assert "died 3 times" in log.error


def test_an_attempt_that_was_counted_and_is_about_to_begin_is_not_counted_by_others(
    queue: DelayQueue, add: Add, notes: Notes, travel: Travel
) -> None:
    """R0.6: otherwise six workers with a backlog would consider each other dead and fail its tasks."""
    task = add(0)
    travel(60)
    for name in ("first", "second"):
        Round(name, queue)._run_batch([task.task_id], trusted=True)
    task.refresh_from_db()
    assert (task.attempts, notes.batches) == (1, [])
    travel(2)
    sweep()
    assert run_due(10) == 1


def test_an_attempt_that_was_counted_and_could_not_begin_is_uncounted(
    mariadb: None, queue: DelayQueue, add: Add, notes: Notes, travel: Travel
) -> None:
    task, breakers = add(0), Breakers()
    travel(60)
    current = Round("first", queue, breakers)
    counted = current._run_batch([task.task_id], trusted=True)
    with held_by_another(task):
        current._run_counted(list(counted))
    travel(2)
    sweep()
    assert run_once(10, breakers=breakers).executed == 1
    assert TaskInfoLog.objects.get().attempts == 1


def test_suspects_run_alone_in_quarantine(queue: DelayQueue, add: Add, notes: Notes, travel: Travel) -> None:
    for number in range(3):
        add(0, parameters=number)
    TaskInfo.objects.update(attempts=1)
    run_due(10)
    assert [len(batch) for batch in notes.batches] == [1, 1, 1]


def test_a_task_that_waited_behind_others_is_no_suspect(
    queue: DelayQueue, add: Add, notes: Notes, travel: Travel
) -> None:
    for number in range(3):
        add(0, parameters=number)
    idle = clock.now()
    travel(60)
    sweep()
    assert run_once(10, queue=queue, busy_since=idle).executed == 3
    assert [len(batch) for batch in notes.batches] == [3]


def test_a_type_has_one_handler(notes: Notes) -> None:
    with pytest.raises(ImproperHandler, match="already has a handler"):
        registry.handler(TYPE)(lambda tasks: None)
    with pytest.raises(ImproperHandler, match="at least 1"):
        registry.handler("other", max_attempts=0)


def test_a_handler_runs_when_it_is_called() -> None:
    def later(tasks: Sequence[TaskInfo]) -> Iterator[None]:
        yield

    async def awaited(tasks: Sequence[TaskInfo]) -> None:
        """Never runs."""

    for function in (later, awaited):
        with pytest.raises(ImproperHandler, match="no plain function"):
            registry.handler("test.later")(function)  # type: ignore[arg-type]


def test_a_stale_hint_of_a_cancelled_task_has_no_effect(queue: DelayQueue, add: Add, notes: Notes) -> None:
    task = add(0)
    cancel_task(task.task_id)
    queue.push([Hint.of(task)], now_ms=Hint.of(task).due_ms + 1)
    assert run_due(10) == 0
    assert notes.batches == []
