"""How soon work goes on after one fault, with no other: `make recovery` shows it and fails if a limit is exceeded.

A task is due every 50 ms. `next` is when the next one was executed after the fault, or after its end if it lasts. `all`
is the longest that any task was executed after that moment, or after its due time if that was later; so it includes
what the fault has delayed.
"""

from __future__ import annotations

import os
import signal
import statistics
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import UTC
from itertools import pairwise

import MySQLdb
import pytest

from bench.figures import table
from tests.chaos.proof import say
from tests.chaos.proxy import Proxy
from tests.chaos.trial import Trial
from tests.harness import Process, Stand, children, eventually

pytestmark = [pytest.mark.recovery, pytest.mark.django_db]  # whose tables the stand copies

TIMES = int(os.environ.get("RECOVERY_TIMES") or 10)
KINDS = ("articles.publish", "probe.note")
RATE = 20.0  # tasks in a second
LEAD = 8.0  # seconds for storing the tasks and starting workers
AWAY = 3.0  # seconds that a server is away
CALM = 4.0  # seconds between two faults
LAST = 1.0  # seconds before the next fault in which what becomes due does not count

Moments = dict[str, float]


class Installation(Trial):
    """Workers, proxies to MariaDB and Redis if the fault needs those, and tasks due for as long as the faults last."""

    def __init__(self, stand: Stand, processes: int, fault: Fault, stack: ExitStack) -> None:
        super().__init__(stand, seconds=TIMES * (fault.lasts + CALM) + CALM, processes=processes)
        self.mariadb = stack.enter_context(Proxy(stand.mariadb.port))
        self.redis = stack.enter_context(Proxy(stand.redis.port))
        if fault.cuts_connections:
            for name, proxy in (("DATABASE_URL", self.mariadb), ("REDIS_URL", self.redis)):
                self.env[name] = stand.environment[name].replace(f":{proxy.target}/", f":{proxy.port}/")

    def begin(self) -> float:
        """When the first task is due."""
        self.reset()
        steady = {"count": int(self.seconds * RATE / len(KINDS)), "lead": LEAD, "over": self.seconds}
        begin = self.load(*({"task_type": kind, **steady} for kind in KINDS))
        self.start_workers()
        return begin

    def is_done(self) -> bool:
        """Whether no task is left."""
        return self.stand.rows("SELECT COUNT(*) FROM taskinfo") == [(0,)]

    def executed(self) -> list[tuple[float, float]]:
        """When each task was due, and when it was executed."""
        sql = "SELECT execute_time, executed_at FROM taskinfo_logs WHERE status = 1 AND task_type IN %s"
        rows = self.stand.rows(sql, KINDS)
        return [(due.replace(tzinfo=UTC).timestamp(), at.replace(tzinfo=UTC).timestamp()) for due, at in rows]


def kill_worker(at: Installation) -> Moments:
    """A worker process, as by `kill -9`."""
    return _end(children(at.workers.pid)[:1])


def kill_all_workers(at: Installation) -> Moments:
    """Their supervisor starts others."""
    return _end(children(at.workers.pid))


def kill_all_workers_twice(at: Installation) -> Moments:
    """Those that replace them, too."""
    begun = at.workers.output.count(" runs ") + at.processes
    _end(children(at.workers.pid))
    eventually(lambda: at.workers.output.count(" runs ") >= begun)
    return _end(children(at.workers.pid))


def run_what_kills_workers(at: Installation) -> Moments:
    """A task kills each worker that runs it, until its attempt is counted."""
    kinds = [{"task_type": "probe.kill", "count": 1, "parameters": {"times": 1}}]
    return {"due": at.load(*kinds)}


def _end(pids: Iterable[int]) -> Moments:
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    return {"death": time.time()}


def empty_redis(at: Installation) -> Moments:
    """As by FLUSHALL."""
    at.stand.queue().flushall()
    return {"emptied": time.time()}


def kill_redis(at: Installation) -> Moments:
    """It comes back empty."""
    at.stand.redis.kill()
    lost = time.time()
    time.sleep(AWAY)
    at.stand.redis.start()
    return {"loss": lost, "back": time.time()}


def fill_redis(at: Installation) -> Moments:
    """It refuses hints, also of tasks that are added while it is full."""
    at.stand.queue().config_set("maxmemory", "1")
    full = time.time()
    at.load({"task_type": KINDS[1], "count": int(AWAY * RATE), "lead": 0.5, "over": AWAY})
    time.sleep(max(0.0, full + 2 * AWAY - time.time()))
    at.stand.queue().config_set("maxmemory", "0")
    return {"full": full, "has memory": time.time()}


def cut_redis_off(at: Installation) -> Moments:
    """A firewall drops all data."""
    began = time.time()
    with at.redis.silence():
        time.sleep(AWAY)
    return {"silent": began, "back": time.time()}


def kill_mariadb(at: Installation) -> Moments:
    """It is back when it executes a statement of a client."""
    at.stand.mariadb.kill()
    time.sleep(AWAY)
    served: list[float] = []
    client = threading.Thread(target=lambda: served.append(_when_served(at.stand)))
    client.start()
    at.stand.mariadb.start()
    client.join()
    return {"back": served[0]}


def _when_served(stand: Stand) -> float:
    while True:
        with suppress(MySQLdb.Error):
            stand.rows("SELECT 1")
            return time.time()
        time.sleep(0.005)


def freeze_mariadb(at: Installation) -> Moments:
    """It stands still, and goes on."""
    return {"back": _freeze(at.stand.mariadb.process)["back"]}


def freeze_redis(at: Installation) -> Moments:
    """It accepts commands and does not respond."""
    return _freeze(at.stand.redis.process)


def _freeze(process: Process | None) -> Moments:
    assert process is not None
    process.send_signal(signal.SIGSTOP)
    frozen = time.time()
    time.sleep(AWAY)
    process.send_signal(signal.SIGCONT)
    return {"frozen": frozen, "back": time.time()}


def cut_mariadb_off(at: Installation) -> Moments:
    """A firewall drops all data, and the connections stay dead."""
    with at.mariadb.silence():
        time.sleep(AWAY)
    return {"back": time.time()}


@dataclass(frozen=True)
class Fault:
    """What happens, and within how many seconds work must go on."""

    do: Callable[[Installation], Moments]
    limit: float
    lasts: float = 0.0  #: seconds, at most
    cuts_connections: bool = False


FAULTS: Mapping[str, Fault] = {
    "worker killed": Fault(kill_worker, 1.0),
    "all workers killed": Fault(kill_all_workers, 1.0),
    "all workers killed twice": Fault(kill_all_workers_twice, 1.0, 1.0),
    "a task kills its workers": Fault(run_what_kills_workers, 2.0, 3.0),
    "Redis emptied": Fault(empty_redis, 1.0),
    "Redis killed": Fault(kill_redis, 1.0, AWAY + 1),
    "Redis full": Fault(fill_redis, 1.0, 2 * AWAY),
    "Redis frozen": Fault(freeze_redis, 15.0, AWAY),
    "Redis: black hole": Fault(cut_redis_off, 15.0, AWAY + 8, cuts_connections=True),
    "MariaDB killed": Fault(kill_mariadb, 2.0, AWAY + 2),
    "MariaDB frozen": Fault(freeze_mariadb, 2.0, AWAY),
    "MariaDB: black hole": Fault(cut_mariadb_off, 15.0, AWAY + 15, cuts_connections=True),
}


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("name", FAULTS)
def test_work_goes_on_soon_after_a_fault(stand: Stand, name: str, processes: int) -> None:
    with ExitStack() as stack:
        installation = Installation(stand, processes, FAULTS[name], stack)
        stack.callback(installation.end)
        moments = work_through(installation, FAULTS[name])
        found = delays(moments, installation.executed())
    rows = [
        (f"after {what}", spread(one.next for one in some), spread(one.all for one in some)) for what, some in found
    ]
    say("\n" + table(rows, (f"{name}, workers: {processes}", "next (s)", "all (s)")))
    assert max(one.all for _, some in found for one in some) < FAULTS[name].limit


def work_through(installation: Installation, fault: Fault) -> list[Moments]:
    """Repeat a fault while tasks become due, and wait until all are executed. Returns when it was, without a name, and
    after which moments work had to go on.
    """
    begin, moments = installation.begin(), []
    for number in range(TIMES):
        planned = begin + number * (fault.lasts + CALM) + CALM / 2
        time.sleep(max(0.0, planned + number / RATE / TIMES - time.time()))  # not always as long before a due time
        moments.append({"": time.time()} | fault.do(installation))
    eventually(installation.is_done, installation.seconds)
    return moments


@dataclass(frozen=True)
class Delay:
    """Seconds after a moment: of the next task, and the longest of any."""

    next: float
    all: float


def delays(moments: Sequence[Moments], executed: Sequence[tuple[float, float]]) -> list[tuple[str, list[Delay]]]:
    """Those after each kind of moment."""
    found: defaultdict[str, list[Delay]] = defaultdict(list)
    every = sorted((at, what) for some in moments for what, at in some.items())
    for (moment, what), (end, _) in pairwise([*every, (float("inf"), "")]):
        later = [(due, at) for due, at in executed if at >= moment and due < end - LAST]
        if what:
            next_one = min(at for _, at in later) - moment
            found[what].append(Delay(next_one, max(at - max(due, moment) for due, at in later)))
    return list(found.items())


def spread(values: Iterable[float]) -> str:
    """The median and the longest."""
    found = list(values)
    return f"{statistics.median(found):.2f}, at most {max(found):.2f}"
