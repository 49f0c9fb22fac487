"""Concurrent stateful test of the engine: two connections whose statements a machine interleaves, and faults between.

The machine starts an operation, lets it take some steps, starts another, kills a worker, moves the time, takes Redis
away. After every step the tables are compared with what they were before it. Nothing depends on real time, so a failure
shrinks to the steps that matter, and fails again with the same steps. `MODEL_EXAMPLES` draws as many new histories;
without it, a few that are always the same fail only when the code has changed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

import pytest
from django.db import OperationalError
from hypothesis import HealthCheck, note, settings as hypothesis_settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from scheduling import registry
from scheduling.database import clock
from scheduling.database.transactions import is_collision
from scheduling.exceptions import InvalidTask, QueueUnavailable, TaskNotPending
from scheduling.models import TaskInfo, TaskInfoLog
from scheduling.queues import DelayQueue, get_queue
from scheduling.queues.fallback import FallbackQueue
from scheduling.registry import Drop, Postpone, Verdict
from scheduling.services import add_task, cancel_key, cancel_task, refresh, reschedule_task, retry_task, sweep
from scheduling.services.circuit_breaker import Breakers
from scheduling.services.running import run_once
from scheduling.workers.side_effects import run_side_effects
from tests.probe.models import Effect
from tests.scheduling.actors import Actor, Timeline, current_actor
from tests.scheduling.conftest import TYPE
from tests.scheduling.invariants import Invariants, Run, Version

OUTSIDE = "test.outside"
PAUSE = 700.0  # seconds, longer than every lease and backoff
ROUNDS = 12  # after which nothing may be pending
STEPS = 25  # of a history at most
MAX_ATTEMPTS = 3
MANY = 1000  # steps, more than any operation has
EXAMPLES = int(os.environ.get("MODEL_EXAMPLES", "0"))
FEW = 6
Operation = tuple[Any, ...]

EDITS = ("add", "cancel", "cancel key", "reschedule", "retry")
"""Operations of editors, who may be refused; workers never are."""

MAY_WAIT = (*EDITS, "run outside")
"""Operations that may wait for a row lock; the last one to complete a task that an editor changes."""

REDIS_STATES = ("there", "away", "silent")
BY_ID = ("cancel", "reschedule", "retry")

keys = st.sampled_from(["a", "b", "c"])
types = st.sampled_from([TYPE, TYPE, OUTSIDE])
due_in = st.sampled_from([0, 2, 0, 2, -5, 60, 400])
conducts = st.sampled_from(
    [
        "works",
        "works",
        "works",
        "fails once",
        "fails",
        "kills once",
        "kills",
        "is refused",
        "is postponed",
        "is dropped",
    ]
)
runs = st.tuples(st.just("run"), st.sampled_from([0, 0, 3, -3]))
moves = st.tuples(st.just("reschedule"), types, keys, due_in)
operations = st.one_of(
    runs,
    moves,
    runs,
    runs,
    st.tuples(st.just("add"), types, keys, due_in, st.integers(0, 1), conducts),
    st.tuples(st.just("cancel"), types, keys),
    st.tuples(st.just("sweep")),
    runs,
    moves,
    st.tuples(st.just("run outside")),
    st.tuples(st.just("cancel key"), types, keys),
    st.tuples(st.just("retry"), types, keys),
    st.tuples(st.just("refresh")),
)
faults = st.sampled_from(["kill", "empty Redis", *REDIS_STATES])
which = st.integers(0, 1)
steps = st.integers(1, 12)


class Job(NamedTuple):
    """What an actor does: the operation, the id of its task if it has one, and the last step before it."""

    name: str
    task_id: int
    since: int


class Stage:
    """What all histories of a test share: time, queue and Redis."""

    def __init__(self, timeline: Timeline, redis: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.timeline = timeline
        self.redis = redis
        self.redis_is = "there"
        self.handlers: Handlers | None = None  #: of the present history
        registry.handler(TYPE, max_attempts=MAX_ATTEMPTS)(self._run)
        registry.handler(OUTSIDE, max_attempts=MAX_ATTEMPTS, at_least_once=True)(self._run_outside)
        queue = get_queue()
        if isinstance(queue, FallbackQueue):
            self._watch(queue.primary, monkeypatch, self._at_redis)
            self._watch(queue.fallback, monkeypatch, self._at_database)
        else:
            self._watch(queue, monkeypatch, self._at_database)

    def _run(self, tasks: Sequence[TaskInfo]) -> dict[int, Verdict]:
        assert self.handlers
        return self.handlers.run(tasks)

    def _run_outside(self, tasks: Sequence[TaskInfo]) -> None:
        assert self.handlers
        self.handlers.run_outside(tasks)

    def _watch(self, queue: DelayQueue, monkeypatch: pytest.MonkeyPatch, at: Callable[..., Any]) -> None:
        for name in ("push", "discard", "pop", "promote", "ready", "requeue", "ping", "acquire", "release"):
            monkeypatch.setattr(queue, name, at(name, getattr(queue, name)))

    def _at_redis(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        at_database = self._at_database(name, method)

        def call(*args: Any, **options: Any) -> Any:
            if actor := current_actor():
                actor.stop(f"{name} in Redis")
            if self.redis_is == "away":
                raise QueueUnavailable("away")
            result = at_database(*args, **options)
            if self.redis_is == "silent":
                raise QueueUnavailable("did it, but does not say so")
            return result

        return call

    def _at_database(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            result = method(*args, **options)
            if (actor := current_actor()) and name == "pop":
                actor.holds.update(task_id for ids in result.ids.values() for task_id in ids)
                actor.stop("popped")
            return result

        return call

    def clear(self) -> None:
        """Begin another history."""
        self.redis_is = "there"
        self.timeline.move(PAUSE)
        clock.measure()
        for model in (Effect, TaskInfo, TaskInfoLog):
            model.objects.all().delete()
        if self.redis is not None:
            self.redis.flushdb()
        get_queue().promote(now_ms=0)  # otherwise the fallback may still serve after a failed history


class Handlers:
    """Run tasks as their parameters say, and write what they do."""

    def __init__(self, invariants: Invariants, timeline: Timeline) -> None:
        self._tables = invariants
        self._timeline = timeline
        self._leases: dict[Version, datetime] = {}  # of runs that have not ended, or whose worker died
        self.violations: list[str] = []

    def run(self, tasks: Sequence[TaskInfo]) -> dict[int, Verdict]:
        return {task.task_id: verdict for task in tasks if (verdict := self._run(task, is_alone=len(tasks) == 1))}

    def run_outside(self, tasks: Sequence[TaskInfo]) -> None:
        (task,) = tasks
        assert task.leased_until
        version, now = (task.task_id, task.version), self._timeline.now
        if self._leases.get(version, now) > now:
            self.violations.append(f"{task} runs though it is leased")
        self._leases[version] = task.leased_until
        self._tables.excuses[version] += 1
        self._actor().stop("runs outside")
        try:
            self._run(task, is_alone=False)
        except Exception:
            del self._leases[version]
            raise

    def _run(self, task: TaskInfo, *, is_alone: bool) -> Verdict | None:
        if task.execute_time > self._timeline.now:
            self.violations.append(f"{task} runs early")
        run = Run(task.task_id, task.version)
        is_first = run not in self._tables.runs
        self._tables.runs.append(run)
        does = task.parameters
        if does == "kills" or (does == "kills once" and is_first):
            self._actor().die()
        if does == "fails" or (does == "fails once" and is_first):
            self._tables.raised.add(run)
            self._tables.excuses[run] += is_alone
            raise ValueError(does)
        if does == "is refused" and is_first:
            raise OperationalError(1114, "The table is full")
        if does == "is postponed" and is_first:
            return Postpone()
        if does == "is dropped":
            return Drop("")
        number = len(self._tables.runs) - 1
        Effect.objects.create(task_id=run.task_id, task_type=task.task_type, at=self._timeline.now, process=number)
        return None

    def _actor(self) -> Actor:
        actor = current_actor()
        assert actor
        return actor


class Histories(RuleBasedStateMachine):
    """Two actors on one engine. The rules say what may happen next."""

    def __init__(self, stage: Stage) -> None:
        super().__init__()
        stage.clear()
        self.stage = stage
        self.tables = Invariants(transactional=TYPE, max_attempts=MAX_ATTEMPTS)
        self.handlers = stage.handlers = Handlers(self.tables, stage.timeline)
        self.actors: list[Actor] = []
        self.jobs: dict[Actor, Job] = {}
        self.breakers = {"one": Breakers(), "two": Breakers()}
        self.is_sound = True

    @initialize(tasks=st.lists(st.tuples(types, due_in, conducts), min_size=1, max_size=3))
    def add(self, tasks: list[tuple[str, float, str]]) -> None:
        for key, (task_type, due, does) in zip("abc", tasks, strict=False):
            self._operate("add", 0, (task_type, key, due, 0, does), "")
        self.tables.check("add")

    @precondition(lambda self: len(self.actors) < 2)
    @rule(operation=operations, steps=steps)
    def begin(self, operation: Operation, steps: int) -> None:
        self._go(self._actor(*operation), steps)

    @precondition(lambda self: not self.actors)
    @rule(first=operations, second=operations, turns=st.lists(steps, min_size=1, max_size=6))
    def race(self, first: Operation, second: Operation, turns: list[int]) -> None:
        """Two operations take turns."""
        racing = [self._actor(*first), self._actor(*second)]
        for number, steps in enumerate(turns):
            if not racing[number % 2].is_done:
                self._go(racing[number % 2], steps)

    @precondition(lambda self: self.actors)
    @rule(which=which, steps=steps)
    def go_on(self, which: int, steps: int) -> None:
        self._go(self._chosen(which), steps)

    @precondition(lambda self: self.actors)
    @rule(which=which)
    def finish(self, which: int) -> None:
        self._go(self._chosen(which), MANY)

    @rule(fault=faults, which=which)
    def fault(self, fault: str, which: int) -> None:
        if fault == "kill" and self.actors:
            actor = self._chosen(which)
            note(f"{actor.name} crashes at: {actor.stands_at}")
            actor.kill()
            self._look(actor)
        elif fault == "empty Redis" and self.stage.redis is not None:
            self.stage.redis.flushdb()
        elif fault in REDIS_STATES:
            self.stage.redis_is = fault

    @rule(seconds=st.sampled_from([0.3, 1.1, 31]))
    def wait(self, seconds: float) -> None:
        for actor in self.actors:
            self.tables.excuse(actor.holds)
        self.stage.timeline.move(seconds)

    def teardown(self) -> None:
        try:
            if self.is_sound:
                self._settle()
        finally:
            for actor in self.actors:
                actor.kill()

    def _settle(self) -> None:
        """Without further faults every task that can be executed is, however long it takes."""
        self.stage.redis_is = "there"
        while self.actors:
            for actor in list(self.actors):
                self._go(actor, MANY)
            if self.actors and all(actor.is_blocked for actor in self.actors):
                self.actors[0].is_impatient = True
        for _ in range(ROUNDS):
            if not self.tables.rows:
                return
            self.stage.timeline.move(PAUSE)
            for name in ("sweep", "run", "run outside"):
                self._go(self._actor(name), MANY)
        self.is_sound = False
        raise AssertionError(f"lost: {self.tables.rows}")

    def _chosen(self, which: int) -> Actor:
        return self.actors[which % len(self.actors)]

    def _actor(self, name: str, *values: Any) -> Actor:
        """An actor for an operation that has not begun."""
        busy = {actor.name for actor in self.actors}
        free = next(one for one in self.breakers if one not in busy)
        task_id = self.tables.newest(*values[:2]) if name in BY_ID else 0
        if name == "retry":
            self.tables.retried.add(task_id)
        skew = values[0] if name == "run" and values else 0
        actor = Actor(free, self.stage.timeline, lambda: self._operate(name, task_id, values, free), skew=skew)
        self.jobs[actor] = Job(name, task_id, self.tables.step)
        self.actors.append(actor)
        note(f"{free} begins: {name} {values}")
        return actor

    def _operate(self, name: str, task_id: int, values: tuple[Any, ...], worker: str) -> Any:
        now = self.stage.timeline.now
        match name, *values:
            case "add", task_type, key, due, priority, does:
                due_at = now + timedelta(seconds=due)
                return add_task(task_type, execute_time=due_at, parameters=does, priority=priority, key=key)
            case "reschedule", _, _, due:
                return reschedule_task(task_id, now + timedelta(seconds=due))
            case "cancel", _, _:
                return cancel_task(task_id)
            case "cancel key", task_type, key:
                return cancel_key(task_type, key)
            case "retry", _, _:
                return retry_task(task_id)
            case "run", *_:
                return run_once(100, worker=worker, breakers=self.breakers[worker])
            case "run outside", *_:
                return run_side_effects([OUTSIDE])
            case "sweep", *_:
                return sweep(grace=0)
            case _:
                return refresh()

    def _go(self, actor: Actor, steps: int) -> None:
        for _ in range(steps):
            actor.advance()
            self._look(actor)
            if actor.is_done or actor.is_blocked:
                break
        note(f"{actor.name} stands at: {actor.stands_at} {actor.error or ''}")

    def _look(self, actor: Actor) -> None:
        """Check what the step of this actor has changed."""
        self.is_sound = False
        job = self.jobs[actor]
        if actor.is_done:
            self.actors.remove(actor)
        if actor.has_crashed:
            self.tables.excuse(actor.holds | self.breakers[actor.name].uncounted)
            self.breakers[actor.name] = Breakers()
        self.tables.check(job.name)
        if job.name == "run outside":
            actor.holds.update(self.tables.leased)
        assert not self.handlers.violations
        assert job.name in MAY_WAIT or not actor.is_blocked, f"a worker {actor.stands_at}"
        if actor.is_done and not actor.has_crashed:
            assert not actor.error or (job.name in EDITS and _may_be_refused(actor.error)), actor.error
            self.tables.ended(job.name, job.task_id, job.since, actor.result, actor.error)
        self.is_sound = True


def _may_be_refused(error: Exception) -> bool:
    return isinstance(error, TaskNotPending | InvalidTask) or is_collision(error)


@pytest.fixture
def stage(mariadb: None, queue: DelayQueue, queue_redis: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    monkeypatch.setattr(registry, "_handlers", {})
    monkeypatch.setattr(registry, "_reconcilers", [])
    timeline = Timeline()
    with timeline.in_force(monkeypatch):
        yield Stage(timeline, queue_redis if queue.name == "redis" else None, monkeypatch)


def test_retrying_a_task_is_refused_while_another_with_its_key_is_added(stage: Stage) -> None:
    now = stage.timeline.now
    closed = add_task(TYPE, execute_time=now, parameters="works", key="a")
    cancel_task(closed.task_id)
    adding = Actor("one", stage.timeline, lambda: add_task(TYPE, execute_time=now, parameters="works", key="a"))
    while "INSERT" not in adding.stands_at:
        adding.advance()
    retrying = Actor("two", stage.timeline, lambda: retry_task(closed.task_id))
    while not retrying.is_blocked:
        retrying.advance()
    for actor in (adding, retrying):
        while not actor.is_done:
            actor.advance()
    assert isinstance(retrying.error, InvalidTask)


@pytest.mark.cases(1)
def test_in_every_interleaving_each_task_runs_once_and_never_early(stage: Stage) -> None:
    """R0.5, R1.6, R1.19, R3.6, R4.3"""
    run_state_machine_as_test(
        partial(Histories, stage),  # type: ignore[arg-type]  # it is called
        settings=hypothesis_settings(
            max_examples=EXAMPLES or FEW,
            derandomize=not EXAMPLES,
            stateful_step_count=STEPS,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
