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

from redis import Redis, RedisError

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
    try:
        _offer(trial, "probe.slow", "SELECT task_id FROM taskinfo WHERE task_type = 'probe.slow'")
        _another_runs(trial)
        time.sleep(OUTAGE)
    finally:
        os.kill(process, signal.SIGCONT)


def _another_runs(trial: Trial) -> None:
    """Nobody waits for rows in the hands of the worker that stands still, although they were given out again."""
    task_id = trial.insert("probe.note")
    executed = "SELECT 1 FROM taskinfo_logs WHERE task_id = %s AND status = 1"
    try:
        eventually(lambda: trial.stand.rows(executed, task_id), 8)
    except AssertionError as error:
        statements = trial.stand.rows("SHOW FULL PROCESSLIST")
        raise AssertionError(f"a worker waits for one that stands still: {statements}") from error


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


def offer_early_hints(trial: Trial) -> None:
    """Hints of tasks that are not due are given out."""
    for task_type in ("probe.note", "articles.publish"):
        later = "execute_time > UTC_TIMESTAMP(6) + INTERVAL 1 SECOND ORDER BY execute_time LIMIT 100"
        _offer(trial, task_type, f"SELECT task_id FROM taskinfo WHERE task_type = '{task_type}' AND {later}")


def set_clocks(trial: Trial) -> None:
    """The workers believe in another time, both earlier and later, and Redis' clock is set back by an hour."""
    for seconds in (5, -10):
        trial.add("probe.clock", 4, parameters={"seconds": seconds})
        set_redis_back(trial.stand.queue())


def set_redis_back(client: Redis) -> None:
    """What expires does so an hour later than it should."""
    for key in client.scan_iter():
        if client.pttl(key) >= 0:
            client.pexpire(key, 3_600_000)


def correct_what_fails(trial: Trial) -> None:
    """Somebody corrects a task while it fails for the last time; then it is another one, and due at once."""
    seen = trial.workers.output.count("probe.broken begins")
    task_id = trial.insert("probe.broken", parameters={"seconds": 1})
    eventually(lambda: trial.workers.output.count("probe.broken begins") > seen, 30, trial.workers.output)
    trial.correct(task_id)


def write_garbage(trial: Trial) -> None:
    """Another program uses our keys."""
    redis = trial.stand.queue()
    with suppress(RedisError):
        redis.zadd("sched:future:{probe.note:0}", {"not a task": 0, "": 1})
        redis.rpush("sched:ready:{probe.note:0}", "99", "nonsense")
        redis.sadd("sched:topics", "::", "nonsense")


def _offer(trial: Trial, task_type: str, sql: str) -> None:
    if ids := [task_id for (task_id,) in trial.stand.rows(sql)]:
        trial.stand.queue().lpush(f"sched:ready:{{{task_type}:0}}", *ids)


@contextmanager
def _frozen(server: Server) -> Iterator[None]:
    assert server.process is not None
    server.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        server.process.send_signal(signal.SIGCONT)


def _worker_in_mid_batch(trial: Trial) -> int:
    """The process id of a worker that has just begun a batch that takes two seconds."""
    seen = len(_begun(trial))
    trial.insert("probe.slow", parameters={"seconds": 2})
    eventually(lambda: len(_begun(trial)) > seen, 30, trial.workers.output)
    return _begun(trial)[-1]


def _begun(trial: Trial) -> list[int]:
    return [int(pid) for pid in re.findall(r"probe\.slow begins in process (\d+)", trial.workers.output)]


def children(pid: int) -> list[int]:
    """The processes that `pid` has started."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
