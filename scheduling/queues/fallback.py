"""Redis when it answers, the database when it does not."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TypeVar

from scheduling.conf import conf
from scheduling.exceptions import QueueUnavailable
from scheduling.queues.base import DelayQueue, Hint, Popped, Pushed, Topic

logger = logging.getLogger(__name__)

Answer = TypeVar("Answer")


class FallbackQueue(DelayQueue):
    """Asks `preferred`; after a failure lets `reserve` serve for `REDIS_RETRY_INTERVAL`, then tries again.

    So nobody hangs: an unreachable Redis costs one short timeout a second, and none of the callers see it.
    """

    def __init__(self, preferred: DelayQueue, reserve: DelayQueue) -> None:
        self.preferred = preferred
        self.reserve = reserve
        self._down_until: float | None = None

    @property
    def name(self) -> str:  # type: ignore[override]
        """The queue that serves at the moment."""
        return self.preferred.name if self._down_until is None else self.reserve.name

    def push(self, hints: Sequence[Hint], *, now_ms: int) -> Pushed:
        return self._ask(lambda queue: queue.push(hints, now_ms=now_ms))

    def discard(self, hints: Iterable[Hint]) -> None:
        kept = list(hints)
        self._ask(lambda queue: queue.discard(kept))

    def pop(self, task_types: Collection[str], limit: int, *, now_ms: int) -> Popped:
        return self._ask(lambda queue: queue.pop(task_types, limit, now_ms=now_ms))

    def promote(self, *, now_ms: int) -> int:
        return self._ask(lambda queue: queue.promote(now_ms=now_ms))

    def ready(self, topics: Collection[Topic], limit: int) -> dict[Topic, list[int]]:
        return self._ask(lambda queue: queue.ready(topics, limit))

    def requeue(self, topic: Topic, task_ids: Sequence[int]) -> None:
        self._ask(lambda queue: queue.requeue(topic, task_ids))

    def wait(self, seconds: float, *, before_ms: int | None = None) -> None:
        self._ask(lambda queue: queue.wait(seconds, before_ms=before_ms))

    def passes(self, name: str) -> int | None:
        return self._ask(lambda queue: queue.passes(name))

    def count_pass(self, name: str) -> None:
        self._ask(lambda queue: queue.count_pass(name))

    def acquire(self, seconds: float) -> str | None:
        return self._ask(lambda queue: queue.acquire(seconds))

    def release(self, token: str) -> bool:
        return self._ask(lambda queue: queue.release(token))

    def ping(self) -> None:
        self.preferred.ping()

    def server_info(self) -> dict[str, str]:
        return self.preferred.server_info()

    def close(self) -> None:
        self.preferred.close()
        self.reserve.close()

    def _ask(self, question: Callable[[DelayQueue], Answer]) -> Answer:
        down_until = self._down_until  # read once: another thread may find Redis serving again
        if down_until is not None and time.monotonic() < down_until:
            return question(self.reserve)
        try:
            if down_until is not None:
                self.preferred.ping()  # fails sooner than a question, for which a worker may wait
            answer = question(self.preferred)
        except QueueUnavailable as error:
            if self._down_until is None:
                logger.warning("%s; tasks are taken from the database until it is back", error)
            self._down_until = time.monotonic() + conf.REDIS_RETRY_INTERVAL
            return question(self.reserve)
        if self._down_until is not None:
            logger.warning("Redis serves again")
            self._down_until = None
        return answer
