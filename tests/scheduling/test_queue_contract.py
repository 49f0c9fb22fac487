"""The contract of delay queues; one suite for all of them.

The database queue keeps no hints of its own, so each test adds a row for each hint, as the engine does.
"""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime

import pytest

from scheduling.conf import conf
from scheduling.exceptions import QueueUnavailable
from scheduling.ids import new_task_ids
from scheduling.models import TaskInfo
from scheduling.queues import DelayQueue, Hint, Topic
from tests.harness import free_port
from tests.scheduling.conftest import NewQueue

A: Topic = ("contract.a", 0)
B: Topic = ("contract.b", 0)


def now_ms() -> int:
    return int(time.time() * 1000)


def put(queue: DelayQueue, *dues_ms: int, topic: Topic = A) -> list[int]:
    """Adds rows and hints due at these milliseconds; returns their ids."""
    tasks = [
        TaskInfo(
            task_id=new_task_ids(1)[0],
            task_type=topic[0],
            priority=topic[1],
            execute_time=datetime.fromtimestamp(due / 1000, UTC),
            created_at=datetime.now(UTC),
            promised_at=datetime.now(UTC),
        )
        for due in dues_ms
    ]
    TaskInfo.objects.bulk_create(tasks)
    queue.push([Hint.of(task) for task in tasks], now_ms=now_ms())
    return [task.task_id for task in tasks]


def test_pop_returns_due_hints_oldest_first(queue: DelayQueue) -> None:
    now = now_ms()
    young, old, oldest = put(queue, now - 100, now - 200, now - 300)
    assert queue.pop([A[0]], 10, now_ms=now).ids[A] == [oldest, old, young]


def test_pop_leaves_future_hints_and_returns_the_next_due_time(queue: DelayQueue) -> None:
    now = now_ms()
    put(queue, now + 60_000, now + 30_000)
    popped = queue.pop([A[0]], 10, now_ms=now)
    assert not popped
    assert popped.next_due_ms == now + 30_000


def test_an_empty_queue_pops_nothing(queue: DelayQueue) -> None:
    """R1.13"""
    popped = queue.pop([A[0]], 10, now_ms=now_ms())
    assert not popped
    assert popped.next_due_ms is None
    assert queue.promote(now_ms=now_ms()) == 0


def test_pop_respects_its_limit(queue: DelayQueue) -> None:
    ids = put(queue, *range(now_ms() - 10, now_ms()))
    assert queue.pop([A[0]], 3, now_ms=now_ms()).ids[A] == ids[:3]


def test_topics_are_isolated_and_the_most_urgent_comes_first(queue: DelayQueue) -> None:
    """R1.14"""
    now = now_ms()
    urgent: Topic = (A[0], -5)
    (b,) = put(queue, now - 3000, topic=B)
    (a,) = put(queue, now - 2000, topic=A)
    (first,) = put(queue, now - 1000, topic=urgent)
    assert list(queue.pop([A[0]], 10, now_ms=now).ids.items()) == [(urgent, [first]), (A, [a])]
    assert queue.pop([B[0]], 10, now_ms=now).ids == {B: [b]}


def test_more_hints_than_one_step_promotes_become_ready_in_order(queue: DelayQueue) -> None:
    now = now_ms()
    ids = put(queue, *range(now - 2 * conf.PROMOTE_LIMIT - 5, now))
    queue.promote(now_ms=now)
    assert queue.pop([A[0]], 5000, now_ms=now).ids[A] == ids


def test_passes_are_counted_for_all_nodes_if_the_queue_counts(queue: DelayQueue) -> None:
    before = queue.passes("x")
    queue.count_pass("x")
    assert (before, queue.passes("x"), queue.passes("y")) in [(None, 1, None), (-1, -1, -1)]


def test_ready_ids_can_be_read_and_others_put_before_them(queue: DelayQueue) -> None:
    first, second = put(queue, now_ms() - 20, now_ms() - 10)
    put(queue, now_ms() + 60_000)
    queue.requeue(A, [8, 9])
    assert queue.ready([A, B], 3) in [{A: [8, 9, first], B: []}, {}]
    assert {first, second} <= set(queue.pop([A[0]], 10, now_ms=now_ms()).ids[A])


def test_waiting_ends_after_its_time(queue: DelayQueue) -> None:
    before = time.monotonic()
    queue.wait(0.05)
    assert time.monotonic() - before >= 0.04


def test_the_lock_is_released_by_its_holder(queue: DelayQueue) -> None:
    token = queue.acquire(30)
    assert token is not None
    assert queue.release(token)
    assert queue.acquire(30)


@pytest.mark.usefixtures("keys")
class TestRedisAlone:
    """The contract of the Redis queue alone."""

    def test_a_ping_detects_whether_the_server_answers(self, new_queue: NewQueue) -> None:
        new_queue().ping()
        with pytest.raises(QueueUnavailable):
            new_queue(f"redis://127.0.0.1:{free_port()}/0").ping()

    def test_an_earlier_hint_wakes_the_waiting(self, new_queue: NewQueue) -> None:
        """R2.4"""
        speaker, listener = new_queue(), new_queue()
        listener.wait(0.01)  # subscribes
        woken = threading.Thread(target=listener.wait, args=(60,), kwargs={"before_ms": now_ms() + 10_000})
        woken.start()
        put(speaker, now_ms() + 20_000)
        assert woken.is_alive()
        put(speaker, now_ms() + 5_000)
        woken.join(30)
        assert not woken.is_alive()

    def test_of_many_concurrent_acquires_one_gets_the_lock(self, new_queue: NewQueue) -> None:
        """R1.9"""
        queues = [new_queue() for _ in range(8)]
        tokens: list[str | None] = []
        threads = [threading.Thread(target=lambda q=queue: tokens.append(q.acquire(30))) for queue in queues]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len([token for token in tokens if token]) == 1

    def test_a_lock_held_too_long_is_taken_over_whatever_the_clock_of_redis_says(self, new_queue: NewQueue) -> None:
        """The key would expire in an hour, as it would after Redis' clock was set back by one."""
        late, other, third = new_queue(), new_queue(), new_queue()
        first = late.acquire(3600)
        assert first is not None
        assert other.acquire(0.2) is None
        time.sleep(0.25)
        assert third.acquire(0.2) is None  # it does not know since when
        assert other.acquire(0.2) is not None
        assert not late.release(first)

    def test_an_expired_lock_goes_to_another_and_the_late_holder_cannot_release_it(
        self, keys: object, new_queue: NewQueue
    ) -> None:
        """R1.10, R4.7"""
        late, other = new_queue(), new_queue()
        first = late.acquire(30)
        assert first is not None
        keys.client.pexpire("sched:lock:refresh", 1)  # type: ignore[attr-defined]
        second = None
        while second is None:
            second = other.acquire(30)
        assert not late.release(first)
        assert late.acquire(30) is None
        assert other.release(second)
