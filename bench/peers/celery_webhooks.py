"""Celery: a task for each request, over one connection a process; it prints the seconds that adding them took.

`python -m bench.peers.celery_webhooks URL COUNT` adds the tasks. No signature, no state read again, no log.
"""

from __future__ import annotations

import json
import sys
import time
from functools import lru_cache
from http.client import HTTPConnection
from urllib.parse import urlsplit

from bench.peers.celery_app import app

_BODY = json.dumps({"type": "article.published", "timestamp": "2026-11-27T18:00:00Z", "data": {"filler": "x" * 300}})


@lru_cache
def _connection(place: str) -> HTTPConnection:
    return HTTPConnection(place, timeout=10)


@app.task(name="bench.post")
def post(url: str, number: int) -> None:
    """Send one request."""
    place = urlsplit(url)
    connection = _connection(place.netloc)
    headers = {"Content-Type": "application/json", "webhook-id": f"evt_{number}"}
    connection.request("POST", place.path, _BODY, headers)
    with connection.getresponse() as response:
        response.read()


def add(url: str, count: int) -> None:
    """Add a task for each request."""
    began = time.monotonic()
    with app.producer_or_acquire() as producer:
        for number in range(count):
            post.apply_async((url, number), producer=producer)
    print(json.dumps(time.monotonic() - began))


if __name__ == "__main__":
    add(sys.argv[1], int(sys.argv[2]))
