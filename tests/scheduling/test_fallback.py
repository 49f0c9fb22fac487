"""The fallback queue used by several threads of one process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace

import pytest

from scheduling.exceptions import QueueFull
from scheduling.queues import fallback
from scheduling.queues.base import Topic
from scheduling.queues.database import DatabaseQueue
from scheduling.queues.fallback import FallbackQueue
from scheduling.queues.redis import RedisQueue


def test_a_thread_can_use_the_queue_while_another_finds_redis_available_again(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = FallbackQueue(DatabaseQueue(), DatabaseQueue())
    queue.availability.down_until = 1.0

    def between_two_looks() -> float:
        queue.availability.down_until = None
        return 0.0

    monkeypatch.setattr(fallback, "time", SimpleNamespace(monotonic=between_two_looks))
    assert queue.promote(now_ms=0) == 0


def test_a_queue_that_was_closed_tries_redis_at_once() -> None:
    queue = FallbackQueue(RedisQueue("redis://127.0.0.1:1/0"), DatabaseQueue())
    assert queue.promote(now_ms=0) == 0
    assert queue.name == "database"
    queue.close()
    assert queue.name == "redis"


class FullQueue(DatabaseQueue):
    """A Redis without memory: it lets a worker wait for messages, and refuses the hints of another thread."""

    name = "redis"

    def __init__(self) -> None:
        super().__init__()
        self.during_wait: list[Callable[[], None]] = []

    def for_thread(self) -> FullQueue:
        return FullQueue()

    def wait(self, seconds: float, *, before_ms: int | None = None) -> None:
        for call in self.during_wait:
            call()

    def requeue(self, topic: Topic, task_ids: Sequence[int]) -> None:
        raise QueueFull


@pytest.mark.parametrize("down_until", [None, 0.0])
def test_a_wait_that_succeeds_does_not_hide_what_failed_during_it(down_until: float | None) -> None:
    """Row 1.6: otherwise workers look into Redis, where nothing is, for as long as it is full."""
    full = FullQueue()
    queue = FallbackQueue(full, DatabaseQueue())
    full.during_wait.append(lambda: queue.requeue(("probe.note", 0), [1]))
    queue.availability.down_until = down_until
    queue.wait(1.0)
    assert queue.name == "database"


def test_all_threads_fall_back_together() -> None:
    """One that stores no hints would never find out that Redis is full, and wait for the hints that it refuses."""
    queue = FallbackQueue(FullQueue(), DatabaseQueue())
    waiting = queue.for_thread()
    queue.requeue(("probe.note", 0), [1])
    assert waiting.name == "database"


class SlowQueue(FullQueue):
    """A Redis whose round trips and other operations take that long, by a clock that passes by them alone."""

    def __init__(self) -> None:
        super().__init__()
        self.now, self.round_trip, self.more = 0.0, 0.0, 0.0

    def ping(self) -> None:
        self.now += self.round_trip

    def promote(self, *, now_ms: int) -> int:
        self.now += self.round_trip + self.more
        return 0


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> SlowQueue:
    found = SlowQueue()
    monkeypatch.setattr(fallback, "time", SimpleNamespace(monotonic=lambda: found.now))
    return found


def test_a_redis_that_is_slower_than_the_database_is_not_used_until_it_is_quick(slow: SlowQueue) -> None:
    queue = FallbackQueue(slow, DatabaseQueue())
    slow.round_trip = 0.1
    for _operation in range(4):
        queue.promote(now_ms=0)
    assert queue.name == "database"
    before = slow.now
    for _operation in range(100):
        queue.promote(now_ms=0)
    assert slow.now == before
    slow.now += 2.0
    queue.promote(now_ms=0)
    assert queue.name == "database", "it is still slow"
    slow.now += 2.0
    slow.round_trip = 0.001
    queue.promote(now_ms=0)
    assert queue.name == "redis"


def test_a_redis_with_much_to_do_is_not_taken_for_a_slow_one(slow: SlowQueue) -> None:
    queue = FallbackQueue(slow, DatabaseQueue())
    slow.round_trip, slow.more = 0.001, 0.2
    for _operation in range(20):
        queue.promote(now_ms=0)
    assert queue.name == "redis"


def test_a_single_pause_of_redis_changes_nothing(slow: SlowQueue) -> None:
    queue = FallbackQueue(slow, DatabaseQueue())
    for operation in range(20):
        slow.round_trip = 0.1 if operation % 3 else 0.001
        queue.promote(now_ms=0)
    assert queue.name == "redis"
