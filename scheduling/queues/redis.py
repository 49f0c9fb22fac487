"""The queue on Redis: a disposable index of the next few minutes. The only module that imports redis.

Keys, with the prefix of `scheduling.identity` and the topic in braces, so that it lives in one slot of a cluster:

    sched:future:{type:priority}   ZSET of ids, score = due in epoch milliseconds
    sched:ready:{type:priority}    LIST of ids that are due
    sched:topics                   SET of "type:priority"
    sched:lock:refresh             STRING, the token of the node that refreshes
    sched:passes:<name>            STRING, how often a periodic work was done
    sched:ping                     STRING that lives for a second: whether Redis takes writes
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
from redis.exceptions import OutOfMemoryError, RedisClusterException, RedisError, ResponseError
from redis.retry import Retry
from redis.sentinel import Sentinel

from scheduling.conf import conf
from scheduling.exceptions import QueueFull, QueueUnavailable
from scheduling.identity import key_prefix
from scheduling.queues import installations, topics, wake
from scheduling.queues.addresses import parse
from scheduling.queues.base import DelayQueue, Hint, Popped, Pushed, Topic

logger = logging.getLogger(__name__)

_LUA = Path(__file__).parent / "lua"
_TAKE, _OVERTAKE, _RELEASE = ((_LUA / f"{name}.lua").read_text() for name in ("take", "overtake", "release"))
_INFO = {"redis_version": "server", "maxmemory_policy": "memory"}  # to the section of INFO that tells it
_ERROR_LENGTH = 200  # characters of a client's error; some describe the whole client
_ZADD_CHUNK = 1000  # members in one command at most
_ONCE = Retry(NoBackoff(), 0)


def connect(url: str, *, timeout: float) -> Any:
    """A client for any of the URLs of docs/settings.md that gives up after `timeout` seconds and never resends.

    Resending is what redis-py does by default; it would pop twice and lose what the first answer carried. Raises
    `QueueUnavailable` for a URL that is none, and what the client raises when it looks around at once.
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
    credentials, hosts = parse(authority, 26379)
    sentinel = Sentinel(hosts, sentinel_kwargs=limits | {"retry": _ONCE})  # type: ignore[no-untyped-call]
    options = limits | credentials | {"db": int(database or 0), "retry": _ONCE}
    return sentinel.master_for(service, **options)  # type: ignore[no-untyped-call]


def _connect_to_cluster(rest: str, limits: dict[str, Any]) -> Any:
    """`user:password@host:port,host:port`: some nodes of the cluster, which name the others."""
    credentials, hosts = parse(rest.partition("/")[0], 6379)
    nodes = [ClusterNode(host, port) for host, port in hosts]  # type: ignore[no-untyped-call]
    return RedisCluster(startup_nodes=nodes, retry=_ONCE, **limits, **credentials)


@contextmanager
def _answering() -> Iterator[None]:
    """Turn whatever a Redis client raises into `QueueUnavailable`."""
    try:
        yield
    except (RedisError, RedisClusterException, OSError) as error:
        kind = QueueFull if isinstance(error, OutOfMemoryError) else QueueUnavailable
        raise kind(f"Redis does not serve: {shorten(str(error), _ERROR_LENGTH)}") from error


class RedisQueue(DelayQueue):
    """Hints in Redis. Pushes give up after `PUSH_TIMEOUT`, everything else after `POP_TIMEOUT`."""

    name = "redis"

    def __init__(self, url: str) -> None:
        self._url = url
        self._clients: dict[float, Any] = {}
        self._wake_ups: wake.WakeUps | None = None
        self._topics: set[Topic] = set()
        self._topics_read_at = float("-inf")
        self._rival: bytes | None = None  # the holder of the refresh lock, when we last wanted it
        self._rival_since = 0.0

    def push(self, hints: Sequence[Hint], *, now_ms: int) -> Pushed:
        by_topic: defaultdict[Topic, list[Hint]] = defaultdict(list)
        for hint in hints:
            by_topic[hint.topic].append(hint)
        if not by_topic:
            return Pushed()
        with _answering():
            return self._push(by_topic, now_ms)

    def discard(self, hints: Iterable[Hint]) -> None:
        with _answering():
            pipeline = self._client(conf.PUSH_TIMEOUT).pipeline(transaction=False)
            for hint in hints:
                pipeline.zrem(self._future(hint.topic), hint.task_id)
            pipeline.execute()

    def pop(self, task_types: Collection[str], limit: int, *, now_ms: int) -> Popped:
        with _answering():
            wanted = sorted((topic for topic in self._known_topics() if topic[0] in task_types), key=lambda t: t[1])
            answers = self._take(wanted, now_ms, limit)
        if len(answers) < len(wanted):
            raise QueueUnavailable("Redis does not serve: a key of the queue holds something else")
        popped = Popped(ids={topic: list(topics.decode_ids(topic, answer[2:])) for topic, answer in answers.items()})
        next_due = [float(answer[1]) for answer in answers.values() if answer[1]]
        popped.next_due_ms = int(min(next_due)) if next_due else None
        return popped

    def promote(self, *, now_ms: int) -> int:
        with _answering():
            moved, known = 0, self._read_topics()
            left = set(known)
            while left:
                answers = self._take(left, now_ms, 0)
                moved += sum(answer[0] for answer in answers.values())
                left = {topic for topic, answer in answers.items() if answer[0] >= conf.PROMOTE_LIMIT}
            self._forget_empty(known)
            return moved

    def _forget_empty(self, known: Collection[Topic]) -> None:
        """Keep the set of topics short; who pushes to a forgotten one names it again."""
        if empty := self._empty(known):
            client, key = self._client(conf.POP_TIMEOUT), self._key("topics")
            client.srem(key, *map(topics.encode, empty))
            if filled_meanwhile := set(empty) - set(self._empty(empty)):
                client.sadd(key, *map(topics.encode, filled_meanwhile))

    def _empty(self, asked: Collection[Topic]) -> list[Topic]:
        pipeline = self._client(conf.POP_TIMEOUT).pipeline(transaction=False)
        for topic in asked:
            pipeline.exists(self._future(topic), self._ready(topic))
        return [topic for topic, found in zip(asked, pipeline.execute() if asked else [], strict=True) if not found]

    def ready(self, topics: Collection[Topic], limit: int) -> dict[Topic, list[int]]:
        asked = list(topics)
        with _answering():
            pipeline = self._client(conf.POP_TIMEOUT).pipeline(transaction=False)
            for topic in asked:
                pipeline.lrange(self._ready(topic), 0, limit - 1)
            answers = pipeline.execute(raise_on_error=False)
        lists = {topic: answer for topic, answer in zip(asked, answers, strict=True) if isinstance(answer, list)}
        return {topic: [int(member) for member in members if member.isdigit()] for topic, members in lists.items()}

    def requeue(self, topic: Topic, task_ids: Sequence[int]) -> None:
        with _answering():
            client = self._client(conf.POP_TIMEOUT)
            client.sadd(self._key("topics"), topics.encode(topic))
            client.lpush(self._ready(topic), *reversed(task_ids))
            client.publish(self._key("wake"), wake.message(topic, 0))

    def wait(self, seconds: float, *, before_ms: int | None = None) -> None:
        deadline = time.monotonic() + seconds
        with _answering():
            try:
                if self._wake_ups is None:
                    channel = self._key("wake")
                    self._wake_ups = wake.WakeUps(self._client(conf.POP_TIMEOUT).pubsub(), channel)
                while received := self._wake_ups.read(deadline - time.monotonic()):
                    topic, due_ms = received
                    self._topics.add(topic)
                    if before_ms is None or due_ms < before_ms:
                        return
            except BaseException:
                self._forget_wake_ups()
                raise

    def passes(self, name: str) -> int | None:
        with _answering():
            count = self._client(conf.POP_TIMEOUT).get(self._key(f"passes:{name}"))
        return None if count is None or not count.isdigit() else int(count)

    def count_pass(self, name: str) -> None:
        with _answering():
            self._client(conf.POP_TIMEOUT).incr(self._key(f"passes:{name}"))

    def acquire(self, seconds: float) -> str | None:
        token, key = secrets.token_hex(16), self._key("lock:refresh")
        with _answering():
            client = self._client(conf.POP_TIMEOUT)
            installations.sign(client)
            if client.set(key, token, nx=True, px=int(seconds * 1000)):
                return token
            holder = client.get(key)
            if holder != self._rival:
                self._rival, self._rival_since = holder, time.monotonic()
            elif time.monotonic() - self._rival_since > seconds:
                return token if client.eval(_OVERTAKE, 1, key, holder, token, int(seconds * 1000)) else None
        return None

    def release(self, token: str) -> bool:
        with _answering():
            return bool(self._client(conf.POP_TIMEOUT).eval(_RELEASE, 1, self._key("lock:refresh"), token))

    def ping(self) -> None:
        with _answering():  # a server at its memory limit would still answer a PING
            self._client(conf.PUSH_TIMEOUT).set(self._key("ping"), 1, px=1000)

    def server_info(self) -> dict[str, str]:
        with _answering():
            client = self._client(conf.POP_TIMEOUT)
            found = {name: str(client.info(section).get(name, "")) for name, section in _INFO.items()}
            return found | {"neighbours": ", ".join(installations.others(client))}

    def close(self) -> None:
        self._forget_wake_ups()
        for client in self._clients.values():
            client.close()
        self._clients.clear()

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
        """All in one round trip, since a request waits for it; what more is due than one step moves, the workers do."""
        pipeline = self._client(conf.PUSH_TIMEOUT).pipeline(transaction=False)
        pipeline.sadd(self._key("topics"), *map(topics.encode, by_topic))
        for topic, hints in by_topic.items():
            for start in range(0, len(hints), _ZADD_CHUNK):
                members = {str(hint.task_id): hint.due_ms for hint in hints[start : start + _ZADD_CHUNK]}
                pipeline.zadd(self._future(topic), members)
        for topic, hints in by_topic.items():
            earliest = min(hint.due_ms for hint in hints)
            self._queue_take(pipeline, topic, now_ms, 0, self._key("wake"), earliest, wake.message(topic, earliest))
        answers = pipeline.execute()
        return Pushed(sum(answers[1 : -len(by_topic)]), sum(answer[0] for answer in answers[-len(by_topic) :]))

    def _take(self, wanted: Collection[Topic], now_ms: int, limit: int) -> dict[Topic, list[Any]]:
        """Run take.lua for each topic in one round trip; a topic whose keys are not ours to use is passed over."""
        asked = list(wanted)
        pipeline = self._client(conf.POP_TIMEOUT).pipeline(transaction=False)
        for topic in asked:
            self._queue_take(pipeline, topic, now_ms, limit)
        answers = dict(zip(asked, pipeline.execute(raise_on_error=False) if asked else [], strict=True))
        for topic, answer in list(answers.items()):
            if isinstance(answer, ResponseError) and "WRONGTYPE" in str(answer):
                logger.warning("Redis keys of topic %s hold something else; left alone", topics.encode(topic))
                del answers[topic]
            elif isinstance(answer, Exception):
                raise answer
        return answers

    def _queue_take(self, pipeline: Any, topic: Topic, now_ms: int, limit: int, *news: str | int) -> None:
        # Not by `eval`, which pipelines of a cluster refuse, although all keys are in one slot.
        keys = self._future(topic), self._ready(topic)
        pipeline.execute_command("EVAL", _TAKE, len(keys), *keys, now_ms, conf.PROMOTE_LIMIT, limit, *news)

    def _known_topics(self) -> set[Topic]:
        """All topics; who listens hears of new ones by their wake-ups and reads the set once in a while only."""
        if self._wake_ups is None or time.monotonic() - self._topics_read_at > conf.MAX_SLEEP:
            self._topics |= self._read_topics()
            self._topics_read_at = time.monotonic()
        return set(self._topics)

    def _read_topics(self) -> set[Topic]:
        members = self._client(conf.POP_TIMEOUT).smembers(self._key("topics"))
        return {topic for topic in map(topics.decode, members) if topic}

    def _forget_wake_ups(self) -> None:
        if self._wake_ups is not None:
            self._wake_ups.close()
            self._wake_ups = None
