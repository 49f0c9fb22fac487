"""The faults. Each is a context manager: the fault is on while the block lasts, and over when it has ended."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import MySQLdb
import redis

from scheduling.queues.topics import encode_id
from tests.chaos.history import Added, History, now
from tests.chaos.outside import Outside
from tests.chaos.proxy import REPLIES, REQUESTS, Proxy
from tests.chaos.system import System
from tests.harness import Process, Stand, children, eventually, free_port, rows

Holds = list[int]
"""Articles that a fault delays by itself; filled while it begins."""


@dataclass
class Scene:
    """What faults need: the system, the history, and random numbers of their own."""

    system: System
    outside: Outside
    history: History
    random: random.Random
    holds: Holds | None = None

    @property
    def stand(self) -> Stand:
        """MariaDB and Redis."""
        return self.system.stand

    def rows(self, sql: str, *arguments: object) -> list[tuple[Any, ...]]:
        """The rows of a query; none while MariaDB is away."""
        try:
            connection = connect(self.stand)
            try:
                return rows(connection, sql, *arguments)
            finally:
                connection.close()
        except MySQLdb.Error:
            return []


def connect(stand: Stand) -> Any:
    """A connection to MariaDB that gives up soon: it may be frozen by a fault that this thread has to end."""
    return stand.connect(connect_timeout=1, read_timeout=3, write_timeout=3)


_SPREAD = 6.0  # seconds over which the tasks of a burst become due
_FURTHER_KEYS = 1500  # of 50 ms each: more than a minute to load

STRICTER = ("--secure-timestamp=YES", "--server-id=7", "--default-time-zone=+09:00", "--version=10.11.99-MariaDB")
"""Options of a MariaDB that refuses more than the one before it."""

Fault = Callable[[Scene], AbstractContextManager[object]]


# Processes


@contextmanager
def kill_worker(scene: Scene) -> Iterator[None]:
    """A worker dies of SIGKILL, whatever it is doing."""
    _kill_one(scene, scene.system.workers)
    yield


@contextmanager
def kill_all_workers(scene: Scene) -> Iterator[None]:
    """All workers die of SIGKILL; their supervisor starts others."""
    for pid in children(scene.system.workers.pid):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    yield


@contextmanager
def kill_web(scene: Scene) -> Iterator[None]:
    """A process of the web server dies of SIGKILL."""
    _kill_one(scene, scene.system.web)
    yield


def _kill_one(scene: Scene, parent: Process) -> None:
    if found := children(parent.pid):
        with suppress(ProcessLookupError):
            os.kill(scene.random.choice(found), signal.SIGKILL)


@contextmanager
def stop_worker(scene: Scene) -> Iterator[None]:
    """A worker stands still, and goes on."""
    with _stopped(children(scene.system.workers.pid)[:1]):
        yield


@contextmanager
def stop_all_workers(scene: Scene) -> Iterator[None]:
    """All workers and their supervisor stand still, and go on."""
    with _stopped([scene.system.workers.pid, *children(scene.system.workers.pid)]):
        yield


@contextmanager
def stop_web(scene: Scene) -> Iterator[None]:
    """A process of the web server stands still, and goes on."""
    with _stopped(children(scene.system.web.pid)[:1]):
        yield


@contextmanager
def kill_supervisor(scene: Scene) -> Iterator[None]:
    """The supervisor is killed; another one is started later."""
    scene.system.kill_supervisor()
    yield
    scene.system.start_workers()


@contextmanager
def kill_site(scene: Scene) -> Iterator[None]:
    """The web server is killed with all its processes; another one is started later."""
    scene.system.kill_web()
    yield
    scene.system.start_web()


@contextmanager
def replace_workers(scene: Scene) -> Iterator[None]:
    """A deploy: new workers start beside the old ones, which are stopped then."""
    old = scene.system.workers
    scene.system.start_workers()
    yield
    with suppress(ProcessLookupError):
        old.send_signal(signal.SIGTERM)


@contextmanager
def reload_web(scene: Scene) -> Iterator[None]:
    """A deploy: the web server replaces its processes."""
    with suppress(ProcessLookupError):
        scene.system.web.send_signal(signal.SIGHUP)
    yield


@contextmanager
def _stopped(pids: list[int]) -> Iterator[None]:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


# MariaDB


@contextmanager
def kill_mariadb(scene: Scene) -> Iterator[None]:
    """MariaDB is killed, and started again."""
    scene.stand.mariadb.kill()
    yield
    scene.stand.mariadb.start()


@contextmanager
def replace_mariadb(scene: Scene) -> Iterator[None]:
    """A failover to a stricter MariaDB of another version, time zone and id, and back."""
    scene.stand.mariadb.stop()
    scene.stand.mariadb.launch(*STRICTER)
    scene.stand.mariadb.wait_until_ready()
    yield
    scene.stand.mariadb.restart()


@contextmanager
def rename_mariadb(scene: Scene) -> Iterator[None]:
    """A failover to a MariaDB of another name behind the same address, and back: the prefix in Redis changes twice."""
    server, port = scene.stand.mariadb, free_port()
    server.stop()
    server.launch(f"--port={port}")
    eventually(lambda: _answers(scene.stand), message="the other MariaDB does not answer")
    with Proxy(port, at=server.port):
        yield
        server.stop()
    server.start()


def _answers(stand: Stand) -> bool:
    with suppress(MySQLdb.Error):
        as_root(stand).close()
        return True
    return False


@contextmanager
def freeze_mariadb(scene: Scene) -> Iterator[None]:
    """MariaDB stands still, and goes on."""
    with scene.stand.mariadb.frozen():
        yield


@contextmanager
def read_only_mariadb(scene: Scene) -> Iterator[None]:
    """MariaDB refuses to write."""
    with _variable(scene, "read_only", 1, 0):
        yield


@contextmanager
def fill_disk(scene: Scene) -> Iterator[None]:
    """MariaDB refuses to write the audit log, as if its disk were full."""
    full = "SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1114, MESSAGE_TEXT = 'The table is full'"
    connection = as_root(scene.stand)
    with connection.cursor() as cursor:
        cursor.execute("SET lock_wait_timeout = 2")
        with suppress(MySQLdb.Error):  # transactions use the table for longer
            cursor.execute(f"CREATE TRIGGER full BEFORE INSERT ON articles_auditentry FOR EACH ROW {full}")
        try:
            yield
        finally:
            cursor.execute("SET lock_wait_timeout = 60")
            cursor.execute("DROP TRIGGER IF EXISTS full")
    connection.close()


@contextmanager
def hold_commits(scene: Scene) -> Iterator[None]:
    """A backup or a stalled disk keeps all transactions from being committed."""
    with closing(as_root(scene.stand)) as connection, connection.cursor() as cursor:
        for stage in ("START", "FLUSH", "BLOCK_DDL", "BLOCK_COMMIT"):
            cursor.execute(f"BACKUP STAGE {stage}")
        yield
        cursor.execute("BACKUP STAGE END")


@contextmanager
def alter_tables(scene: Scene) -> Iterator[None]:
    """A migration adds columns to tables in use, and is undone."""
    with closing(as_root(scene.stand)) as connection, connection.cursor() as cursor:
        cursor.execute("SET lock_wait_timeout = 1")
        _alter(cursor, "ADD COLUMN IF NOT EXISTS of_migration INT NULL")
        yield
        _alter(cursor, "DROP COLUMN IF EXISTS of_migration")


def _alter(cursor: Any, change: str) -> None:
    for table in ("articles_article", "articles_auditentry", "taskinfo", "taskinfo_logs"):
        with suppress(MySQLdb.Error):  # transactions use the table for longer, such as one of a stopped worker
            cursor.execute(f"ALTER TABLE {table} {change}")


@contextmanager
def exhaust_connections(scene: Scene) -> Iterator[None]:
    """All connections are closed, and MariaDB accepts hardly any new ones."""
    others = "SELECT id FROM information_schema.processlist WHERE user = 'headline' AND id <> CONNECTION_ID()"
    with _variable(scene, "max_connections", 10, 200) as cursor:
        cursor.execute(others)
        for (thread,) in cursor.fetchall():
            with suppress(MySQLdb.Error):  # it has ended
                cursor.execute(f"KILL CONNECTION {thread}")
        yield


@contextmanager
def deadlock(scene: Scene) -> Iterator[None]:
    """Another program locks what becomes due, in descending order, again and again."""
    ended = threading.Event()
    thread = threading.Thread(target=_lock_backwards, args=[scene, ended])
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _lock_backwards(scene: Scene, ended: threading.Event) -> None:
    while not ended.wait(0.02):
        due = scene.rows("SELECT task_id, `key` FROM taskinfo ORDER BY execute_time LIMIT 6")
        statements = [f"SELECT 1 FROM taskinfo WHERE task_id = {task_id} FOR UPDATE" for task_id, _key in due]
        statements += [
            f"SELECT 1 FROM articles_article WHERE id = {key} FOR UPDATE" for _task, key in due if str(key).isdecimal()
        ]
        with suppress(MySQLdb.Error), _transaction(scene) as cursor:
            cursor.execute("SET innodb_lock_wait_timeout = 1")
            for statement in reversed(statements):
                cursor.execute(statement)
                ended.wait(0.01)


def hold_rows(scene: Scene) -> AbstractContextManager[None]:
    """Another program holds the rows of some articles that become due next, and of their tasks."""
    return _held(scene, with_tasks=True)


def hold_articles(scene: Scene) -> AbstractContextManager[None]:
    """The same without their tasks."""
    return _held(scene, with_tasks=False)


@contextmanager
def _held(scene: Scene, *, with_tasks: bool) -> Iterator[None]:
    due = scene.rows(
        "SELECT task_id, `key` FROM taskinfo WHERE task_type IN"
        " ('articles.publish', 'articles.unpublish', 'articles.update') ORDER BY execute_time, task_id DESC LIMIT 2"
    )  # of one instant the last: who waits for these has locked the others
    scene.holds = [int(key) for _task_id, key in due]
    with suppress(MySQLdb.Error), _transaction(scene) as cursor:
        for task_id, key in due:
            cursor.execute(f"SELECT 1 FROM articles_article WHERE id = {key} FOR UPDATE SKIP LOCKED")
            if with_tasks:
                cursor.execute(f"SELECT 1 FROM taskinfo WHERE task_id = {task_id} FOR UPDATE SKIP LOCKED")
        yield
        return
    yield  # MariaDB is away


@contextmanager
def _transaction(scene: Scene) -> Iterator[Any]:
    connection = connect(scene.stand)
    try:
        connection.autocommit(False)
        yield connection.cursor()
    finally:
        with suppress(MySQLdb.Error):
            connection.rollback()
            connection.close()


@contextmanager
def _variable(scene: Scene, name: str, value: int, usual: int) -> Iterator[Any]:
    """Set a variable over a connection that stays open, because there may be no other one."""
    connection = as_root(scene.stand)  # MariaDB has no other fault now
    with connection.cursor() as cursor:
        cursor.execute(f"SET GLOBAL {name} = {value}")
        try:
            yield cursor
        finally:
            cursor.execute(f"SET GLOBAL {name} = {usual}")
    connection.close()


def as_root(stand: Stand) -> Any:
    """A connection that may set variables and write while MariaDB is read-only, as no process of Headline may."""
    socket = str(stand.mariadb.cwd / "mariadb.sock")
    return MySQLdb.connect(unix_socket=socket, user="root", database="headline", autocommit=True)


# Redis


@contextmanager
def flush_redis(scene: Scene) -> Iterator[None]:
    """An operator runs FLUSHALL."""
    _configure(scene, lambda client: client.flushall())
    yield


@contextmanager
def kill_redis(scene: Scene) -> Iterator[None]:
    """Redis is killed, and comes back empty."""
    scene.stand.redis.kill()
    yield
    scene.stand.redis.start()


@contextmanager
def freeze_redis(scene: Scene) -> Iterator[None]:
    """Redis accepts commands and does not respond."""
    with scene.stand.redis.frozen():
        yield


@contextmanager
def fill_redis(scene: Scene) -> Iterator[None]:
    """Redis is out of memory and refuses to write."""
    _configure(scene, lambda client: client.config_set("maxmemory", "1"))
    yield
    _configure(scene, lambda client: client.config_set("maxmemory", "0"))


@contextmanager
def evict_from_redis(scene: Scene) -> Iterator[None]:
    """Redis is out of memory, and evicts any keys to make room."""

    def shrink(client: redis.Redis) -> None:
        memory = client.info("memory")
        client.config_set("maxmemory-policy", "allkeys-random")
        client.config_set("maxmemory", str(memory["used_memory"] - memory["used_memory_dataset"] // 2))

    _configure(scene, shrink)
    yield
    _configure(scene, lambda client: client.config_set("maxmemory", "0"))
    _configure(scene, lambda client: client.config_set("maxmemory-policy", "noeviction"))


@contextmanager
def load_redis(scene: Scene) -> Iterator[None]:
    """Redis is killed, and loads its data for long after its restart: until then it refuses all commands."""
    server = scene.stand.redis
    with _stored(scene, further=_FURTHER_KEYS) as file:
        server.kill()
        server.launch("--key-load-delay", "50000", "--loading-process-events-interval-bytes", "1024")
        yield
        eventually(lambda: _configure(scene, lambda client: client.config_set("key-load-delay", "0")), 60)
        server.wait_until_ready()
        assert file.exists(), "nothing was loaded"
    _configure(scene, lambda client: client.delete(*_names(_FURTHER_KEYS)))


@contextmanager
def restore_redis(scene: Scene) -> Iterator[None]:
    """A replica takes over that has received nothing for as long as the fault lasts."""
    with _stored(scene):
        yield
        scene.stand.redis.kill()
        scene.stand.redis.start()


@contextmanager
def _stored(scene: Scene, *, further: int = 0) -> Iterator[Path]:
    """The present contents of Redis, with some more keys, in the file that it loads when it starts."""
    file = scene.stand.redis.cwd / "dump.rdb"

    def store(client: redis.Redis) -> None:
        client.config_set("rdbcompression", "no")
        if further:
            client.mset(dict.fromkeys(_names(further), "x" * 1024))
        client.save()

    _configure(scene, store)
    try:
        yield file
    finally:
        file.unlink(missing_ok=True)  # so that it starts empty after other faults


def _names(count: int) -> list[str]:
    return [f"further:{number}" for number in range(count)]


@contextmanager
def demote_redis(scene: Scene) -> Iterator[None]:
    """A failover leaves a replica, which is read-only."""
    _configure(scene, lambda client: client.replicaof("127.0.0.1", "1"))
    yield
    _configure(scene, lambda client: client.replicaof("NO", "ONE"))


@contextmanager
def set_redis_back(scene: Scene) -> Iterator[None]:
    """Redis' clock is set back by an hour: keys expire an hour late."""

    def extend(client: redis.Redis) -> None:
        for key in client.scan_iter("*"):
            if client.pttl(key) >= 0:
                client.pexpire(key, 3_600_000)

    _configure(scene, extend)
    _configure(scene, extend, "REDIS_CACHE_URL")
    yield


@contextmanager
def set_redis_ahead(scene: Scene) -> Iterator[None]:
    """Redis' clock is set ahead: keys that expire do so now."""

    def expire(client: redis.Redis) -> None:
        for key in client.scan_iter("*"):
            if client.pttl(key) >= 0:
                client.delete(key)

    _configure(scene, expire)
    _configure(scene, expire, "REDIS_CACHE_URL")
    yield


@contextmanager
def write_garbage(scene: Scene) -> Iterator[None]:
    """Another program writes to the queue's keys."""

    def write(client: redis.Redis) -> None:
        for kind in ("articles.publish", "probe.note"):
            client.zadd(f"sched:future:{{{kind}:0}}", {"not a task": 0, "": 1})
            client.rpush(f"sched:ready:{{{kind}:0}}", encode_id(99), "nonsense")
        client.sadd("sched:topics", "::", "nonsense")

    _configure(scene, write)
    yield


@contextmanager
def offer_early_hints(scene: Scene) -> Iterator[None]:
    """Hints of tasks that are not due are made ready, several times."""
    rows = scene.rows("SELECT task_id, task_type, priority FROM taskinfo ORDER BY execute_time LIMIT 200")

    def push(client: redis.Redis) -> None:
        for task_id, task_type, priority in rows * 2:
            client.sadd("sched:topics", f"{task_type}:{priority}")
            client.lpush(f"sched:ready:{{{task_type}:{priority}}}", encode_id(task_id))

    _configure(scene, push)
    yield


def _configure(scene: Scene, change: Callable[[redis.Redis], object], address: str = "REDIS_URL") -> bool:
    """Whether Redis did it."""
    with suppress(redis.RedisError):
        client = redis.Redis.from_url(scene.stand.environment[address], socket_timeout=1.0)
        change(client)
        return True
    return False


# The network


def _between(name: str, fault: Callable[[Proxy, Scene], AbstractContextManager[None]]) -> Fault:
    def apply(scene: Scene) -> AbstractContextManager[None]:
        return fault(getattr(scene.system, f"{name}_proxy"), scene)

    return apply


def _swallow(proxy: Proxy, scene: Scene) -> AbstractContextManager[None]:
    """A firewall drops all data; connections of that time stay dead."""
    return proxy.silence()


def _swallow_one_way(proxy: Proxy, scene: Scene) -> AbstractContextManager[None]:
    """Only requests arrive, or only replies."""
    return proxy.silence(scene.random.choice((REQUESTS, REPLIES)))


def _delay(proxy: Proxy, scene: Scene) -> AbstractContextManager[None]:
    """Each packet is late."""
    return proxy.delay(scene.random.uniform(0.005, 0.1))


def _slow(proxy: Proxy, scene: Scene) -> AbstractContextManager[None]:
    """Each reply is far later than the database's."""
    return proxy.delay(scene.random.choice((0.06, 0.1, 0.3, 2.0)), REPLIES)


@contextmanager
def _reset(proxy: Proxy, scene: Scene) -> Iterator[None]:
    """All connections break."""
    proxy.reset()
    yield


# Mail server, CDN and receiver of webhooks


@contextmanager
def refuse_mails(scene: Scene) -> Iterator[None]:
    """The mail server accepts no mail."""
    scene.outside.refuses_mails = True
    yield
    scene.outside.refuses_mails = False


@contextmanager
def refuse_purges(scene: Scene) -> Iterator[None]:
    """The CDN refuses to purge."""
    scene.outside.refuses_purges = True
    yield
    scene.outside.refuses_purges = False


@contextmanager
def refuse_webhooks(scene: Scene) -> Iterator[None]:
    """The receiver of webhooks is overloaded."""
    scene.outside.refuses_webhooks = True
    yield
    scene.outside.refuses_webhooks = False


# Clocks


@contextmanager
def skew_workers(scene: Scene) -> Iterator[None]:
    """The clock of the workers' machine is set off by minutes, and back."""
    with _skewed(scene, "workers"):
        yield


@contextmanager
def skew_web(scene: Scene) -> Iterator[None]:
    """The clock of the web server's machine is set off by minutes, and back."""
    with _skewed(scene, "web"):
        yield


@contextmanager
def _skewed(scene: Scene, machine: str) -> Iterator[None]:
    scene.system.set_clock(machine, scene.random.choice((-600, -10, -1, 1, 10, 600)))
    try:
        yield
    finally:
        scene.system.set_clock(machine, 0)


# Tasks and commands


@contextmanager
def poison(scene: Scene) -> Iterator[None]:
    """A burst of tasks, among them some that fail, and one that kills its worker twice; some have no hint."""
    kinds = {3: ("probe.fail", {"times": 1}), 7: ("probe.kill", {"times": 1}), 13: ("probe.fail", {"times": 1})}
    tasks = [(*kinds.get(number, ("probe.note", {})), now() + scene.random.uniform(0, _SPREAD)) for number in range(30)]
    with suppress(MySQLdb.Error):  # what was stored nevertheless is not checked
        for stored in store(scene, tasks):
            note(scene, *stored)
    yield


def store(scene: Scene, tasks: Iterable[tuple[str, Mapping[str, Any], float]]) -> list[tuple[int, str, float]]:
    """Store tasks as another program might: in SQL, without hints. Returns ids, types and due times."""
    columns = "task_id, task_type, priority, execute_time, parameters, version, attempts, created_at, promised_at"
    stored = []
    with _transaction(scene) as cursor:
        cursor.execute("SET time_zone = '+00:00'")
        for task_type, parameters, due in tasks:
            task_id, at = scene.random.getrandbits(40), f"FROM_UNIXTIME({due:.6f})"
            values = f"{task_id}, '{task_type}', 0, {at}, %s, 1, 0, UTC_TIMESTAMP(6), {at}"
            row = [json.dumps(parameters)]
            cursor.execute(f"INSERT INTO taskinfo ({columns}, lease_token) VALUES ({values}, '')", row)
            logged = f"({columns}, status, worker, error, updated_at) VALUES ({values}, 0, '', '', UTC_TIMESTAMP(6))"
            cursor.execute(f"INSERT INTO taskinfo_logs {logged}", row)
            stored.append((task_id, task_type, due))
        cursor.connection.commit()
    return stored


def note(scene: Scene, task_id: int, task_type: str, due: float) -> None:
    """Add a task that must have its effect to the history."""
    scene.history.add(Added(began=now(), ended=now(), task_id=task_id, task_type=task_type, due=due))


@contextmanager
def correct_failing(scene: Scene) -> Iterator[None]:
    """A task is corrected while its only attempt fails: then it has another version, and is due at once."""
    workers, begun = scene.system.workers, "probe.broken begins in process "
    seen = workers.output.count(begun)
    with suppress(MySQLdb.Error, AssertionError):
        ((task_id, _type, due),) = store(scene, [("probe.broken", {"seconds": 1}, now())])
        eventually(lambda: workers.output.count(begun) > seen, 10)
        process = int(workers.output.rpartition(begun)[2].split()[0])
        with _stopped([pid for pid in children(workers.pid) if pid != process]):  # they would run it at once
            corrected = "parameters = '{}', version = version + 1, attempts = 0, execute_time = UTC_TIMESTAMP(6)"
            with _transaction(scene) as cursor:  # waits for the worker
                found = cursor.execute(f"UPDATE taskinfo SET {corrected} WHERE task_id = {task_id}")
                cursor.execute(f"UPDATE taskinfo_logs SET {corrected} WHERE task_id = {task_id}")
                cursor.connection.commit()
            if found:
                note(scene, task_id, "probe.broken", due)
            eventually(lambda: scene.rows("SELECT 1 FROM taskinfo_logs WHERE task_id = %s AND status <> 0", task_id), 5)
    yield


@contextmanager
def refresh(scene: Scene) -> Iterator[None]:
    """Cron runs refresh beside the workers."""
    scene.system.refresh()
    yield


@dataclass(frozen=True)
class Kind:
    """A fault, what it needs alone (two faults of one thing do not overlap), and whether it lasts."""

    fault: Fault
    of: str
    lasts: bool = True
    weight: float = 1.0


KINDS: Mapping[str, Kind] = {
    "worker killed": Kind(kill_worker, "worker", lasts=False, weight=3),
    "all workers killed": Kind(kill_all_workers, "worker", lasts=False),
    "worker stopped": Kind(stop_worker, "worker", weight=2),
    "all workers stopped": Kind(stop_all_workers, "worker"),
    "supervisor killed": Kind(kill_supervisor, "worker"),
    "web process killed": Kind(kill_web, "web", lasts=False, weight=3),
    "web process stopped": Kind(stop_web, "web"),
    "web server killed": Kind(kill_site, "web"),
    "workers replaced": Kind(replace_workers, "worker"),
    "web server reloaded": Kind(reload_web, "web", lasts=False),
    "MariaDB killed": Kind(kill_mariadb, "mariadb"),
    "MariaDB replaced by a stricter one": Kind(replace_mariadb, "mariadb"),
    "MariaDB replaced by one of another name": Kind(rename_mariadb, "mariadb"),
    "MariaDB frozen": Kind(freeze_mariadb, "mariadb"),
    "MariaDB read-only": Kind(read_only_mariadb, "mariadb"),
    "MariaDB's disk full": Kind(fill_disk, "mariadb"),
    "MariaDB's commits held": Kind(hold_commits, "mariadb"),
    "tables altered": Kind(alter_tables, "mariadb"),
    "MariaDB out of connections": Kind(exhaust_connections, "mariadb"),
    "deadlocks": Kind(deadlock, "rows"),
    "rows held": Kind(hold_rows, "rows"),
    "articles held": Kind(hold_articles, "rows"),
    "Redis flushed": Kind(flush_redis, "redis", lasts=False, weight=2),
    "Redis killed": Kind(kill_redis, "redis"),
    "Redis frozen": Kind(freeze_redis, "redis"),
    "Redis full": Kind(fill_redis, "redis"),
    "Redis evicting": Kind(evict_from_redis, "redis"),
    "Redis loading": Kind(load_redis, "redis"),
    "Redis read-only": Kind(demote_redis, "redis"),
    "Redis restored from a stale replica": Kind(restore_redis, "redis"),
    "Redis' clock set back": Kind(set_redis_back, "redis", lasts=False),
    "Redis' clock set ahead": Kind(set_redis_ahead, "redis", lasts=False),
    "foreign keys in Redis": Kind(write_garbage, "redis", lasts=False),
    "early hints": Kind(offer_early_hints, "redis", lasts=False, weight=2),
    "MariaDB: black hole": Kind(_between("mariadb", _swallow), "mariadb network"),
    "MariaDB: one-way black hole": Kind(_between("mariadb", _swallow_one_way), "mariadb network"),
    "MariaDB: delays": Kind(_between("mariadb", _delay), "mariadb network"),
    "MariaDB: resets": Kind(_between("mariadb", _reset), "mariadb network", lasts=False),
    "Redis: black hole": Kind(_between("redis", _swallow), "redis network"),
    "Redis: one-way black hole": Kind(_between("redis", _swallow_one_way), "redis network"),
    "Redis: delays": Kind(_between("redis", _delay), "redis network"),
    "Redis: slow": Kind(_between("redis", _slow), "redis network", weight=2),
    "Redis: resets": Kind(_between("redis", _reset), "redis network", lasts=False),
    "mail server away": Kind(refuse_mails, "mail"),
    "CDN away": Kind(refuse_purges, "cdn"),
    "webhook receiver away": Kind(refuse_webhooks, "receiver"),
    "workers' clock set": Kind(skew_workers, "workers' clock"),
    "web server's clock set": Kind(skew_web, "web clock"),
    "poisoned burst": Kind(poison, "tasks", lasts=False, weight=3),
    "failing task corrected": Kind(correct_failing, "worker", lasts=False),
    "refresh": Kind(refresh, "tasks", lasts=False, weight=0.5),
}
