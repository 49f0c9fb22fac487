"""Wrong, unset or changing clocks of machines, Redis and web servers."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.db import OperationalError

from scheduling import ids
from scheduling.conf import conf
from scheduling.database import clock, database_clock_set, read_database_clock
from scheduling.database.server_clock import Clock
from scheduling.ids import new_task_ids
from scheduling.queues import DelayQueue, get_queue
from scheduling.services import poll, reschedule_task, run_due
from scheduling.workers.maintenance import Maintenance, Periodic
from tests.scheduling.conftest import TYPE, Add, Keys, NewQueue, Notes, Travel

HOUR_MS = 3_600_000


def machine_is_off_by(seconds: float) -> time_machine.travel:
    """This machine's clock, but neither the database's nor the monotonic one."""
    return time_machine.travel(datetime.now(UTC) + timedelta(seconds=seconds))


@pytest.mark.parametrize("seconds", [600, -600])
def test_a_wrong_clock_of_a_web_server_pushes_no_hint_early_or_late(
    keys: Keys, add: Add, notes: Notes, seconds: float
) -> None:
    with machine_is_off_by(seconds):
        later, now = add(60), add(0)
        moved = reschedule_task(add(90).task_id, read_database_clock() + timedelta(seconds=30))
        outside = add(301 + 30)
    assert keys.ready() == [now.task_id]
    assert set(keys.future()) == {later.task_id, moved.task_id}
    assert outside.task_id not in keys.future()


def test_a_program_that_leases_through_a_wrong_clock_takes_no_hint_that_is_not_due(keys: Keys, add: Add) -> None:
    later = add(60)
    with machine_is_off_by(600):
        assert poll(TYPE) == []
    assert list(keys.future()) == [later.task_id]


@pytest.mark.parametrize("seconds", [600, -600])
def test_a_jump_of_the_machines_clock_changes_no_due_time(mariadb: None, seconds: float) -> None:
    clock.measure()
    with machine_is_off_by(seconds):
        assert abs(clock.timestamp() - read_database_clock().timestamp()) < 5
        assert clock.measure_if_stale(conf.CLOCK_INTERVAL)
        assert abs(clock.offset + seconds) < 5  # reported by the heartbeat and an alert
        assert not clock.measure_if_stale(conf.CLOCK_INTERVAL)


def test_a_worker_says_once_that_the_databases_clock_was_set(travel: Travel, caplog: pytest.LogCaptureFixture) -> None:
    """But not for less than a second, which may be the network."""
    signals = list[Any]()
    receiver = lambda **values: signals.append(values)  # noqa: E731 (it is connected and disconnected)
    clock.measure()
    database_clock_set.connect(receiver)
    try:
        for seconds in (0.4, 600, 0, -600):
            travel(seconds)
            clock.measure()
    finally:
        database_clock_set.disconnect(receiver)
    assert len(signals) == 2
    assert [round(float(text.split()[-2])) for text in caplog.messages if "was set by" in text] == [600, -600]


def test_a_receiver_that_fails_is_called_again(travel: Travel) -> None:
    calls = list[Any]()

    def fail_once(**values: Any) -> None:
        calls.append(values)
        if len(calls) == 1:
            raise OperationalError

    clock.measure()
    database_clock_set.connect(fail_once)
    try:
        travel(600)
        for _ in range(3):
            clock.measure()
    finally:
        database_clock_set.disconnect(fail_once)
    assert len(calls) == 2


def test_a_slow_network_is_no_clock_that_was_set(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    passed, delay = 0.0, 0.0

    def read_slowly() -> datetime:
        nonlocal passed
        moment = datetime(2026, 11, 24, tzinfo=UTC) + timedelta(seconds=passed)
        passed += delay
        return moment

    own = Clock()
    monkeypatch.setattr("scheduling.database.server_clock.time.monotonic", lambda: passed)
    monkeypatch.setattr("scheduling.database.server_clock.read_database_clock", read_slowly)
    for seconds in (0.0, 1.2, 0.0, 1.2, 0.0):
        delay = seconds
        own.measure()
    monkeypatch.undo()
    assert not [text for text in caplog.messages if "was set by" in text]


def test_a_clock_set_while_the_network_is_slow_shows_later(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    passed, delay, step = 0.0, 0.0, 0.0

    def read_slowly() -> datetime:
        nonlocal passed
        passed += delay / 2
        moment = datetime(2026, 11, 24, tzinfo=UTC) + timedelta(seconds=passed + step)
        passed += delay / 2
        return moment

    own = Clock()
    monkeypatch.setattr("scheduling.database.server_clock.time.monotonic", lambda: passed)
    monkeypatch.setattr("scheduling.database.server_clock.read_database_clock", read_slowly)
    own.measure()
    step = 4.0
    for seconds in (10.0, 0.0, 0.0):
        delay = seconds
        own.measure()
    monkeypatch.undo()
    assert len([text for text in caplog.messages if "was set by" in text]) == 1


def test_a_worker_of_a_machine_whose_clock_was_set_back_runs_what_is_due(keys: Keys, add: Add, notes: Notes) -> None:
    add(0, parameters="due")
    with machine_is_off_by(-600):
        assert run_due(10) == 1


def set_redis_clock_back(keys: Keys) -> None:
    """Keys expire an hour late."""
    for key in keys.client.scan_iter():
        if keys.client.pttl(key) >= 0:
            keys.client.pexpire(key, HOUR_MS)


def test_a_jump_of_redis_clock_stops_neither_sweep_nor_refresh(
    keys: Keys, add: Add, notes: Notes, travel: Travel, settings: object
) -> None:
    settings.SCHEDULING_REFRESH_INTERVAL = 0.05  # type: ignore[attr-defined]
    maintenance = Maintenance("a worker", [], get_queue())
    for _ in range(3):
        maintenance.sweep()
        maintenance.refresh_and_prune()
    set_redis_clock_back(keys)
    lost, waiting = add(0), add(60)
    keys.client.delete(f"sched:ready:{{{TYPE}:0}}", f"sched:future:{{{TYPE}:0}}")
    travel(0.3)
    time.sleep(0.1)
    maintenance.sweep()
    maintenance.refresh_and_prune()
    assert keys.ready() == [lost.task_id]
    assert list(keys.future()) == [waiting.task_id]


def test_of_several_workers_one_does_the_periodic_work(keys: Keys, new_queue: NewQueue) -> None:
    one, other = Periodic(new_queue(), "x"), Periodic(new_queue(), "x")
    for worker in (one, other):  # each starts with it, since the last pass may be long ago
        assert worker.is_due(60)
        worker.done()
    assert not one.is_due(60)
    assert not other.is_due(60)
    other.wait(0)
    assert other.is_due(60)
    other.done()
    one.wait(0)
    assert not one.is_due(60)


def test_a_worker_does_not_take_its_own_pass_for_one_of_another(keys: Keys, new_queue: NewQueue) -> None:
    worker = Periodic(new_queue(), "x")
    for _ in range(3):
        assert worker.is_due(60)
        worker.done()
        worker.wait(0)


def test_periodic_work_is_done_at_once_when_redis_lost_the_count(keys: Keys, new_queue: NewQueue) -> None:
    worker = Periodic(new_queue(), "x")
    assert worker.is_due(60)
    worker.done()
    assert not worker.is_due(60)
    keys.client.flushall()
    assert worker.is_due(60)


def test_periodic_work_without_redis_is_done_once_a_period(queue: DelayQueue) -> None:
    worker = Periodic(queue, "x")
    assert worker.is_due(60)
    worker.done()
    assert not worker.is_due(60)
    worker.wait(0)
    assert worker.is_due(60)


def test_ids_differ_where_the_clock_was_never_set(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    with time_machine.travel(datetime(1970, 1, 1, tzinfo=UTC)):
        for _ in range(20):  # processes
            monkeypatch.setattr(ids, "_last", 0)
            made += [new_task_ids(1)[0] for _ in range(1000)]
    assert len(set(made)) == len(made)
    assert 0 < min(made) <= max(made) < 2**63


def test_a_slow_answer_does_not_set_the_estimate_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine it may say half a second less, and articles would be late by that until the next one."""
    measured = iter([(10.0, 10.001), (9.5, 10.4), (5.0, 5.001)])
    monkeypatch.setattr("scheduling.database.server_clock._measure", lambda: next(measured))
    estimate = Clock()
    offsets = list[float]()
    for _ in range(3):
        estimate.measure()
        offsets.append(round(estimate.timestamp() - time.monotonic(), 1))
    assert offsets == [10.0, 10.0, 5.0]
