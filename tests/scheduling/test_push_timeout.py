"""The timeout of a push to Redis."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import pytest

from scheduling.conf import conf
from scheduling.exceptions import QueueUnavailable
from scheduling.queues import Hint
from scheduling.queues.redis import RedisQueue
from tests.chaos.proxy import Proxy
from tests.harness import PATIENCE


def test_a_push_waits_no_longer_than_its_timeout(keys: object, settings: Any) -> None:
    """Redis accepts the hints, then does not respond to the promotion."""
    settings.SCHEDULING_PUSH_TIMEOUT, settings.SCHEDULING_POP_TIMEOUT = 0.2, 10 * PATIENCE
    with Proxy(urlsplit(conf.REDIS_URL).port or 6379) as proxy:
        queue = RedisQueue(f"redis://127.0.0.1:{proxy.port}/0")
        queue.ping()
        proxy.swallow_on(b"EVAL")
        began = time.monotonic()
        now_ms = int(datetime.now(UTC).timestamp() * 1000)
        with pytest.raises(QueueUnavailable):
            queue.push([Hint(1, ("contract.a", 0), now_ms)], now_ms=now_ms)
        assert time.monotonic() - began < PATIENCE
        queue.close()
