"""The queue on Redis: a disposable index of the next few minutes. The only module that imports redis.

Keys, with the prefix of `scheduling.identity`; the braces keep both keys of a topic in one slot of a cluster:

    sched:future:{type:priority}   ZSET of ids, score = due in epoch milliseconds
    sched:ready:{type:priority}    LIST of ids that are due
    sched:topics                   SET of "type:priority"
    sched:lock:refresh             STRING, token of the node that refreshes
    sched:passes:<name>            STRING, how often all nodes together did a periodic work
    sched:ping                     STRING that expires after a second: whether Redis accepts writes
    sched:wake                     channel; message = "due_ms type:priority"
"""

from __future__ import annotations

import logging
import secrets
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import shorten
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.exceptions import (
    AuthenticationError,
    AuthorizationError,
    NoPermissionError,
    OutOfMemoryError,
    RedisClusterException,
    RedisError,
    ResponseError,
)
from redis.retry import Retry
from redis.sentinel import Sentinel

from scheduling.conf import conf
from scheduling.exceptions import QueueFull, QueueRefused, QueueUnavailable
from scheduling.identity import key_prefix
from scheduling.queues import installations, topics, wake
from scheduling.queues.base import DelayQueue, Hint, Popped, Pushed, Topic
from scheduling.queues.topics import decode_id
from scheduling.redis_addresses import several_servers

logger = logging.getLogger(__name__)

_LUA = Path(__file__).parent / "lua"
_TAKE, _OVERTAKE, _RELEASE = ((_LUA / f"{name}.lua").read_text() for name in ("take", "overtake", "release"))
_INFO = {
    "server": ("redis_version", "valkey_version", "dragonfly_version", "redict_version"),
    "memory": ("maxmemory_policy",),
}
"""What the checks need of the sections of INFO."""
_ERROR_LENGTH = 200  # characters of a client's error; some contain the whole client
_ZADD_CHUNK = 1000  # members in one command at most
_ONCE = Retry(NoBackoff(), 0)


def connect(url: str, *, timeout: float) -> Any:
    """A client for any of the URLs of docs/settings.md with a timeout and without retries.

    By default redis-py resends a command; that would pop twice and lose the first reply. Raises `QueueUnavailable` for
    an invalid URL, and the client's own errors if it connects at once.
    """
    limits: dict[str, Any] = {"socket_timeout": timeout, "socket_connect_timeout": timeout}
    scheme, _, rest = url.partition("://")
    try:
        if scheme == "redis+sentinel":
            return _connect_by_sentinel(rest, limits)
        if scheme == "redis+cluster":
            return _connect_to_cluster(rest, limits)
        return redis.Redis.from_url(url, retry=_ONCE, **limits)
    except ValueError as error:
        raise QueueUnavailable(f"SCHEDULING_REDIS_URL is no address of a Redis: {error}") from error


def _connect_by_sentinel(rest: str, limits: dict[str, Any]) -> Any:
    """`user:password@host:port,host:port/service/number`; the credentials are for Redis, not for the sentinels."""
    authority, _, path = rest.partition("/")
    service, _, database = path.partition("/")
    credentials, hosts = several_servers(authority, 26379)
    sentinel = Sentinel(hosts, sentinel_kwargs=limits | {"retry": _ONCE})  # type: ignore[no-untyped-call]
    options = limits | credentials | {"db": int(database or 0), "retry": _ONCE}
    return sentinel.master_for(service, **options)  # type: ignore[no-untyped-call]


def _connect_to_cluster(rest: str, limits: dict[str, Any]) -> Any:
    """`user:password@host:port,host:port`: some nodes of the cluster, from which it discovers the others."""
    credentials, hosts = several_servers(rest.partition("/")[0], 6379)
    nodes = [ClusterNode(host, port) for host, port in hosts]  # type: ignore[no-untyped-call]
    return RedisCluster(startup_nodes=nodes, retry=_ONCE, **limits, **credentials)


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Turn whatever a Redis client raises into `QueueUnavailable`."""
    try:
        yield
    except (RedisError, RedisClusterException, OSError) as error:
        raise _kind_of(error)(f"Redis is unavailable: {shorten(str(error), _ERROR_LENGTH)}") from error


def _kind_of(error: Exception) -> type[QueueUnavailable]:
    if isinstance(error, OutOfMemoryError):
        return QueueFull
    refusals = (AuthenticationError, AuthorizationError, NoPermissionError)
    return QueueRefused if isinstance(error, refusals) else QueueUnavailable


class RedisQueue(DelayQueue):
    """Hints in Redis. Pushes give up after `PUSH_TIMEOUT`, everything else after `POP_TIMEOUT`."""

    name = "redis"

    def __init__(self, url: str) -> None:
        self._url = url
        self._clients: dict[float, Any] = {}
        self._wake_ups: wake.WakeUps | None = None
        self._topics: set[Topic] = set()
        self._topics_read_at = float("-inf")
        self._lock_holder: bytes | None = None  # the token in the refresh lock at the last failed `acquire`
        self._lock_holder_since = 0.0

    def for_thread(self) -> RedisQueue:
        return RedisQueue(self._url)

    def push(self, hints: Sequence[Hint], *, now_ms: int) -> Pushed:
        by_topic: defaultdict[Topic, list[Hint]] = defaultdict(list)
        for hint in hints:
            by_topic[hint.topic].append(hint)
        if not by_topic:
            return Pushed()
        with _translate_errors():
            return self._push(by_topic, now_ms)

    def discard(self, hints: Iterable[Hint]) -> None:
        with _translate_errors():
            pipeline = self._client(conf.PUSH_TIMEOUT).pipeline(transaction=False)
            for hint in hints:
                # Only from the future set: removing from a list is linear, and a stale ready hint is dropped by the row
                # check.
                pipeline.zrem(self._future(hint.topic), topics.encode_id(hint.task_id))
            pipeline.execute()

    def pop(self, task_types: Collection[str], limit: int, *, now_ms: int) -> Popped:
        with _translate_errors():
            wanted = sorted((topic for topic in self._known_topics() if topic[0] in task_types), key=lambda t: t[1])
            replies = self._take(wanted, now_ms, limit)
        # As unavailable, so that the tasks of that topic are taken from SQL until an operator has removed the key.
        if len(replies) < len(wanted):
            raise QueueUnavailable("Redis is unavailable: a key of the queue has the wrong type")
        popped = Popped(ids={topic: list(topics.decode_ids(topic, reply[2:])) for topic, reply in replies.items()})
        next_due = [float(reply[1]) for reply in replies.values() if reply[1]]
        popped.next_due_ms = int(min(next_due)) if next_due else None
        return popped

    def promote(self, *, now_ms: int) -> int:
        with _translate_errors():
            moved, known = 0, self._read_topics()
            remaining = set(known)
            while remaining:
                replies = self._take(remaining, now_ms, 0)
                moved += sum(reply[0] for reply in replies.values())
                remaining = {topic for topic, reply in replies.items() if reply[0] >= conf.PROMOTE_LIMIT}
            self._remove_empty_topics(known)
            return moved

    def _remove_empty_topics(self, known: Collection[Topic]) -> None:
        """Remove topics without hints from the set; the next push adds them again."""
        if empty := self._empty(known):
            client, key = self._client(conf.POP_TIMEOUT), self._key("topics")
            client.srem(key, *map(topics.encode, empty))
            # A push may have come between the look and the removal, and would not be found any more.
            if newly_filled := set(empty) - set(self._empty(empty)):
                client.sadd(key, *map(topics.encode, newly_filled))

    def _empty(self, checked: Collection[Topic]) -> list[Topic]:
        pipeline = self._client(conf.POP_TIMEOUT).pipeline(transaction=False)
        for topic in checked:
            pipeline.exists(self._future(topic), self._ready(topic))
        return [topic for topic, found in zip(checked, pipeline.execute() if checked else [], strict=True) if not found]

    def ready(self, topics: Collection[Topic], limit: int) -> dict[Topic, list[int]]:
        topic_list = list(topics)
        with _translate_errors():
            pipeline = self._client(conf.POP_TIMEOUT).pipeline(transaction=False)
            for topic in topic_list:
                pipeline.lrange(self._ready(topic), 0, limit - 1)
            replies = pipeline.execute(raise_on_error=False)
        lists = {topic: reply for topic, reply in zip(topic_list, replies, strict=True) if isinstance(reply, list)}
        return {
            topic: [task_id for task_id in map(decode_id, members) if task_id is not None]
            for topic, members in lists.items()
        }

    def requeue(self, topic: Topic, task_ids: Sequence[int]) -> None:
        with _translate_errors():
            client = self._client(conf.POP_TIMEOUT)
            client.sadd(self._key("topics"), topics.encode(topic))
            # At the head: these have waited longest.
            client.lpush(self._ready(topic), *map(topics.encode_id, reversed(task_ids)))
            client.publish(self._key("wake"), wake.message(topic, 0))

    def wait(self, seconds: float, *, before_ms: int | None = None) -> None:
        deadline = time.monotonic() + seconds
        with _translate_errors():
            try:
                channel = self._key("wake")
                # The database has failed over: the prefix is another one, and no process writes to the old channel.
                if self._wake_ups is not None and self._wake_ups.channel != channel:
                    self._close_wake_ups()
                if self._wake_ups is None:
                    self._wake_ups = wake.WakeUps(self._client(conf.POP_TIMEOUT).pubsub(), channel)
                while received := self._wake_ups.read(deadline - time.monotonic()):
                    topic, due_ms = received
                    self._topics.add(topic)
                    if before_ms is None or due_ms < before_ms:
                        return
            # Whatever ends the wait, a half-read reply may be left in the connection.
            except BaseException:
                self._close_wake_ups()
                raise

    def passes(self, name: str) -> int | None:
        with _translate_errors():
            count = self._client(conf.POP_TIMEOUT).get(self._key(f"passes:{name}"))
        return None if count is None or not count.isdigit() else int(count)

    def count_pass(self, name: str) -> int:
        with _translate_errors():
            return int(self._client(conf.POP_TIMEOUT).incr(self._key(f"passes:{name}")))

    def acquire(self, seconds: float) -> str | None:
        token, key = secrets.token_hex(16), self._key("lock:refresh")
        with _translate_errors():
            client = self._client(conf.POP_TIMEOUT)
            installations.register(client)
            # Its expiry depends on Redis' clock; the next lines overtake a lock that is held too long by ours.
            if client.set(key, token, nx=True, px=int(seconds * 1000)):
                return token
            holder = client.get(key)
            if holder != self._lock_holder:
                self._lock_holder, self._lock_holder_since = holder, time.monotonic()
            elif time.monotonic() - self._lock_holder_since > seconds:
                return token if client.eval(_OVERTAKE, 1, key, holder, token, int(seconds * 1000)) else None
        return None

    def release(self, token: str) -> bool:
        with _translate_errors():
            return bool(self._client(conf.POP_TIMEOUT).eval(_RELEASE, 1, self._key("lock:refresh"), token))

    def ping(self) -> None:
        # A write, since a server at its memory limit still answers a PING.
        with _translate_errors():
            self._client(conf.PUSH_TIMEOUT).set(self._key("ping"), 1, px=1000)

    def server_info(self) -> dict[str, str]:
        with _translate_errors():
            client = self._client(conf.POP_TIMEOUT)
            found: dict[str, str] = {}
            for section, names in _INFO.items():
                # Two sections instead of all, which take Redis longer and grow with each version.
                details = client.info(section)
                found |= {name: str(details.get(name, "")) for name in names}
            return found | {"neighbours": ", ".join(installations.others(client))}

    def close(self) -> None:
        self._close_wake_ups()
        for client in self._clients.values():
            client.close()
        self._clients.clear()
        self._topics.clear()
        self._topics_read_at = float("-inf")

    def _client(self, timeout: float) -> Any:
        if timeout not in self._clients:
            self._clients[timeout] = connect(self._url, timeout=timeout)
        return self._clients[timeout]

    def _key(self, name: str) -> str:
        return f"{key_prefix()}:{name}"

    def _future(self, topic: Topic) -> str:
        return self._key(f"future:{{{topics.encode(topic)}}}")

    def _ready(self, topic: Topic) -> str:
        return self._key(f"ready:{{{topics.encode(topic)}}}")

    def _push(self, by_topic: dict[Topic, list[Hint]], now_ms: int) -> Pushed:
        """Push in one round trip, since a request waits for it; the workers promote the rest."""
        pipeline = self._client(conf.PUSH_TIMEOUT).pipeline(transaction=False)
        pipeline.sadd(self._key("topics"), *map(topics.encode, by_topic))
        for topic, hints in by_topic.items():
            for start in range(0, len(hints), _ZADD_CHUNK):
                members = {topics.encode_id(hint.task_id): hint.due_ms for hint in hints[start : start + _ZADD_CHUNK]}
                pipeline.zadd(self._future(topic), members)
        for topic, hints in by_topic.items():
            earliest = min(hint.due_ms for hint in hints)
            self._add_take(pipeline, topic, now_ms, 0, self._key("wake"), earliest, wake.message(topic, earliest))
        replies = pipeline.execute()
        return Pushed(sum(replies[1 : -len(by_topic)]), sum(reply[0] for reply in replies[-len(by_topic) :]))

    def _take(self, wanted: Collection[Topic], now_ms: int, limit: int) -> dict[Topic, list[Any]]:
        """Run take.lua for each topic in one round trip; topics whose keys have the wrong type are skipped."""
        topic_list = list(wanted)
        pipeline = self._client(conf.POP_TIMEOUT).pipeline(transaction=False)
        for topic in topic_list:
            self._add_take(pipeline, topic, now_ms, limit)
        replies = dict(zip(topic_list, pipeline.execute(raise_on_error=False) if topic_list else [], strict=True))
        for topic, reply in list(replies.items()):
            if isinstance(reply, ResponseError) and "WRONGTYPE" in str(reply):
                logger.warning("Redis keys of topic %s have the wrong type; skipped", topics.encode(topic))
                del replies[topic]
            elif isinstance(reply, Exception):
                raise reply
        return replies

    def _add_take(self, pipeline: Any, topic: Topic, now_ms: int, limit: int, *wake_up: str | int) -> None:
        # Not `eval` or EVALSHA, which cluster pipelines refuse even if all keys are in one slot. EVALSHA also fails
        # after a failover, until the script is loaded again.
        keys = self._future(topic), self._ready(topic)
        pipeline.execute_command("EVAL", _TAKE, len(keys), *keys, now_ms, conf.PROMOTE_LIMIT, limit, *wake_up)

    def _known_topics(self) -> set[Topic]:
        """All topics; while subscribed, wake-ups name new ones, and the set is read only every `MAX_SLEEP`."""
        if self._wake_ups is None or time.monotonic() - self._topics_read_at > conf.MAX_SLEEP:
            self._topics |= self._read_topics()
            self._topics_read_at = time.monotonic()
        return set(self._topics)

    def _read_topics(self) -> set[Topic]:
        members = self._client(conf.POP_TIMEOUT).smembers(self._key("topics"))
        return {topic for topic in map(topics.decode, members) if topic}

    def _close_wake_ups(self) -> None:
        if self._wake_ups is not None:
            self._wake_ups.close()
            self._wake_ups = None
