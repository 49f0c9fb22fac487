"""Overload: very many articles of one instant while readers read, editors edit and other tasks are due.

`make overload` shows the table and fails if a limit is exceeded, or if the checker of the proof finds a violation.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bench.figures import percentile, table
from bench.stand import memory_of
from tests.chaos.faults import Scene, note
from tests.chaos.history import History, Record, Request, Sight, now
from tests.chaos.newsroom import TIMEOUT, Newsroom
from tests.chaos.proof import Load, account, editors_at_work, readers_at_work, say, settle
from tests.chaos.violations import KINDS
from tests.harness import Process, Stand, eventually

pytestmark = [pytest.mark.overload, pytest.mark.django_db]  # whose tables the stand copies

ARTICLES = int(os.environ.get("OVERLOAD_ARTICLES") or 100_000)
LEAD = 4.0  # seconds before that instant in which all others work already
SECONDS = 60.0  # from that instant on, at least
OTHERS = 20.0  # tasks of another type in a second
PATIENCE = 300.0  # seconds until all articles are published

OTHERS_LATE = 2.0  # seconds
BLOCKED = 0.010  # seconds of one command of Redis
MEMORY = 200.0  # megabytes of a process


@dataclass
class Watched:
    """What was measured from outside while the articles went live."""

    published: float = 0.0  #: seconds until the last article
    memory: float = 0.0  #: megabytes of the largest process
    slowest_command: float = 0.0  #: seconds, of Redis


def test_at_the_full_hour_everyone_goes_on(stand: Stand, tmp_path: Path) -> None:
    """R1.16 R3.4: no request waits too long, no other task is late, Redis is not blocked, memory is bounded."""
    watched = Watched()

    def work(newsroom: Newsroom, scene: Scene) -> float:
        load = Load(articles=ARTICLES)
        begin = newsroom.store(ARTICLES, 0.0)
        add_others(scene, begin)
        time.sleep(max(0.0, begin - LEAD - now()))
        with redis_watched(stand, watched), memory_watched([scene.system.web, scene.system.workers], watched):
            with readers_at_work(newsroom, 1, load), editors_at_work(newsroom, 1, load):
                watched.published = when_published(scene, begin) - begin
                time.sleep(max(0.0, begin + SECONDS - now()))
            return settle(scene)

    verdict, path = account(stand, tmp_path, work, seed=1, latest=PATIENCE, with_clocks=False, has_receiver=False)
    records = History.read(path)
    requests = [one for one in records if isinstance(one, Request) and one.operation != "store"]
    responses = [_took(one) for one in requests if one.status is not None]
    timeouts = [one for one in requests if one.status is None and _took(one) >= TIMEOUT]
    pages = [_took(one) for one in records if isinstance(one, Sight)]
    late = others_late(stand)
    rows = [
        ("published within", f"{watched.published:.1f} s"),
        (f"{len(responses):,} requests of editors: median, p99, longest", spread(responses)),
        (f"{len(pages):,} pages: median, p99, longest", spread(pages)),
        ("requests without a response in time", len(timeouts)),
        (f"{len(late):,} other tasks late by: median, p99, longest", spread(late)),
        ("longest command of Redis", f"{1000 * watched.slowest_command:.1f} ms"),
        ("largest process", f"{watched.memory:.0f} MB"),
        *((kind, verdict.count(kind)) for kind in KINDS),
    ]
    say(f"\n{table(rows, (f'{ARTICLES:,} articles of one instant', 'measured'))}")
    assert not verdict.violations, verdict.violations[:20]
    assert not timeouts
    assert max(late) <= OTHERS_LATE
    assert watched.slowest_command <= BLOCKED
    assert watched.memory <= MEMORY


def add_others(scene: Scene, begin: float) -> None:
    """Add tasks of another type, due before and after the instant."""
    over = LEAD + SECONDS
    others = {"task_type": "probe.note", "count": int(over * OTHERS), "lead": begin - LEAD - now(), "over": over}
    scene.stand.run("tests.chaos.load", json.dumps([others]))
    for task_id, due in scene.stand.rows("SELECT task_id, execute_time FROM taskinfo WHERE task_type = 'probe.note'"):
        note(scene, task_id, "probe.note", due.replace(tzinfo=UTC).timestamp())


def when_published(scene: Scene, begin: float) -> float:
    """Wait until no task of the instant is left, and return the time."""
    left = "SELECT 1 FROM taskinfo WHERE task_type = 'articles.publish' AND execute_time <= %s LIMIT 1"
    instant = datetime.fromtimestamp(begin, UTC).replace(tzinfo=None)
    eventually(lambda: now() > begin and not scene.stand.rows(left, instant), PATIENCE + LEAD)
    return now()


@contextmanager
def redis_watched(stand: Stand, watched: Watched) -> Iterator[None]:
    """Note the longest command of Redis in this block: of its work, not of its waits for one of few cores."""
    assert stand.redis.process is not None
    os.setpriority(os.PRIO_PROCESS, stand.redis.process.pid, -20)
    client = stand.queue()
    client.config_set("slowlog-log-slower-than", 1000)  # microseconds
    client.slowlog_reset()
    yield
    watched.slowest_command = max((entry["duration"] / 1e6 for entry in client.slowlog_get(1000)), default=0.0)


@contextmanager
def memory_watched(processes: Sequence[Process], watched: Watched) -> Iterator[None]:
    """Note the memory of the largest of these processes and their children in this block."""
    stopping = threading.Event()

    def watch() -> None:
        while not stopping.wait(0.5):
            watched.memory = max(watched.memory, memory_of(processes))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    yield
    stopping.set()
    thread.join()


def others_late(stand: Stand) -> list[float]:
    """Seconds by which each of the other tasks was late."""
    sql = "SELECT TIMESTAMPDIFF(MICROSECOND, execute_time, executed_at) FROM taskinfo_logs WHERE task_type = %s"
    return [microseconds / 1e6 for (microseconds,) in stand.rows(sql, "probe.note")]


def spread(seconds: Sequence[float]) -> str:
    """Median, 99th percentile and maximum."""
    found = percentile(seconds, 0.5), percentile(seconds, 0.99), max(seconds)
    return " · ".join(f"{one:.3f}" for one in found) + " s"


def _took(record: Record) -> float:
    return record.ended - record.began
