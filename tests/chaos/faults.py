"""Faults. Each is applied to a `Trial` and returns when it is over."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from redis import Redis, RedisError

from scheduling.queues.topics import encode_id
from tests.harness import Server, eventually

if TYPE_CHECKING:
    from tests.chaos.trial import Trial

Fault = Callable[["Trial"], None]

OUTAGE = 3.0  # seconds a server or worker is away, unless the fault says otherwise


def empty_redis(trial: Trial) -> None:
    """An operator runs FLUSHALL."""
    trial.stand.queue().flushall()


def kill_worker(trial: Trial) -> None:
    """A worker dies of SIGKILL in the middle of a batch."""
    process, _ = _begin(trial, "probe.slow", seconds=2)
    os.kill(process, signal.SIGKILL)


def kill_supervisor(trial: Trial) -> None:
    """The supervisor is killed, and another one is started."""
    trial.workers.kill()
    trial.start_workers()


def freeze_worker(trial: Trial) -> None:
    """A worker is stopped in the middle of a batch, and continues long after its tasks were due."""
    process, task_id = _begin(trial, "probe.slow", seconds=2)
    with _stopped([process]):
        _offer(trial, "probe.slow", [task_id])
        _another_runs(trial, task_id)
        time.sleep(OUTAGE)


def _another_runs(trial: Trial, in_hand: int) -> None:
    """No worker waits for the row that the stopped worker has locked, although its hint was requeued."""
    task_id = trial.insert("probe.note")
    locks = "SELECT lock_trx_id, lock_mode FROM information_schema.innodb_locks WHERE lock_data = %s"

    def has_run() -> bool:
        waiting = trial.stand.rows(locks, in_hand)
        assert not waiting, f"a worker waits for one that stands still: {waiting}"
        return _is_closed(trial, task_id)

    eventually(has_run, 30, "nothing runs beside a worker that stands still")


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
    """Redis accepts commands and never responds."""
    with _frozen(trial.stand.redis):
        time.sleep(OUTAGE)


def fill_redis(trial: Trial) -> None:
    """Redis is out of memory and refuses to write."""
    redis = trial.stand.queue()
    redis.config_set("maxmemory", "1")
    time.sleep(OUTAGE)
    redis.config_set("maxmemory", "0")


def demote_redis(trial: Trial) -> None:
    """A failover leaves the workers with a replica, which is read-only."""
    redis = trial.stand.queue()
    redis.replicaof("127.0.0.1", "1")
    time.sleep(OUTAGE)
    redis.replicaof("NO", "ONE")


def kill_mariadb(trial: Trial) -> None:
    """MariaDB is killed and restarted."""
    trial.stand.mariadb.kill()
    trial.stand.mariadb.start()


def freeze_mariadb(trial: Trial) -> None:
    """MariaDB is stopped for a while."""
    with _frozen(trial.stand.mariadb):
        time.sleep(OUTAGE)


def refresh_twice_at_once(trial: Trial) -> None:
    """Two operators run refresh at the same time as the workers."""
    passes = [trial.stand.start("manage.py", "refresh") for _ in range(2)]
    assert [process.wait() for process in passes] == [0, 0]


def offer_early_hints(trial: Trial) -> None:
    """Hints of tasks that are not due are made ready."""
    for task_type in ("probe.note", "articles.publish"):
        later = "execute_time > UTC_TIMESTAMP(6) + INTERVAL 1 SECOND ORDER BY execute_time LIMIT 100"
        rows = trial.stand.rows(f"SELECT task_id FROM taskinfo WHERE task_type = '{task_type}' AND {later}")
        if ids := [task_id for (task_id,) in rows]:
            _offer(trial, task_type, ids)


def set_clocks(trial: Trial) -> None:
    """The workers' clocks are set earlier and later, and Redis' clock is set back by an hour."""
    for seconds in (5, -10):
        trial.add("probe.clock", 4, parameters={"seconds": seconds})
        set_redis_back(trial.stand.queue())


def set_redis_back(client: Redis) -> None:
    """Keys expire an hour late."""
    for key in client.scan_iter():
        if client.pttl(key) >= 0:
            client.pexpire(key, 3_600_000)


def correct_what_fails(trial: Trial) -> None:
    """A task is corrected during its last failing attempt; then it has another version, and is due at once."""
    process, task_id = _begin(trial, "probe.broken", seconds=1)
    with _stopped(trial.workers.children() - {process}):  # or they would run it before its failure is noted
        trial.correct(task_id)
        eventually(lambda: _is_closed(trial, task_id), 30, "a corrected task was not run")


def write_garbage(trial: Trial) -> None:
    """Another program writes to the queue's keys."""
    redis = trial.stand.queue()
    with suppress(RedisError):
        redis.zadd("sched:future:{probe.note:0}", {"not a task": 0, "": 1})
        redis.rpush("sched:ready:{probe.note:0}", encode_id(99), "nonsense")
        redis.sadd("sched:topics", "::", "nonsense")


def _offer(trial: Trial, task_type: str, ids: Sequence[int]) -> None:
    """Make hints ready, and wait until workers have popped them."""
    redis, key = trial.stand.queue(), f"sched:ready:{{{task_type}:0}}"
    hints = {encode_id(task_id) for task_id in ids}
    redis.sadd("sched:topics", f"{task_type}:0")  # a Redis that came back empty may not know it
    redis.lpush(key, *hints)
    eventually(lambda: hints.isdisjoint(redis.lrange(key, 0, -1)), 30, "no worker pops hints")


def _is_closed(trial: Trial, task_id: int) -> bool:
    return bool(trial.stand.rows("SELECT 1 FROM taskinfo_logs WHERE task_id = %s AND status <> 0", task_id))


@contextmanager
def _stopped(processes: Collection[int]) -> Iterator[None]:
    for pid in processes:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in processes:
            os.kill(pid, signal.SIGCONT)


@contextmanager
def _frozen(server: Server) -> Iterator[None]:
    assert server.process is not None
    server.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        server.process.send_signal(signal.SIGCONT)


def _begin(trial: Trial, task_type: str, *, seconds: float) -> tuple[int, int]:
    """The process id of a worker that has just begun a task that takes some seconds, and the task's id."""
    seen = len(_begun(trial, task_type))
    task_id = trial.insert(task_type, parameters={"seconds": seconds})
    eventually(lambda: len(_begun(trial, task_type)) > seen, 30, "no worker runs a task without a hint")
    return _begun(trial, task_type)[-1], task_id


def _begun(trial: Trial, task_type: str) -> list[int]:
    return [int(pid) for pid in re.findall(rf"{task_type} begins in process (\d+)", trial.workers.output)]


def children(pid: int) -> list[int]:
    """The processes that `pid` has started."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
