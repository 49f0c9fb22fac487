"""Stateful test of the engine against a dictionary: random adds, reschedules, cancels, runs, crashes and flushes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, example, given, settings as hypothesis_settings, strategies as st

from scheduling import registry
from scheduling.database import read_database_clock
from scheduling.exceptions import LeaseLost, TaskNotPending
from scheduling.models import TaskInfo, TaskInfoLog
from scheduling.queues import DelayQueue, get_queue
from scheduling.services import add_task, cancel_key, complete_task, poll, refresh, reschedule_task, run_due, sweep
from tests.drawn import INPUTS
from tests.scheduling.conftest import TYPE, Notes, Travel

OUTSIDE = "outside.print"
Status = TaskInfoLog.Status

keys = st.sampled_from(["a", "b", "c"])
moments = st.integers(min_value=-5, max_value=400)
steps = st.one_of(
    st.tuples(st.just("add"), st.sampled_from([TYPE, OUTSIDE]), keys, moments),
    st.tuples(st.just("move"), keys, moments),
    st.tuples(st.just("cancel"), st.sampled_from([TYPE, OUTSIDE]), keys),
    st.tuples(st.just("roll back"), keys, moments),
    st.tuples(st.just("run")),
    st.tuples(st.just("crash")),
    st.tuples(st.just("lose pop")),
    st.tuples(st.just("flush")),
    st.tuples(st.just("refresh")),
    st.tuples(st.just("lease")),
    st.tuples(st.just("complete")),
    st.tuples(st.just("wait"), st.integers(min_value=0, max_value=120)),
)


class WorkerDied(BaseException):
    """Stops a worker without cleanup."""


class Newsroom:
    """The expected state: the due time of each pending `(type, key)`, and the tasks that ran."""

    def __init__(self, notes: Notes, travel: Travel, redis: Any) -> None:
        self.notes, self.travel, self.redis = notes, travel, redis
        self.pending: dict[tuple[str, str], TaskInfo] = {}
        self.leases: list[TaskInfo] = []
        self.ran: list[int] = []
        self.closed: set[int] = set()
        notes.fault = self._run

    def _run(self, tasks: Sequence[TaskInfo]) -> None:
        now = read_database_clock()
        for task in tasks:
            expected = self.pending[TYPE, task.key or ""]
            assert expected.task_id == task.task_id
            assert expected.execute_time <= now, "early"

    def add(self, task_type: str, key: str, seconds: int) -> None:
        due = read_database_clock() + timedelta(seconds=seconds)
        self.pending[task_type, key] = add_task(task_type, execute_time=due, parameters=key, key=key)

    def move(self, key: str, seconds: int) -> None:
        due = read_database_clock() + timedelta(seconds=seconds)
        task = self.pending.get((TYPE, key))
        if task is None:
            with pytest.raises(TaskNotPending):
                reschedule_task(4711, due)
        else:
            self.pending[TYPE, key] = reschedule_task(task.task_id, due)

    def cancel(self, task_type: str, key: str) -> None:
        assert cancel_key(task_type, key) == (self.pending.pop((task_type, key), None) is not None)

    def roll_back(self, key: str, seconds: int) -> None:
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            add_task(TYPE, execute_time=read_database_clock() + timedelta(seconds=seconds), parameters=key, key=key)
            raise ZeroDivisionError

    def run(self) -> None:
        """Sweep first, because of lost hints, and again after the ready hints, which go before them.

        Only tasks that are due now may run.
        """
        sweep(grace=0)
        due = [pair for pair, task in self.pending.items() if pair[0] == TYPE and task.execute_time <= self.now()]
        run_due(100)
        sweep(grace=0)
        run_due(100)
        for pair in due:
            self.ran.append(self.pending.pop(pair).task_id)

    def crash(self) -> None:
        def die(_: Sequence[TaskInfo]) -> None:
            raise WorkerDied

        self.notes.fault = die
        try:
            run_due(100)
        except WorkerDied:
            pass
        finally:
            self.notes.fault = self._run
        self.wait(1)  # as long as the lease of an attempt that was counted before it ran

    def lose_pop(self) -> None:
        get_queue().pop([TYPE, OUTSIDE], 100, now_ms=int(self.now().timestamp() * 1000))

    def flush(self) -> None:
        if self.redis is not None:
            self.redis.flushdb()

    def refresh(self) -> None:
        refresh()

    def lease(self) -> None:
        self.leases += poll(OUTSIDE, limit=10, lease=30)

    def complete(self) -> None:
        for task in self.leases:
            held = TaskInfo.objects.filter(pk=task.pk, lease_token=task.lease_token).exists()
            try:
                complete_task(task.task_id, lease_token=task.lease_token)
            except LeaseLost:
                assert not held
            else:
                assert held
                self.ran.append(self.pending.pop((OUTSIDE, task.key or "")).task_id)
        self.leases.clear()

    def wait(self, seconds: int) -> None:
        self.travel(seconds + 0.01)

    def now(self) -> Any:
        return read_database_clock()

    def check(self) -> None:
        stored = {(task.task_type, task.key): task.task_id for task in TaskInfo.objects.all()}
        assert stored == {pair: task.task_id for pair, task in self.pending.items()}
        executed = TaskInfoLog.objects.filter(status=Status.EXECUTED).values_list("task_id", flat=True)
        assert sorted(executed) == sorted(self.ran)
        assert not TaskInfoLog.objects.filter(lateness__lt=timedelta()).exists()
        scheduled = TaskInfoLog.objects.filter(status=Status.SCHEDULED).values_list("task_id", flat=True)
        assert set(scheduled) == set(stored.values())


@hypothesis_settings(
    max_examples=INPUTS or 12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(script=st.lists(steps, min_size=5, max_size=30))
@example(script=[("add", TYPE, "a", 0), ("wait", 2), ("crash",), ("run",)])
@example(script=[("add", TYPE, "a", 0), *[("crash",)] * 5])
@example(script=[("add", TYPE, "b", 301), ("add", TYPE, "a", 0)])  # b has no hint, and waits for a
def test_whatever_happens_each_task_runs_once_and_never_early(
    queue: DelayQueue, notes: Notes, travel: Travel, queue_redis: Any, script: list[tuple[Any, ...]]
) -> None:
    """R0.5, R1.6, R1.19, R4.3"""
    registry._handlers[TYPE] = registry.Handler(notes.run, max_attempts=1000)  # however many crashes a script has
    notes.batches.clear()
    for model in (TaskInfo, TaskInfoLog):
        model.objects.all().delete()
    newsroom = Newsroom(notes, travel, queue_redis)
    for name, *arguments in script:
        getattr(newsroom, name.replace(" ", "_"))(*arguments)
        newsroom.check()
    newsroom.wait(500)
    newsroom.run()
    newsroom.run()
    newsroom.check()
    assert not any(task_type == TYPE for task_type, _ in newsroom.pending)
