"""At-least-once tasks, with an effect outside the database, which delay no other tasks."""

from __future__ import annotations

import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import wraps
from typing import Any

import pytest

from scheduling import registry
from scheduling.database import read_database_clock
from scheduling.exceptions import ImproperHandler
from scheduling.models import TaskInfo, TaskInfoLog
from scheduling.services import add_task, poll, refresh
from scheduling.workers.side_effects import run_side_effects
from scheduling.workers.worker import Worker
from tests.conftest import StartManage
from tests.harness import PATIENCE, eventually
from tests.probe.models import Effect

pytestmark = pytest.mark.django_db(transaction=True)

Status = TaskInfoLog.Status


def add(task_type: str, **parameters: object) -> int:
    return add_task(task_type, execute_time=read_database_clock(), parameters=parameters).task_id


@contextmanager
def working() -> Iterator[None]:
    stopping = threading.Event()
    thread = threading.Thread(target=Worker().run, args=[stopping])
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()


def test_an_at_least_once_task_is_run_and_recorded() -> None:
    task_id = add("probe.at_least_once")
    Worker().drain()
    assert Effect.objects.filter(task_id=task_id).count() == 1
    assert TaskInfoLog.objects.get(task_id=task_id).status == Status.EXECUTED


def test_a_failed_at_least_once_task_is_retried_after_a_backoff() -> None:
    task_id = add("probe.at_least_once", times=1)
    Worker().drain()
    task = TaskInfo.objects.get(task_id=task_id)
    assert task.execute_time > read_database_clock()
    assert "the mail server is away" in TaskInfoLog.objects.get(task_id=task_id).error

    TaskInfo.objects.filter(task_id=task_id).update(execute_time=read_database_clock())
    Worker().drain()
    assert TaskInfoLog.objects.get(task_id=task_id).status == Status.EXECUTED


def test_a_slow_side_effect_delays_no_other_task() -> None:
    slow = add("probe.at_least_once", seconds=2)
    with working():
        eventually(lambda: TaskInfo.objects.filter(task_id=slow, leased_until__isnull=False).exists())
        task_id = add("probe.note")
        eventually(lambda: Effect.objects.filter(task_id=task_id).exists())
        assert not Effect.objects.filter(task_id=slow).exists()


def test_a_worker_can_run_only_an_at_least_once_type() -> None:
    task_id, other = add("probe.at_least_once"), add("probe.note")
    Worker(task_types=["probe.at_least_once"]).drain()
    assert list(Effect.objects.values_list("task_id", flat=True)) == [task_id]
    assert TaskInfo.objects.filter(task_id=other).exists()


def test_an_at_least_once_task_is_leased_when_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    claimed: list[int] = []

    def look(tasks: Sequence[TaskInfo]) -> None:
        claimed.append(TaskInfo.objects.filter(leased_until__isnull=False).count())

    for task_type in ("test.first", "test.second"):
        monkeypatch.setitem(registry._handlers, task_type, registry.Handler(look, at_least_once=True))
        add(task_type)
    run_side_effects(["test.first", "test.second"])
    assert claimed == [1, 1]


def test_what_an_at_least_once_task_returns_besides_verdicts_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as the number of mails sent: it would run again and again."""
    calls: list[int] = []

    def send(tasks: Sequence[TaskInfo]) -> Any:
        calls.append(len(tasks))
        return 1

    monkeypatch.setitem(registry._handlers, "test.send", registry.Handler(send, at_least_once=True))
    task_id = add("test.send")
    run_side_effects(["test.send"])
    assert (calls, TaskInfoLog.objects.get(task_id=task_id).status) == ([1], Status.EXECUTED)


def yields(tasks: Sequence[TaskInfo]) -> Iterator[None]:
    yield


async def awaits(tasks: Sequence[TaskInfo]) -> None:
    pass


async def yields_later(tasks: Sequence[TaskInfo]) -> AsyncIterator[None]:
    yield


@pytest.mark.filterwarnings("ignore:.*was never awaited")
@pytest.mark.parametrize("function", [yields, awaits, yields_later])
def test_a_decorated_handler_that_only_returns_a_generator_or_coroutine_fails(
    monkeypatch: pytest.MonkeyPatch, function: Callable[..., Any]
) -> None:
    returns: Any = wraps(function)(lambda tasks: function(tasks))
    monkeypatch.setitem(registry._handlers, "test.later", registry.Handler(returns, at_least_once=True))
    task_id = add("test.later")
    run_side_effects(["test.later"])
    log = TaskInfoLog.objects.get(task_id=task_id)
    assert (log.status, "has not run to its end: it returned a" in log.error) == (Status.SCHEDULED, True)
    with pytest.raises(ImproperHandler, match="use neither yield nor async"):
        registry.handler("test.undecorated")(function)


def test_a_decorated_handler_may_return_a_generator_that_it_has_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def runs(tasks: Sequence[TaskInfo]) -> Any:
        returned = yields(tasks)
        list(returned)
        return returned

    monkeypatch.setitem(registry._handlers, "test.ran", registry.Handler(runs, at_least_once=True))
    task_id = add("test.ran")
    run_side_effects(["test.ran"])
    assert TaskInfoLog.objects.get(task_id=task_id).status == Status.EXECUTED


def test_a_type_may_have_a_shorter_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that an urgent task of a worker that died runs again soon."""
    left: list[timedelta] = []

    def look(tasks: Sequence[TaskInfo]) -> None:
        left.append(TaskInfo.objects.get().leased_until - read_database_clock())  # type: ignore[operator]

    monkeypatch.setitem(registry._handlers, "test.urgent", registry.Handler(look, at_least_once=True, lease=3.0))
    add("test.urgent")
    run_side_effects(["test.urgent"])
    assert left[0] <= timedelta(seconds=3)


@pytest.mark.cases(1)
@pytest.mark.parametrize("of_type", [True, False])
def test_an_at_least_once_task_longer_than_its_lease_is_run_once(
    of_type: bool,  # noqa: FBT001
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if of_type:
        shorter = replace(registry._handlers["probe.at_least_once"], lease=0.6)
        monkeypatch.setitem(registry._handlers, "probe.at_least_once", shorter)
    else:
        settings.SCHEDULING_LEASE = 0.6
    slow = add("probe.at_least_once", seconds=1)
    with working():
        eventually(lambda: TaskInfo.objects.filter(task_id=slow, leased_until__isnull=False).exists())
        while not Effect.objects.filter(task_id=slow).exists():  # as another worker, and refresh, would do it
            assert poll("probe.at_least_once") == []
            refresh()
        eventually(lambda: TaskInfoLog.objects.get(task_id=slow).status == Status.EXECUTED)
    assert Effect.objects.filter(task_id=slow).count() == 1


@pytest.mark.parametrize("name", ["probe.at_least_once", pytest.param("lease", marks=pytest.mark.thorough)])
def test_a_thread_that_cannot_be_started_counts_as_no_attempt(
    name: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`name` is that of the thread."""
    settings.SCHEDULING_TROUBLE_PAUSE, settings.SCHEDULING_MAX_SLEEP = 0.1, 0.1
    refused, start = list[str](), threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name == name and len(refused) < 6:  # more often than there are threads
            refused.append(name)
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    task_id = add("probe.at_least_once")
    with working():
        eventually(lambda: TaskInfoLog.objects.get(task_id=task_id).status == Status.EXECUTED)
    assert len(refused) == 6
    assert TaskInfoLog.objects.get(task_id=task_id).attempts == 1
    assert Effect.objects.filter(task_id=task_id).count() == 1


def test_a_hanging_at_least_once_task_loses_its_lease(settings: Any) -> None:
    settings.SCHEDULING_LEASE, settings.SCHEDULING_MAX_LEASE = 0.2, 0.6
    hanging = add("probe.at_least_once", seconds=3)
    with working():
        eventually(lambda: TaskInfo.objects.filter(task_id=hanging, leased_until__isnull=False).exists())
        taken = eventually(lambda: poll("probe.at_least_once"))
        assert taken and taken[0].task_id == hanging
        assert not Effect.objects.filter(task_id=hanging).exists()


def test_an_at_least_once_task_of_any_priority_is_run() -> None:
    task = add_task("probe.at_least_once", execute_time=read_database_clock(), parameters={}, priority=7)
    Worker().drain()
    assert Effect.objects.filter(task_id=task.task_id).count() == 1


def waiting_for(event: threading.Event) -> registry.Handler:
    def wait(tasks: Sequence[TaskInfo]) -> None:
        event.wait(10 * PATIENCE)

    return registry.Handler(wait, at_least_once=True)


def is_leased(task_id: int) -> bool:
    return TaskInfo.objects.filter(task_id=task_id, leased_until__isnull=False).exists()


def test_many_slow_side_effects_of_one_type_delay_no_other_type(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bulk action with 1,500 articles must not delay a CDN purge."""
    go_on = threading.Event()
    monkeypatch.setitem(registry._handlers, "test.bulk", waiting_for(go_on))
    bulk = [add("test.bulk") for _ in range(10)]
    with working():
        eventually(lambda: TaskInfo.objects.filter(pk__in=bulk, leased_until__isnull=False).count() == 2)
        task_id = add("probe.at_least_once")
        eventually(lambda: Effect.objects.filter(task_id=task_id).exists())
        assert TaskInfo.objects.filter(pk__in=bulk).count() == 10
        assert TaskInfo.objects.filter(pk__in=bulk, leased_until__isnull=False).count() == 2
        go_on.set()
        eventually(lambda: not TaskInfo.objects.exists())


def test_the_lease_of_a_task_that_outlasts_its_worker_is_released(
    monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    """The next worker need not wait for the lease to expire, and the attempt does not count."""
    settings.SCHEDULING_STOP_TIMEOUT = 0.4
    go_on = threading.Event()
    monkeypatch.setitem(registry._handlers, "test.bulk", waiting_for(go_on))
    task_id = add("test.bulk")
    with working():
        eventually(lambda: is_leased(task_id))
        began = eventually(lambda: [thread for thread in threading.enumerate() if thread.name == "test.bulk"])[0]
    assert not is_leased(task_id)
    assert TaskInfo.objects.get(pk=task_id).attempts == 0
    go_on.set()
    began.join()
    assert TaskInfo.objects.get(pk=task_id).attempts == 0  # the late one has lost it
    run_side_effects(["test.bulk"])
    assert TaskInfoLog.objects.get(pk=task_id).status == Status.EXECUTED


def test_a_worker_with_a_hanging_at_least_once_task_stops_on_a_signal(start_manage: StartManage) -> None:
    """It also releases its lease."""
    worker = start_manage("poll", "--forever")
    task_id = add("probe.at_least_once", seconds=10 * PATIENCE)
    eventually(lambda: is_leased(task_id))
    worker.send_signal(signal.SIGTERM)
    assert worker.wait() == 0
    assert not is_leased(task_id)
