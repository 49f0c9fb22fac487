"""Every kind of Redis URL on real servers: the queue contract on each, and the behaviour without a server."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from scheduling.exceptions import QueueUnavailable
from scheduling.models import TaskInfo
from scheduling.queues import DelayQueue, Hint, get_queue
from scheduling.queues.fallback import Availability
from scheduling.queues.redis import RedisQueue
from scheduling.services import refresh, run_due
from tests.conftest import StartManage
from tests.harness import PATIENCE, Server, eventually, free_port, start_redis
from tests.probe.models import Effect
from tests.scheduling.conftest import Add, Keys, Notes
from tests.scheduling.redis_kinds import (
    HOST,
    KINDS,
    PASSWORD,
    Installation,
    Installations,
    cluster as start_cluster,
    sentinel as start_with_sentinel,
)
from tests.scheduling.test_queue_contract import *  # noqa: F403 (the same suite, on the queues of this module)
from tests.scheduling.test_queue_contract import now_ms

pytestmark = pytest.mark.usefixtures("mariadb")


@pytest.fixture(scope="session")
def installations(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installations]:
    installed = Installations(tmp_path_factory.mktemp("redis"))
    yield installed
    installed.close()


OF_ONE_SERVER = {"redis", "unix", "redis+sentinel"}
"""Kinds that send the same commands as `rediss` does, and as `redis` in `test_queue_contract`."""


@pytest.fixture(
    params=[pytest.param(kind, marks=pytest.mark.thorough if kind in OF_ONE_SERVER else ()) for kind in KINDS]
)
def installation(request: pytest.FixtureRequest, installations: Installations, settings: Any) -> Installation:
    """The engine on each kind of Redis, which is empty."""
    installed = installations[request.param]
    installed.client.flushall()
    settings.SCHEDULING_REDIS_URL = installed.url
    return installed


@pytest.fixture
def queue(installation: Installation, transactional_db: None) -> Iterator[DelayQueue]:
    """The contract's tests use the queue without its fallback."""
    queue = RedisQueue(installation.url)
    yield queue
    queue.close()


@pytest.fixture
def keys(installation: Installation) -> Keys:
    return Keys(installation.client)


def test_one_push_serves_topics_in_many_slots(queue: DelayQueue) -> None:
    now = now_ms()
    hints = [Hint(number, (f"type {number}", number % 3), now - 1) for number in range(1, 51)]
    assert queue.push(hints, now_ms=now).promoted == 50
    popped = queue.pop([hint.topic[0] for hint in hints], 10, now_ms=now)
    assert popped.ids == {hint.topic: [hint.task_id] for hint in hints}


def test_server_info_has_the_details_that_the_checks_need(queue: DelayQueue) -> None:
    details = queue.server_info()
    assert details["redis_version"] >= "6"
    assert details["maxmemory_policy"] == "noeviction"


def pings(url: str) -> bool:
    queue = RedisQueue(url)
    try:
        queue.ping()
    except QueueUnavailable:
        return False
    finally:
        queue.close()
    return True


def test_an_untrusted_certificate_is_refused(installations: Installations) -> None:
    url = installations["rediss"].url
    assert pings(url)
    assert not pings(url.partition("?")[0])


@pytest.mark.parametrize("kind", ["redis", pytest.param("redis+sentinel", marks=pytest.mark.thorough)])
def test_a_wrong_password_is_refused(installations: Installations, kind: str) -> None:
    url = installations[kind].url
    assert pings(url)
    assert not pings(url.replace("p%40ss", "wrong"))


@pytest.fixture
def black_hole() -> Iterator[int]:
    """A port that accepts connections and never responds."""
    with socket.create_server((HOST, 0)) as listener:
        yield listener.getsockname()[1]


@pytest.fixture
def _own_patience(settings: Any, _patience: None) -> None:
    """Timeouts for an unresponsive Redis."""
    del settings.SCHEDULING_PUSH_TIMEOUT, settings.SCHEDULING_POP_TIMEOUT


def calls_of(kind: type, name: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The calls of a method from now on."""
    calls, method = list[str](), getattr(kind, name)

    def call(*arguments: Any, **named: Any) -> Any:
        calls.append(name)
        return method(*arguments, **named)

    monkeypatch.setattr(kind, name, call)
    return calls


USELESS_URLS = [
    "redis://{host}:{closed}/0",
    "redis://{host}:{silent}/0",
    "rediss://{host}:{silent}/0",
    "unix:///no/such/socket",
    "redis+sentinel://{host}:{closed},{host}:{silent}/news/0",
    "redis+cluster://{host}:{closed},{host}:{silent}",
    "redis://{host}:99999/0",
    "http://{host}:{closed}",
    "nonsense",
]


@pytest.mark.cases(3)
@pytest.mark.usefixtures("_own_patience")
@pytest.mark.parametrize("url", USELESS_URLS)
def test_a_missing_redis_costs_a_short_timeout_and_no_task(
    url: str, black_hole: int, settings: Any, add: Add, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SCHEDULING_REDIS_URL = url.format(host=HOST, closed=free_port(), silent=black_hole)
    settings.SCHEDULING_REDIS_RETRY_INTERVAL = 10 * PATIENCE
    failures = calls_of(Availability, "failed", monkeypatch)
    for number in range(20):
        add(parameters=number)
    assert len(failures) <= 1  # not each task waits for Redis again
    run_due(100)
    assert sorted(notes.flat) == list(range(20))
    assert get_queue().name == "database"
    refresh()


@pytest.mark.usefixtures("_own_patience")
def test_a_worker_waits_for_a_silent_redis_once_and_then_only_pings_it(
    black_hole: int, settings: Any, transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SCHEDULING_REDIS_URL = f"redis://{HOST}:{black_hole}/0"
    settings.SCHEDULING_REDIS_RETRY_INTERVAL = 0

    pops, pings = calls_of(RedisQueue, "pop", monkeypatch), calls_of(RedisQueue, "ping", monkeypatch)
    for _ in range(3):
        assert not get_queue().pop(["any"], 1, now_ms=now_ms()).ids
    assert (len(pops), len(pings)) == (1, 2)


@pytest.mark.usefixtures("_own_patience")
def test_redis_is_used_again_as_soon_as_it_is_back(tmp_path: Path, settings: Any, add: Add, notes: Notes) -> None:
    settings.SCHEDULING_REDIS_RETRY_INTERVAL = 0.05
    server = start_redis(tmp_path)
    try:
        settings.SCHEDULING_REDIS_URL = server.url
        add(parameters="with")
        server.kill()
        add(parameters="without")
        assert get_queue().name == "database"
        server.start()
        refresh()
        eventually(lambda: add(60) and get_queue().name == "redis")
        eventually(lambda: refresh() and run_due(10) and len(notes.flat) == 2)
        assert sorted(notes.flat) == ["with", "without"]
    finally:
        server.kill()


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Callable[[Callable[[Path], Installation]], Installation]]:
    """`own(kind)` starts servers that the test may kill."""
    started: list[Installation] = []

    def start(kind: Callable[[Path], Installation]) -> Installation:
        started.append(kind(tmp_path))
        return started[-1]

    yield start
    for installation in started:
        installation.client.close()
        installation.kill()


def run_through(outage: Callable[[], None], url: str, start_manage: StartManage, add: Add) -> str:
    """Run a worker with a task each 50 ms while servers die; returns its output. Each task has one effect."""
    worker = start_manage("poll", "--forever", env={"REDIS_URL": url})
    worker.wait_for("runs")
    before = [add(number / 20, task_type="probe.note", parameters={}) for number in range(20)]
    eventually(lambda: Effect.objects.count() > 5)
    outage()
    during = [add(number / 20, task_type="probe.note", parameters={}) for number in range(20)]
    eventually(lambda: not TaskInfo.objects.exists())
    effects = list(Effect.objects.values_list("task_id", flat=True))
    assert sorted(effects) == sorted(task.task_id for task in before + during)
    return worker.output


@pytest.mark.usefixtures("_own_patience")
def test_the_queue_follows_a_failover_to_the_replica(
    own: Any, settings: Any, add: Add, start_manage: StartManage
) -> None:
    """R3.4"""
    installation = own(start_with_sentinel)
    settings.SCHEDULING_REDIS_URL = installation.url
    master, replica, _ = installation.servers
    run_through(master.kill, installation.url, start_manage, add)
    eventually(lambda: pings(installation.url))
    add(60, task_type="probe.note")
    with redis_of(replica) as client:
        eventually(lambda: add(60) and client.keys("sched:future:*"))


def redis_of(server: Server) -> Any:
    return redis.Redis(HOST, server.port, 4, PASSWORD)


@pytest.mark.thorough
@pytest.mark.usefixtures("_own_patience")
def test_the_queue_survives_the_loss_of_a_cluster_node(
    own: Any, settings: Any, add: Add, start_manage: StartManage
) -> None:
    """R3.4"""
    installation = own(start_cluster)
    settings.SCHEDULING_REDIS_URL = installation.url
    node = installation.servers[0]
    run_through(node.kill, installation.url, start_manage, add)
    node.start()
    queue = RedisQueue(installation.url)
    hints = [Hint(number, (f"type {number}", 0), now_ms()) for number in range(1, 31)]

    def is_whole() -> bool:
        try:
            queue.push(hints, now_ms=now_ms())
        except QueueUnavailable:
            return False
        return True

    eventually(is_whole)
    queue.close()
