"""What can go wrong. Each fault is done to a `Trial` and returns when it is over."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from redis import RedisError

from tests.harness import Server, eventually

if TYPE_CHECKING:
    from tests.chaos.trial import Trial

Fault = Callable[["Trial"], None]

OUTAGE = 3.0  # seconds a server or worker is away, unless the fault says otherwise


def empty_redis(trial: Trial) -> None:
    """Somebody types FLUSHALL."""
    trial.stand.queue().flushall()


def kill_worker(trial: Trial) -> None:
    """A worker dies of SIGKILL in the middle of a batch."""
    os.kill(_worker_in_mid_batch(trial), signal.SIGKILL)


def kill_supervisor(trial: Trial) -> None:
    """The parent of the workers is killed; somebody starts another one."""
    trial.workers.kill()
    trial.start_workers()


def freeze_worker(trial: Trial) -> None:
    """A worker stands still in the middle of a batch, and goes on long after its tasks were due."""
    process = _worker_in_mid_batch(trial)
    os.kill(process, signal.SIGSTOP)
    time.sleep(OUTAGE)
    os.kill(process, signal.SIGCONT)


def restart_redis(trial: Trial) -> None:
    """Redis is stopped and comes back empty."""
    trial.stand.redis.stop()
    time.sleep(OUTAGE)
    trial.stand.redis.start()


def stop_redis_for_ten_seconds(trial: Trial) -> None:
    """The same for longer."""
    trial.stand.redis.kill()
    time.sleep(10)
    trial.stand.redis.start()


def black_hole_redis(trial: Trial) -> None:
    """Redis accepts what is sent to it and never answers."""
    with _frozen(trial.stand.redis):
        time.sleep(OUTAGE)


def fill_redis(trial: Trial) -> None:
    """Redis is out of memory and refuses to write."""
    redis = trial.stand.queue()
    redis.config_set("maxmemory", "1")
    time.sleep(OUTAGE)
    redis.config_set("maxmemory", "0")


def demote_redis(trial: Trial) -> None:
    """A failover leaves the workers with a replica, which can only be read."""
    redis = trial.stand.queue()
    redis.replicaof("127.0.0.1", "1")
    time.sleep(OUTAGE)
    redis.replicaof("NO", "ONE")


def kill_mariadb(trial: Trial) -> None:
    """MariaDB dies of SIGKILL and is started again."""
    trial.stand.mariadb.kill()
    trial.stand.mariadb.start()


def freeze_mariadb(trial: Trial) -> None:
    """MariaDB stands still for a while."""
    with _frozen(trial.stand.mariadb):
        time.sleep(OUTAGE)


def refresh_twice_at_once(trial: Trial) -> None:
    """Two people run refresh by hand, at the same moment and beside the workers' own."""
    passes = [trial.stand.start("manage.py", "refresh") for _ in range(2)]
    assert [process.wait() for process in passes] == [0, 0]


def write_garbage(trial: Trial) -> None:
    """Another program uses our keys."""
    redis = trial.stand.queue()
    with suppress(RedisError):
        redis.zadd("sched:future:{probe.note:0}", {"not a task": 0, "": 1})
        redis.rpush("sched:ready:{probe.note:0}", "99", "nonsense")
        redis.sadd("sched:topics", "::", "nonsense")


@contextmanager
def _frozen(server: Server) -> Iterator[None]:
    assert server.process is not None
    server.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        server.process.send_signal(signal.SIGCONT)


def _worker_in_mid_batch(trial: Trial) -> int:
    """The process id of a worker that has just begun a batch that takes a second."""
    seen = len(_begun(trial))
    trial.add("probe.slow", 20, parameters={"seconds": 0.05})
    eventually(lambda: len(_begun(trial)) > seen, 30, trial.workers.output)
    time.sleep(0.3)
    return _begun(trial)[-1]


def _begun(trial: Trial) -> list[int]:
    return [int(pid) for pid in re.findall(r"probe\.slow begins in process (\d+)", trial.workers.output)]


def children(pid: int) -> list[int]:
    """The processes that `pid` has started."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
