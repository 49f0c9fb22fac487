"""What a slow, silent, full or read-only Redis costs tasks, saves and pages."""

from __future__ import annotations

import operator
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import redis

from bench.measure import Contestant, Figure, Goal, Measure, Values
from bench.measures.readers import get, serve
from bench.publishers import POLL
from bench.stand import Servers
from tests.chaos.proxy import REPLIES, Proxy
from tests.harness import connect, rows, start_redis

DESCRIPTION = """\
Milliseconds with a proxy that delays each reply of Redis or swallows all, or with a Redis that refuses writes. *task*
is the time from an article's instant until another process sees its status, *follow-up* how late the slowest mail or
purge was, *save* and *live save* take an approved and a live article, *front page* and *article* are requests: medians,
but for the slowest. Without Redis each request is rendered. One worker process, durable servers."""

COUNT = 20
PAUSE = 0.25  # seconds between two requests: without Redis, a page is cached for a shorter time
LEARNING = 4  # requests that are not counted: they find out that Redis is slow
NUMBER = 16  # of the newsroom, and so of its databases
MEDIANS = ("task", "save", "live save", "front page", "article")
FIGURES = [Figure(name, "ms") for name in (*MEDIANS, "slowest task", "follow-up")]
HEALTHY, WITHOUT = "healthy", "no Redis"

Trouble = Callable[[Proxy, redis.Redis], AbstractContextManager[Any]]


@contextmanager
def full(_proxy: Proxy, client: redis.Redis) -> Iterator[None]:
    """Writes are refused for want of memory."""
    client.config_set("maxmemory", "1")
    yield
    client.config_set("maxmemory", "0")


@contextmanager
def evicting(_proxy: Proxy, client: redis.Redis) -> Iterator[None]:
    """Keys disappear as others are written."""
    memory = client.info("memory")
    client.config_set("maxmemory-policy", "allkeys-random")
    client.config_set("maxmemory", str(memory["used_memory"] - memory["used_memory_dataset"] // 2))
    yield
    client.config_set("maxmemory", "0")
    client.config_set("maxmemory-policy", "noeviction")


@contextmanager
def read_only(_proxy: Proxy, client: redis.Redis) -> Iterator[None]:
    """It is the replica of a server that is gone."""
    client.replicaof("127.0.0.1", "1")
    yield
    client.replicaof("NO", "ONE")


def slow(milliseconds: int) -> Trouble:
    """Each reply comes so much later."""
    return lambda proxy, _client: proxy.delay(milliseconds / 1000, REPLIES)


TROUBLES: Mapping[str, Trouble] = {
    HEALTHY: lambda _proxy, _client: nullcontext(),
    **{f"{milliseconds} ms": slow(milliseconds) for milliseconds in (20, 60, 100, 300)},
    "black hole": lambda proxy, _client: proxy.silence(),
    "read-only": read_only,
    "evicting": evicting,
    "full": full,
}
BOUNDED = ("100 ms", "300 ms", "black hole", "read-only", "evicting", "full")


def contestants(servers: Servers) -> list[Contestant]:
    """A newsroom for all; one trouble after the other."""
    env = servers.newsroom("slow_redis", NUMBER)
    addresses = servers.run("bench.reader_pages", "load", COUNT, env=env)
    without = partial(measure, servers, env | {"REDIS_URL": "", "REDIS_CACHE_URL": ""}, addresses)
    troubled = [Contestant(name, partial(behind_proxy, servers, env, addresses, name)) for name in TROUBLES]
    return [*troubled, Contestant(WITHOUT, lambda _round: without())]


def behind_proxy(
    servers: Servers, env: Mapping[str, str], addresses: Mapping[str, str], name: str, _round: int
) -> Values:
    """With a Redis of its own, new in each round."""
    with ExitStack() as stack:
        server = start_redis(Path(stack.enter_context(TemporaryDirectory())))
        stack.callback(server.kill)
        proxy = stack.enter_context(Proxy(server.port))
        url = f"redis://127.0.0.1:{proxy.port}"
        reached = {**env, "REDIS_URL": f"{url}/0", "REDIS_CACHE_URL": f"{url}/1"}
        client = stack.enter_context(redis.Redis.from_url(server.url))
        return measure(servers, reached, addresses, lambda: TROUBLES[name](proxy, client))


def measure(
    servers: Servers,
    env: Mapping[str, str],
    addresses: Mapping[str, str],
    trouble: Callable[[], AbstractContextManager[Any]] = nullcontext,
) -> Values:
    """Saves, the tasks that follow, and pages, all while the trouble lasts; it begins once all processes work."""
    with ExitStack() as stack:
        worker = stack.enter_context(servers.start(*POLL, "1", env=env))
        worker.wait_for("articles.publish", 60)
        url = serve(lambda *command, env: stack.enter_context(servers.start(*command, env=env)), "headline.wsgi", env)
        pages = {name: url + addresses[name] for name in ("front page", "article")}
        for page in pages.values():
            get(page)
        stack.enter_context(trouble())
        saved = servers.run("bench.saves", COUNT, env=env)
        first = saved.pop("first")
        seen = servers.run("bench.observer", first, COUNT, env=env)
        times = {name: median_time(page) for name, page in pages.items()}
        tasks = {"task": statistics.median(seen), "slowest task": max(seen)}
        return {**saved, **tasks, **times, "follow-up": slowest_follow_up(env)}


def median_time(page: str) -> float:
    """Milliseconds of a request."""
    taken = []
    for _ in range(LEARNING + COUNT):
        began = time.perf_counter()
        get(page)
        taken.append((time.perf_counter() - began) * 1000)
        time.sleep(PAUSE)
    return statistics.median(taken[LEARNING:])


def slowest_follow_up(env: Mapping[str, str]) -> float:
    """Milliseconds by which the latest task of another type than those that publish was late; deletes the records."""
    connection = connect(env["DATABASE_URL"])
    found = rows(connection, "SELECT MAX(lateness) FROM taskinfo_logs WHERE task_type <> 'articles.publish'")
    rows(connection, "DELETE FROM taskinfo_logs")
    connection.close()
    return float(found[0][0] or 0) / 1000


SLOW_REDIS = Measure(
    "slow-redis",
    "A slow Redis",
    DESCRIPTION,
    FIGURES,
    contestants,
    [
        *(Goal("task", name, operator.le, 20) for name in BOUNDED),
        *(Goal("follow-up", name, operator.le, 2000) for name in BOUNDED),
        *(Goal(save, name, operator.le, 1.3, HEALTHY) for name in BOUNDED for save in ("save", "live save")),
        *(Goal(page, name, operator.le, 1.3, WITHOUT) for name in BOUNDED for page in ("front page", "article")),
    ],
)
