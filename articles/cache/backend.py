"""Access to the response cache's backend: failed commands are counted and never fail a request.

Adds to django-redis what its interface lacks: an entry with its TTL in one round trip, and a read at half the cost.
The cache in process memory has neither.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.core.cache import caches
from django.utils.connection import ConnectionProxy
from prometheus_client import Counter
from redis import exceptions

from scheduling.round_trips import SLOW, RoundTrips

logger = logging.getLogger(__name__)

RESPONSES = "responses"
"""The alias in `CACHES`. Nothing else is stored there, so it may be cleared."""

responses = ConnectionProxy(caches, RESPONSES)

RUN = "pages:run"
"""The key of the id of the server that the other keys were written to; see `articles.cache.server`."""

_RETRY = 1.0  # seconds before a cache that is away or slow is tried again; then twice as many, up to
_LONGEST_PAUSE = 8.0  # seconds
_SLOW_ONES = 8  # slow round trips in a row, as some are slow by what else this process does

errors = Counter("headline_cache_errors", "Response cache commands that failed", ["command"])


class CacheFailed(Exception):
    """A command of the cache failed or timed out."""


class Reachable:
    """Whether the cache is worth asking: one that is away, or slower than no cache, is left alone in growing pauses.

    So few requests pay a timeout, or the round trips that show whether a slow one has become quick.
    """

    def __init__(self) -> None:
        self._again_at = float("-inf")
        self._round_trips = RoundTrips(_SLOW_ONES)
        self._seconds = 0.0  # of the last pause; 0 once it has answered
        self.is_slow = False  #: it answers, but only slowly

    def __bool__(self) -> bool:
        return time.monotonic() >= self._again_at

    def mark_unreachable(self) -> None:
        """Do not use the cache for a while."""
        self.is_slow = False
        self._pause()

    def took(self, seconds: float) -> None:
        """Note a round trip; after some slow ones, the cache is not used for a while."""
        self._round_trips.add(seconds)
        if self._round_trips.are_slow:
            if not self.is_slow:
                logger.warning("the response cache takes %.0f ms to answer; pages are built without it", seconds * 1000)
            self.is_slow = True
            self._pause()
        elif seconds <= SLOW:
            if self.is_slow:
                logger.warning("the response cache is quick again")
            self.is_slow, self._seconds = False, 0.0

    def _pause(self) -> None:
        if self:  # of several threads that notice it, one
            self._seconds = min(self._seconds * 2, _LONGEST_PAUSE) if self._seconds else _RETRY
            self._again_at = time.monotonic() + self._seconds


reachable = Reachable()


@contextmanager
def command(name: str, *, round_trips: int = 1) -> Iterator[None]:
    """Count any exception in the block and raise it as `CacheFailed`; note how long a round trip took."""
    begun = time.monotonic()
    try:
        yield
    except Exception as error:  # each backend has its own exceptions
        errors.labels(name).inc()
        logger.debug("the response cache failed to %s: %s", name, error)
        raise CacheFailed(str(error)) from error
    reachable.took((time.monotonic() - begun) / round_trips)


def got_no_answer(failure: CacheFailed) -> bool:
    """Whether a command failed because the cache did not answer in time, and not by what it answered."""
    return isinstance(failure.__cause__, (exceptions.ConnectionError, exceptions.TimeoutError))


def read_with_ttl(keys: Sequence[str]) -> tuple[dict[str, Any], float | None]:
    """The values of these keys, and how many seconds the first one has left; None if the backend does not say that.

    The TTL is read before and after the value, so that one of both is that of the value if another replaces it. A
    transaction would do, too, but a full Redis refuses it. Fails, by GETEX, where Redis refuses to write: it would
    not take purges either. That also keeps `RUN` from being evicted.
    """
    client: Any = getattr(responses, "client", None)
    if client is None:
        return responses.get_many(keys), None
    names = [client.make_key(key) for key in keys]
    pipeline = client.get_client(write=False).pipeline(transaction=False)
    pipeline.pttl(names[0]).mget(names).getex(client.make_key(RUN)).pttl(names[0])
    before, values, _run, after = pipeline.execute()
    found = {key: client.decode(value) for key, value in zip(keys, values, strict=True) if value is not None}
    return found, min(before, after) / 1000


class FastReader(threading.local):
    """Reads one key over a connection of the thread's own: half the cost of a connection from the pool.

    By GETEX, which a Redis refuses that takes no writes, such as a replica.
    """

    def __init__(self, key: str) -> None:
        self._key = key
        self._client: Any = None
        self._connection: Any = None

    def read(self) -> Any:
        """The value; None if it is missing or cannot be read at once: an idle connection may have been closed."""
        client: Any = getattr(responses, "client", None)
        if client is None:
            return None
        try:
            if client is not self._client:
                self._connect(client)
            begun = time.monotonic()
            name = str(client.make_key(self._key))  # another one after a failover of the database
            self._connection.send_packed_command(self._connection.pack_command("GETEX", name), check_health=False)
            value = self._connection.read_response()
            reachable.took(time.monotonic() - begun)
            return None if value is None else client.decode(value)
        except Exception as error:  # each backend has its own exceptions
            logger.debug("the response cache's generation could not be read: %s", error)
            self.forget()
            return None

    def _connect(self, client: Any) -> None:
        self._connection = client.get_client(write=False).connection_pool.make_connection()
        self._client = client

    def forget(self) -> None:
        """Close the thread's connection."""
        if self._connection is not None:
            self._connection.disconnect()
        self._client = self._connection = None
