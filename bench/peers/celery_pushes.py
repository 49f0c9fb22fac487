"""Celery: a task for each push, which pywebpush encrypts, signs and sends over the open connections of its process.

`python -m bench.peers.celery_pushes URL COUNT` adds the tasks. No state read again, no ledger.
"""

from __future__ import annotations

import json
import sys
from functools import lru_cache

import requests
from py_vapid import Vapid
from pywebpush import webpush

from bench.browsers import PUSH_KEY, browsers
from bench.peers.celery_app import app

_MESSAGE = json.dumps({"text": "Harbour bridge closed after a collision", "filler": "x" * 100})


@lru_cache
def _sender() -> tuple[Vapid, requests.Session]:
    session = requests.Session()
    session.trust_env = False  # else it looks for proxies in the environment at each request
    return Vapid.from_string(private_key=PUSH_KEY), session


@app.task(name="bench.push")
def push(endpoint: str, p256dh: str, auth: str) -> None:
    """Send one push."""
    key, session = _sender()
    webpush(
        {"endpoint": endpoint, "keys": {"p256dh": p256dh, "auth": auth}},
        _MESSAGE,
        vapid_private_key=key,
        vapid_claims={"sub": "mailto:news@example.com"},
        ttl=3600,
        timeout=10,
        requests_session=session,
    )


def add(url: str, count: int) -> None:
    """Add a task for each push."""
    with app.producer_or_acquire() as producer:
        for browser in browsers(url, count):
            push.apply_async(browser, producer=producer)
    print(json.dumps(count))


if __name__ == "__main__":
    add(sys.argv[1], int(sys.argv[2]))
