"""The fallback queue used by several threads of one process."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from scheduling.queues import fallback
from scheduling.queues.database import DatabaseQueue
from scheduling.queues.fallback import FallbackQueue


def test_a_thread_can_use_the_queue_while_another_finds_redis_available_again(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = FallbackQueue(DatabaseQueue(), DatabaseQueue())
    queue._down_until = 1.0

    def between_two_looks() -> float:
        queue._down_until = None
        return 0.0

    monkeypatch.setattr(fallback, "time", SimpleNamespace(monotonic=between_two_looks))
    assert queue.promote(now_ms=0) == 0
