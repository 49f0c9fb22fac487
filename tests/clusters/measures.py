"""Throughput of workers on several database nodes, and what a distance between data centres costs."""

from __future__ import annotations

import json
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC
from typing import Any

from tests.chaos.proof import SETTLED, empty
from tests.clusters.network import Host
from tests.clusters.stand import ClusterStand
from tests.harness import Process, base_dir, connect, eventually, python, rows

ARTICLES = 2000  # of one instant
_LEAD = 6.0  # seconds from storing articles until they are due
_SAMPLES = 60  # statements and articles whose time is measured
_SPREAD = 10.0  # seconds over which the articles of a sample become due
_CONFLICTS = ("wsrep_local_cert_failures", "wsrep_local_bf_aborts")


def throughput(stand: ClusterStand, workers: int) -> tuple[float, int]:
    """Articles of one instant that are published in a second by workers on all nodes in turn, and conflicts."""
    empty(stand)
    before = _conflicts(stand)
    hosts = [node.host for node in stand.nodes]
    with _workers(stand, [hosts[number % len(hosts)] for number in range(workers)]):
        stand.run("tests.chaos.load", _articles(ARTICLES, 0))
        pending = "SELECT COUNT(*) FROM articles_article WHERE published_at IS NULL"
        eventually(lambda: stand.rows(pending) == [(0,)], SETTLED, "articles are not published")
        ended = time.time()
    ((due,),) = stand.rows("SELECT MIN(publish_at) FROM articles_article")
    return ARTICLES / (ended - due.replace(tzinfo=UTC).timestamp()), _conflicts(stand) - before


def latencies(stand: ClusterStand, host: Host) -> dict[str, float]:
    """Medians in milliseconds on a host: statements on its node, and lateness of articles that its worker publishes."""
    empty(stand)
    connection = connect(stand.nodes[host.number - 1].url)
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE IF NOT EXISTS latency (id int PRIMARY KEY, number int)")
        cursor.execute("REPLACE INTO latency VALUES (1, 0)")
        found = {"commit": _median(lambda: cursor.execute("UPDATE latency SET number = number + 1"))}
        for wait in (7, 0):
            cursor.execute(f"SET SESSION wsrep_sync_wait = {wait}")
            found[f"SELECT, wsrep_sync_wait = {wait}"] = _median(lambda: cursor.execute("SELECT * FROM latency"))
    connection.close()
    with _workers(stand, [host]):
        found["published after its time"] = _lateness(stand, host)
    return found


def _median(action: Callable[[], object]) -> float:
    taken = []
    for _ in range(_SAMPLES):
        began = time.monotonic()
        action()
        taken.append((time.monotonic() - began) * 1000)
    return statistics.median(taken)


def _lateness(stand: ClusterStand, host: Host) -> float:
    """As another connection to the host's node sees it, which looks each two milliseconds."""
    seen: dict[int, float] = {}
    connection = connect(stand.nodes[host.number - 1].url)
    rows(connection, "SELECT 1")
    connection.query("SET SESSION wsrep_sync_wait = 0")
    stopping = threading.Event()

    def look() -> None:
        while not stopping.wait(0.002):
            for (article,) in rows(connection, "SELECT id FROM articles_article WHERE published_at IS NOT NULL"):
                seen.setdefault(article, time.time())

    thread = threading.Thread(target=look)
    thread.start()
    try:
        stand.run("tests.chaos.load", _articles(_SAMPLES, _SPREAD))
        eventually(lambda: len(seen) == _SAMPLES, SETTLED, "articles are not published")
    finally:
        stopping.set()
        thread.join()
        connection.close()
    due = dict(stand.rows("SELECT id, publish_at FROM articles_article"))
    late: list[float] = [(at - due[one].replace(tzinfo=UTC).timestamp()) * 1000 for one, at in seen.items()]
    return statistics.median(late)


def _articles(count: int, over: float) -> str:
    return json.dumps([{"task_type": "articles.publish", "count": count, "lead": _LEAD, "over": over}])


@contextmanager
def _workers(stand: ClusterStand, hosts: list[Host]) -> Iterator[None]:
    """A worker on each of these hosts while the block lasts."""
    with ExitStack() as stack:
        started = [stack.enter_context(_worker(stand, host)) for host in hosts]
        for worker in started:
            worker.wait_for(" runs ", 60)
        yield


def _worker(stand: ClusterStand, host: Host) -> Process:
    environment: Mapping[str, Any] = {**stand.environment, "DATABASE_URL": stand.database_url(host.number - 1)}
    return Process([*host.prefix, python, "-u", "manage.py", "poll", "--forever"], env=environment, cwd=base_dir)


def _conflicts(stand: ClusterStand) -> int:
    return sum(int(node.status(name)) for node in stand.nodes for name in _CONFLICTS)
