"""The delay queue: Redis with the database as fallback, or the database alone."""

from __future__ import annotations

import os

from scheduling.conf import conf
from scheduling.queues.base import DelayQueue, Hint, Popped, Pushed, Topic, to_milliseconds
from scheduling.queues.database import DatabaseQueue
from scheduling.queues.fallback import FallbackQueue
from scheduling.queues.redis import RedisQueue

__all__ = ["DelayQueue", "Hint", "Popped", "Pushed", "Topic", "get_queue", "make_queue", "to_milliseconds"]

_queues: dict[tuple[int, str], DelayQueue] = {}


def make_queue(url: str) -> DelayQueue:
    """A new queue for a Redis URL; the database queue for an empty one."""
    return FallbackQueue(RedisQueue(url), DatabaseQueue()) if url else DatabaseQueue()


def get_queue() -> DelayQueue:
    """This process's queue. A forked child gets its own, because no connection may cross a fork.

    All methods are thread-safe except `wait`.
    """
    key = os.getpid(), conf.REDIS_URL
    if key not in _queues:
        _queues[key] = make_queue(conf.REDIS_URL)
    return _queues[key]
