"""Benchmark subprocess: fills the future set and empties it in one of two ways; prints milliseconds as JSON."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import django
import redis

os.environ.setdefault("REDIS_KEY_PREFIX", "sched")
django.setup()

from scheduling.queues import Hint, get_queue  # noqa: E402 (queues know the models)

TOPIC = ("bench.promote", 0)
FUTURE, READY = "sched:future:{bench.promote:0}", "sched:ready:{bench.promote:0}"
DUE_MS = 1_800_000_000_000
FIRST_ID = 2**62  # ids as long as real ones


def main(hints: int, way: str) -> None:
    """Measure one way."""
    client = redis.Redis.from_url(os.environ["REDIS_URL"])
    ways: dict[str, Callable[[], object]] = {
        "in batches": lambda: get_queue().promote(now_ms=DUE_MS),
        "one by one": lambda: one_by_one(client),
    }
    client.delete(READY)
    get_queue().push([Hint(FIRST_ID + n, TOPIC, DUE_MS) for n in range(hints)], now_ms=DUE_MS - 1)
    began = time.perf_counter()
    ways[way]()
    taken = 1000 * (time.perf_counter() - began)
    assert (client.zcard(FUTURE), client.llen(READY)) == (0, hints)
    client.delete(READY)
    print(json.dumps(taken))


def one_by_one(client: Any) -> None:
    """The naive way: two commands for each member."""
    for member in client.zrangebyscore(FUTURE, "-inf", DUE_MS):
        client.rpush(READY, member)
        client.zrem(FUTURE, member)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
