"""Refresh and sweep: lost hints return, no hint is popped twice, and other programs' keys are untouched."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import redis
from django.db import OperationalError, connection, transaction

from scheduling import registry
from scheduling.conf import conf
from scheduling.database import EpochMicroseconds, clock, read_database_clock
from scheduling.models import TaskInfo, by_ids
from scheduling.queues import DelayQueue, get_queue, to_milliseconds
from scheduling.queues.topics import encode_id
from scheduling.services import add_task, add_tasks, refresh, reschedule_task, run_due, run_once, sweep
from scheduling.workers.maintenance import Maintenance
from scheduling.workers.worker import Turn
from tests.harness import PATIENCE, eventually, start_redis
from tests.scheduling.conftest import TYPE, Add, Keys, NewQueue, Notes, Travel

pytestmark = pytest.mark.usefixtures("notes")  # the sweep handles types with a handler


@pytest.fixture
def own_redis(tmp_path: Path, settings: Any) -> Iterator[redis.Redis]:
    """A Redis for this test alone, whose statistics no other client changes."""
    server = start_redis(tmp_path)
    settings.SCHEDULING_REDIS_URL = server.url
    with redis.Redis.from_url(server.url) as client:
        yield client
    get_queue().close()
    server.kill()


def spread(count: int, *, seconds: float) -> list[int]:
    """Ids of tasks spread evenly over the coming `seconds`."""
    now = read_database_clock() + timedelta(seconds=30)  # none becomes due while a slow machine adds them
    step = timedelta(seconds=seconds / count)
    tasks = add_tasks(
        {"task_type": TYPE, "execute_time": now + number * step, "parameters": number} for number in range(count)
    )
    return [task.task_id for task in tasks]


def test_the_whole_window_is_reloaded_after_redis_lost_everything(keys: Keys, settings: Any) -> None:
    """R1.6, R3.4"""
    settings.SCHEDULING_PAGE_SIZE = 7
    ids = spread(50, seconds=250)
    spread(5, seconds=1).sort()
    before = keys.future()
    keys.client.flushall()
    assert refresh().loaded == 55
    assert keys.future() == before
    assert set(ids) <= set(keys.future())


@pytest.mark.parametrize("microsecond", [0, 1, 499_999, 999_999])
def test_a_time_in_microseconds_is_exact(keys: Keys, add: Add, microsecond: int) -> None:
    moment = (read_database_clock() + timedelta(minutes=1)).replace(microsecond=microsecond)
    task = add_task(TYPE, execute_time=moment, parameters={})
    (found,) = by_ids([task.task_id]).values_list(EpochMicroseconds("execute_time"), flat=True)
    assert found == int(moment.replace(microsecond=0).timestamp()) * 1_000_000 + microsecond


def test_a_refresh_makes_room_for_tasks_for_a_while() -> None:
    turn, began = Turn(), time.monotonic()
    maintenance = Maintenance("w", [TYPE], get_queue(), is_busy=turn.is_busy)
    maintenance.make_room(began + 60)
    with turn.running():
        maintenance.make_room(time.monotonic() + 0.01)
        thread = threading.Thread(target=maintenance.make_room, args=[began + 60])
        thread.start()
    thread.join()
    turn.next_due_ms = int(clock.timestamp() * 1000) - 5
    maintenance.make_room(time.monotonic() + 0.01)
    maintenance._ended.set()  # what a stopped worker was about to run does not hold it
    maintenance.make_room(began + 60)
    assert 0.02 <= time.monotonic() - began < 60


def test_a_worker_is_busy_between_two_batches_of_a_burst(monkeypatch: pytest.MonkeyPatch) -> None:
    turn = Turn()
    assert not turn.is_busy()
    monkeypatch.setattr("scheduling.workers.worker._QUIET", 60)
    with turn.running():
        assert turn.is_busy()
    assert turn.is_busy()
    monkeypatch.setattr("scheduling.workers.worker._QUIET", 0)
    assert not turn.is_busy()


def test_a_refresh_pauses_neither_with_rows_in_hand_nor_when_hints_were_missing(keys: Keys, settings: Any) -> None:
    """A task may be rescheduled during a pause; others wait for their hints."""
    settings.SCHEDULING_PAGE_SIZE = 2
    ids = spread(7, seconds=20)
    moved = read_database_clock() + timedelta(seconds=25)
    pauses: list[int] = []

    def pause() -> None:
        pauses.append(len(keys.future()))
        reschedule_task(ids[0], moved)

    refresh(pause=pause)
    assert len(pauses) > 4
    assert keys.future()[ids[0]] == to_milliseconds(moved)
    keys.client.flushall()
    pauses.clear()
    assert refresh(pause=pause).loaded == 6
    assert pauses == [0]  # before that was known; which pushed one itself


def test_a_refresh_pauses_although_a_task_has_entered_the_window(keys: Keys, settings: Any) -> None:
    """Its hint was not lost: it was not to be loaded before."""
    settings.SCHEDULING_REFRESH_INTERVAL, settings.SCHEDULING_PRELOAD_WINDOW = 10, 35
    now = read_database_clock()
    add_tasks({"task_type": TYPE, "execute_time": now + timedelta(seconds=due), "parameters": 0} for due in (30, 40))
    settings.SCHEDULING_PRELOAD_WINDOW = 50
    pauses: list[int] = []
    assert refresh(pause=lambda: pauses.append(0)).loaded == 1
    assert len(pauses) > len(list(registry.reconcilers()))


def test_tasks_that_become_overdue_in_a_pause_are_left_to_the_sweep(keys: Keys, travel: Travel) -> None:
    """Their hints may be ready, or a worker may be running them."""
    spread(10, seconds=1)

    def pause() -> None:
        travel(60)
        get_queue().promote(now_ms=int(clock.timestamp() * 1000))

    assert refresh(pause=pause).loaded == 0
    assert len(set(keys.ready())) == len(keys.ready()) == 10


def test_tasks_of_the_same_instant_are_all_loaded_across_pages(keys: Keys, settings: Any) -> None:
    settings.SCHEDULING_PAGE_SIZE = 4
    due = read_database_clock() + timedelta(seconds=60)
    add_tasks({"task_type": TYPE, "execute_time": due, "parameters": None} for _ in range(4 * 3 + 1))
    keys.client.flushall()
    assert refresh().loaded == 13


def test_each_page_of_one_instant_costs_the_same(mariadb: None, keys: Keys, settings: Any) -> None:
    """A page that read all that came before it would make a million tasks of one instant take minutes."""
    due = read_database_clock() + timedelta(seconds=60)
    add_tasks({"task_type": TYPE, "execute_time": due, "parameters": None} for _ in range(1000))
    read = []
    for size in (1000, 20):
        settings.SCHEDULING_PAGE_SIZE = size
        with connection.cursor() as cursor:
            cursor.execute("FLUSH STATUS")
            refresh()
            cursor.execute("SHOW SESSION STATUS LIKE 'Handler_read%'")
            read.append(sum(int(value) for _name, value in cursor.fetchall()))
    in_one_page, in_fifty = read
    assert in_fifty < 2 * in_one_page


def test_ready_tasks_are_ready_again_after_redis_lost_everything(keys: Keys, add: Add, travel: Travel) -> None:
    """R1.6"""
    ids = [add(0).task_id for _ in range(3)]
    keys.client.flushall()
    travel(1)
    report = refresh()
    assert keys.ready() == ids
    assert report.requeued == 3


def test_due_members_all_become_ready_none_twice(keys: Keys, travel: Travel) -> None:
    """R1.7"""
    ids = spread(3 * conf.PROMOTE_LIMIT + 1, seconds=60)
    travel(91)
    assert refresh().promoted == len(ids)
    assert keys.future() == {}
    assert keys.ready() == ids
    refresh()
    assert keys.ready() == ids


def test_very_many_are_moved_in_few_round_trips(own_redis: redis.Redis, travel: Travel) -> None:
    """R1.8; the measure `promotion` of the benchmarks shows how much faster that is than one by one."""
    count = 10_000
    spread(count, seconds=60)
    travel(91)
    own_redis.config_resetstat()
    refresh()
    calls = own_redis.info("commandstats")["cmdstat_eval"]["calls"]
    assert len(Keys(own_redis).ready()) == count
    assert calls <= count / conf.PROMOTE_LIMIT + 5


def test_refreshing_twice_adds_nothing(queue: DelayQueue) -> None:
    spread(10, seconds=60)
    refresh()
    report = refresh()
    assert (report.loaded, report.promoted, report.requeued) == (0, 0, 0)


def test_while_one_node_refreshes_the_others_skip(keys: Keys, new_queue: NewQueue) -> None:
    """R1.9"""
    elsewhere = new_queue()
    token = elsewhere.acquire(30)
    assert token is not None
    assert refresh().skipped
    assert elsewhere.release(token)
    assert not refresh().skipped
    assert keys.client.exists("sched:lock:refresh") == 0


def test_a_failing_pass_releases_the_lock(keys: Keys, monkeypatch: pytest.MonkeyPatch) -> None:
    def reconcile() -> int:
        raise OperationalError(2006, "Server has gone away")

    monkeypatch.setattr(registry, "_reconcilers", [reconcile])
    with pytest.raises(OperationalError):
        refresh()
    assert keys.client.exists("sched:lock:refresh") == 0


def test_two_concurrent_refreshes_are_harmless(keys: Keys, travel: Travel, notes: Notes) -> None:
    """R1.9, R1.10"""
    ids = spread(200, seconds=60)
    keys.client.flushall()
    start = threading.Barrier(4)

    def pass_without_lock() -> None:
        start.wait()
        keys.client.delete("sched:lock:refresh")
        refresh()
        connection.close()

    threads = [threading.Thread(target=pass_without_lock) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(keys.future()) == sorted(ids)


def test_foreign_keys_and_malformed_members_are_left_alone(
    keys: Keys, add: Add, travel: Travel, new_queue: NewQueue
) -> None:
    """R1.20"""
    client = keys.client
    good = add(10)
    client.zadd("sched:future:{test.note:0}", {b"no id": 1, b"\xff": 2, b"-7": 3})
    client.set("sched:future:{stolen:0}", "a string")
    client.sadd("sched:topics", "stolen:0", "nonsense", b"\xff")
    client.hset("other:program", "a", "b")
    client.set("sched:unknown", "x")
    travel(11)
    report = refresh()
    assert report.promoted == 1
    assert keys.ready() == [good.task_id]
    assert client.get("sched:future:{stolen:0}") == b"a string"
    assert client.hgetall("other:program") == {b"a": b"b"}
    assert client.get("sched:unknown") == b"x"
    assert client.zcard("sched:future:{test.note:0}") == 3
    # A malformed member does not cause busy polling.
    assert new_queue().pop([TYPE], 0, now_ms=2**52).next_due_ms is None


@pytest.mark.parametrize("kind", ["future", "ready"])
def test_a_task_whose_redis_key_has_the_wrong_type_is_found_in_the_database(
    keys: Keys, add: Add, notes: Notes, new_queue: NewQueue, kind: str
) -> None:
    """R1.20"""
    key = f"sched:{kind}:{{test.note:0}}"
    add(0)
    keys.client.set(key, "a string")
    assert run_once(10, queue=new_queue()).executed == 1
    assert keys.client.get(key) == b"a string"


def test_topics_without_hints_are_removed_and_added_again(keys: Keys, add: Add, notes: Notes) -> None:
    add(0)
    add(60, task_type="waiting.type")
    run_due(10)
    refresh()
    assert keys.client.smembers("sched:topics") == {b"waiting.type:0"}
    add(0)
    assert keys.client.sismember("sched:topics", "test.note:0")
    assert run_due(10) == 1


def test_the_keyspace_is_never_scanned(own_redis: redis.Redis, add: Add, notes: Notes, travel: Travel) -> None:
    """R1.11"""
    add(10)
    refresh()
    travel(11)
    run_due(10)
    sweep()
    used = {name.removeprefix("cmdstat_") for name in own_redis.info("commandstats")}
    assert used & {"eval", "zadd"}
    assert not used & {"keys", "scan", "lrem", "flushdb", "flushall"}


def test_the_sweep_requeues_overdue_tasks(keys: Keys, add: Add, travel: Travel) -> None:
    """R2.5"""
    task = add(0)
    keys.client.delete("sched:ready:{test.note:0}")
    assert sweep(grace=60) == 0
    travel(61)
    assert sweep(grace=60) == 1
    assert keys.ready() == [task.task_id]


def test_the_sweep_leaves_a_backlog_alone(keys: Keys, add: Add, travel: Travel) -> None:
    ids = [add(0).task_id for _ in range(3)]
    travel(5)
    assert sweep() == 0
    assert keys.ready() == ids


def test_the_sweep_finds_a_lost_hint_while_its_topic_is_busy(keys: Keys, add: Add, travel: Travel) -> None:
    """It requeues neither the hint nor the backlog twice."""
    lost = [add(0).task_id for _ in range(3)]
    keys.client.delete("sched:ready:{test.note:0}")
    travel(5)
    backlog = [add(0).task_id for _ in range(3)]
    imported = add(-86_400).task_id
    assert sweep() == 3
    assert keys.ready() == [*lost, *backlog, imported]
    travel(5)
    assert sweep() == 0
    assert keys.ready() == [*lost, *backlog, imported]


def test_the_sweep_reads_no_more_of_a_busy_topic_than_one_batch(
    keys: Keys, add: Add, travel: Travel, settings: Any
) -> None:
    settings.SCHEDULING_BATCH_SIZE = 4
    lost = [add(0).task_id for _ in range(6)]
    keys.client.delete("sched:ready:{test.note:0}")
    travel(5)
    next_one = add(0).task_id
    assert sweep() == 4
    assert keys.ready() == [*lost[:4], next_one]
    assert sweep() == 0  # the oldest is queued; the others follow when it has run
    keys.client.lpop("sched:ready:{test.note:0}", 4)
    TaskInfo.objects.filter(pk__in=lost[:4]).delete()
    assert sweep() == 2
    assert keys.ready() == [*lost[4:], next_one]


def test_a_stale_ready_hint_hides_no_lost_hint(keys: Keys, add: Add, travel: Travel) -> None:
    """Bad members and ids of tasks that were cancelled since."""
    lost = add(0).task_id
    keys.client.delete("sched:ready:{test.note:0}")
    travel(5)
    next_one = add(0).task_id
    keys.client.lpush("sched:ready:{test.note:0}", "nonsense", encode_id(99), "-1")
    assert sweep() == 1
    ready = keys.client.lrange("sched:ready:{test.note:0}", 0, -1)
    assert (ready[0], ready[-1]) == (encode_id(lost), encode_id(next_one))


def test_the_sweep_leaves_running_and_leased_tasks_alone(keys: Keys, add: Add, travel: Travel) -> None:
    running, leased = add(0), add(0)
    now = travel(5)
    TaskInfo.objects.filter(pk=leased.pk).update(leased_until=now + timedelta(seconds=60))
    keys.client.flushall()
    requeued: list[int] = []

    def elsewhere() -> None:
        requeued.append(sweep())
        connection.close()

    with transaction.atomic():
        list(by_ids([running.task_id]).locked())
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert requeued == [0]
    assert sweep() == 1
    assert keys.ready() == [running.task_id]


def test_a_long_refresh_does_not_delay_the_sweep(
    keys: Keys, add: Add, new_queue: NewQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program may leave thousands of expired leases."""
    hangs, released = threading.Event(), threading.Event()

    def hang() -> int:
        hangs.set()
        released.wait(10 * PATIENCE)
        return 0

    monkeypatch.setattr(registry, "_reconcilers", [hang])
    with Maintenance("w", [TYPE], new_queue()):
        assert hangs.wait(PATIENCE)
        lost = add(0)
        keys.client.delete("sched:ready:{test.note:0}")
        try:
            eventually(lambda: keys.ready() == [lost.task_id])
        finally:
            released.set()


def test_the_sweep_costs_as_much_however_many_tasks_of_others_are_overdue(
    keys: Keys, add: Add, travel: Travel, django_assert_num_queries: Any
) -> None:
    """Types without a handler are for external programs, which query SQL."""
    others = [
        {"task_type": f"x{number}", "execute_time": read_database_clock(), "parameters": {}} for number in range(9)
    ]
    add_tasks(others)
    travel(5)
    with django_assert_num_queries(2):
        assert sweep() == 0


def test_a_transaction_that_commits_after_its_task_was_due_is_found(keys: Keys, travel: Travel, notes: Notes) -> None:
    with transaction.atomic():
        add_task(TYPE, execute_time=read_database_clock() + timedelta(seconds=5), parameters="late commit")
        refresh_elsewhere()
        travel(10)
    run_due(10)
    assert notes.flat == ["late commit"]


def refresh_elsewhere() -> None:
    def run() -> None:
        refresh()
        connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()


def test_reconcilers_are_run_and_counted(queue: DelayQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_reconcilers", [lambda: 2, lambda: 3])
    assert refresh().reconciled == 5


def test_the_window_is_loaded_before_reconcilers_run(keys: Keys, add: Add, monkeypatch: pytest.MonkeyPatch) -> None:
    """They may take seconds, in which an emptied Redis would have no hints."""
    add(30)
    keys.client.flushdb()

    def count_hints() -> int:
        return len(keys.future())

    monkeypatch.setattr(registry, "_reconcilers", [count_hints])
    assert refresh().reconciled == 1


def test_the_window_is_a_setting(keys: Keys, add: Add, settings: Any) -> None:
    """R3.5"""
    settings.SCHEDULING_PRELOAD_WINDOW = 10
    add(9)
    add(11)
    assert len(keys.future()) == 1
    settings.SCHEDULING_PRELOAD_WINDOW = 12
    assert refresh().loaded == 1
