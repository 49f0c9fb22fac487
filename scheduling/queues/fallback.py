"""A queue that falls back to the database while Redis is unavailable."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TypeVar

from scheduling.conf import conf
from scheduling.exceptions import QueueUnavailable
from scheduling.queues.base import DelayQueue, Hint, Popped, Pushed, Topic

logger = logging.getLogger(__name__)

Result = TypeVar("Result")


class FallbackQueue(DelayQueue):
    """Uses `primary`; after a failure uses `fallback` for `REDIS_RETRY_INTERVAL`, then tries `primary` again.

    So an unreachable Redis costs one short timeout per interval, and callers see no error.
    """

    def __init__(self, primary: DelayQueue, fallback: DelayQueue) -> None:
        self.primary = primary
        self.fallback = fallback
        self._down_until: float | None = None

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of the queue in use."""
        return self.primary.name if self._down_until is None else self.fallback.name

    def push(self, hints: Sequence[Hint], *, now_ms: int) -> Pushed:
        return self._call(lambda queue: queue.push(hints, now_ms=now_ms))

    def discard(self, hints: Iterable[Hint]) -> None:
        hint_list = list(hints)
        self._call(lambda queue: queue.discard(hint_list))

    def pop(self, task_types: Collection[str], limit: int, *, now_ms: int) -> Popped:
        return self._call(lambda queue: queue.pop(task_types, limit, now_ms=now_ms))

    def promote(self, *, now_ms: int) -> int:
        return self._call(lambda queue: queue.promote(now_ms=now_ms))

    def ready(self, topics: Collection[Topic], limit: int) -> dict[Topic, list[int]]:
        return self._call(lambda queue: queue.ready(topics, limit))

    def requeue(self, topic: Topic, task_ids: Sequence[int]) -> None:
        self._call(lambda queue: queue.requeue(topic, task_ids))

    def wait(self, seconds: float, *, before_ms: int | None = None) -> None:
        self._call(lambda queue: queue.wait(seconds, before_ms=before_ms))

    def passes(self, name: str) -> int | None:
        return self._call(lambda queue: queue.passes(name))

    def count_pass(self, name: str) -> None:
        self._call(lambda queue: queue.count_pass(name))

    def acquire(self, seconds: float) -> str | None:
        return self._call(lambda queue: queue.acquire(seconds))

    def release(self, token: str) -> bool:
        return self._call(lambda queue: queue.release(token))

    def ping(self) -> None:
        self.primary.ping()

    def server_info(self) -> dict[str, str]:
        return self.primary.server_info()

    def close(self) -> None:
        self.primary.close()
        self.fallback.close()

    def _call(self, operation: Callable[[DelayQueue], Result]) -> Result:
        down_until = self._down_until  # read once: another thread may change it
        if down_until is not None and time.monotonic() < down_until:
            return operation(self.fallback)
        try:
            if down_until is not None:
                self.primary.ping()  # fails sooner than an operation, which may block
            result = operation(self.primary)
        except QueueUnavailable as error:
            if self._down_until is None:
                logger.warning("%s; tasks are taken from the database until it is back", error)
            self._down_until = time.monotonic() + conf.REDIS_RETRY_INTERVAL
            return operation(self.fallback)
        if self._down_until is not None:
            logger.warning("Redis serves again")
            self._down_until = None
        return result
