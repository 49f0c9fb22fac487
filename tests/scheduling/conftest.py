"""Fixtures: a database whose clock can be moved, handlers that record their runs, and both kinds of queue."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import pytest
import redis
import time_machine
from django.db import connection

from scheduling import registry
from scheduling.conf import conf
from scheduling.database import clock, read_database_clock
from scheduling.models import TaskInfo
from scheduling.queues import DelayQueue, get_queue, make_queue
from scheduling.queues.topics import decode_id
from scheduling.services import add_task

TYPE = "test.note"
NewQueue = Callable[..., DelayQueue]


@pytest.fixture(params=["redis", "database"])
def queue(request: pytest.FixtureRequest, settings: Any, transactional_db: None) -> Iterator[DelayQueue]:
    """The engine on each kind of queue: the test must pass on both."""
    if request.param == "database":
        settings.SCHEDULING_REDIS_URL = ""
    yield get_queue()
    get_queue().close()


@pytest.fixture
def new_queue() -> Iterator[NewQueue]:
    """Makes queues of other processes, or for another Redis, and closes them."""
    with ExitStack() as made:

        def make(url: str | None = None) -> DelayQueue:
            queue = make_queue(conf.REDIS_URL if url is None else url)
            made.callback(queue.close)
            return queue

        yield make


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Deselect tests that need servers when there are none, so that they do not count as skipped."""
    if not os.environ.get("REDIS_URL"):
        items[:] = [item for item in items if not _needs_servers(item)]


def _needs_servers(item: pytest.Item) -> bool:
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    return parameters.get("queue") == "redis" or not {"keys", "mariadb"}.isdisjoint(getattr(item, "fixturenames", ()))


@pytest.fixture
def mariadb(transactional_db: None) -> None:
    """Marks a test that does not apply to SQLite."""
    assert connection.vendor == "mysql"


class Travel(Protocol):
    def __call__(self, seconds: float) -> datetime: ...


@pytest.fixture
def travel(transactional_db: None) -> Iterator[Travel]:
    """`travel(300)` moves the database's clock, and with it the whole engine in this process, by five minutes."""
    shift = timedelta()
    with ExitStack() as own_clock:

        def move(seconds: float) -> datetime:
            nonlocal shift
            shift += timedelta(seconds=seconds)
            if connection.vendor == "mysql":
                with connection.cursor() as cursor:
                    cursor.execute("SET SESSION timestamp = %s", [(datetime.now(UTC) + shift).timestamp()])
                now = datetime.now(UTC) + shift
            else:  # SQLite uses this process's clock
                own_clock.close()
                own_clock.enter_context(time_machine.travel(datetime.now(UTC) + shift))
                now = datetime.now(UTC)
            clock.measure()
            return now

        yield move
    connection.close()
    clock.measure()


class Notes:
    """Batches of parameters that the handler of `test.note` ran, and an optional error for each."""

    def __init__(self) -> None:
        self.batches: list[list[Any]] = []
        self.fault: Callable[[Sequence[TaskInfo]], Any] | None = None

    def run(self, tasks: Sequence[TaskInfo]) -> Any:
        self.batches.append([task.parameters for task in tasks])
        return self.fault(tasks) if self.fault else None

    @property
    def flat(self) -> list[Any]:
        return [parameters for batch in self.batches for parameters in batch]


@pytest.fixture
def notes(monkeypatch: pytest.MonkeyPatch) -> Notes:
    """A handler for `test.note` in this process."""
    written = Notes()
    monkeypatch.setattr(registry, "_handlers", {})
    registry.handler(TYPE, max_attempts=3)(written.run)
    return written


class Add(Protocol):
    def __call__(self, seconds: float = 0, *, parameters: Any = None, **values: Any) -> TaskInfo: ...


@pytest.fixture
def add(transactional_db: None) -> Add:
    """`add(30)` adds a task due 30 seconds from the database's now; `add()` one that is due in any case.

    A process only estimates the database's clock, to some milliseconds on a busy machine.
    """

    def add_in(seconds: float = 0, *, parameters: Any = None, **values: Any) -> TaskInfo:
        due = read_database_clock() + timedelta(seconds=seconds or -0.1)
        return add_task(values.pop("task_type", TYPE), execute_time=due, parameters=parameters, **values)

    return add_in


def decoded(member: Any) -> int:
    task_id = decode_id(member)
    assert task_id is not None, member
    return task_id


class Keys:
    """The queue's keys in Redis, read as an operator would."""

    def __init__(self, client: redis.Redis) -> None:
        self.client = client

    def future(self, topic: str = f"{TYPE}:0") -> dict[int, float]:
        members: Any = self.client.zrange(f"sched:future:{{{topic}}}", 0, -1, withscores=True)
        return {decoded(member): score for member, score in members}

    def ready(self, topic: str = f"{TYPE}:0") -> list[int]:
        return [decoded(member) for member in self.client.lrange(f"sched:ready:{{{topic}}}", 0, -1)]


@pytest.fixture
def keys(queue_redis: redis.Redis | None, transactional_db: None) -> Keys:
    assert queue_redis is not None
    return Keys(queue_redis)


@pytest.fixture(autouse=True)
def _true_clock(transactional_db: None) -> None:
    """Reset this process's clock after earlier tests."""
    clock.measure()


@contextmanager
def held_by_another(task: TaskInfo) -> Iterator[None]:
    """Another transaction has locked the row of `task`; a statement that waits for it fails after a second."""
    other = connection.copy()
    with connection.cursor() as cursor, other.cursor() as others:
        cursor.execute("SET innodb_lock_wait_timeout = 1")
        others.execute("BEGIN")
        others.execute("SELECT * FROM taskinfo WHERE task_id = %s FOR UPDATE", [task.task_id])
        try:
            yield
        finally:
            others.execute("ROLLBACK")
            cursor.execute("SET innodb_lock_wait_timeout = DEFAULT")
    other.close()
