"""A queue that falls back to the database while Redis is unavailable, or slower than the database."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TypeVar

from scheduling.conf import conf
from scheduling.exceptions import QueueUnavailable
from scheduling.incidents import incidents
from scheduling.queues.base import DelayQueue, Hint, Popped, Pushed, Topic
from scheduling.round_trips import SLOW, RoundTrips

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

_SLOW_ONES = 3  # slow operations in a row after which a round trip is measured


class Availability:
    """Whether Redis is used, for all threads of a process: a full one answers some and refuses the hints of others."""

    def __init__(self) -> None:
        self.down_until: float | None = None  #: monotonic time of the next attempt; None while Redis is used
        self.round_trips = RoundTrips(_SLOW_ONES)
        self._lock = threading.Lock()

    def failed(self, error: QueueUnavailable) -> None:
        """Use the database until the next attempt."""
        with self._lock:
            text = f"{error}; tasks are taken from the database until it is back"
            incidents.failed(logger, "Redis", text, key="Redis", level=logging.WARNING)
            self.down_until = time.monotonic() + conf.REDIS_RETRY_INTERVAL

    def succeeded(self, down_until: float) -> None:
        """Use Redis again, unless another thread has failed since `down_until` was read."""
        with self._lock:
            if self.down_until == down_until:
                incidents.succeeded("Redis")
                self.down_until = None


class FallbackQueue(DelayQueue):
    """Uses `primary`; after a failure uses `fallback` for `REDIS_RETRY_INTERVAL`, then tries `primary` again.

    So an unreachable Redis costs one short timeout per interval, and callers see no error. One that has become slow is
    one that fails, since an operation makes several round trips and the database needs none of them.
    """

    def __init__(self, primary: DelayQueue, fallback: DelayQueue, availability: Availability | None = None) -> None:
        self.primary = primary
        self.fallback = fallback
        self.availability = availability or Availability()

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of the queue in use."""
        return self.primary.name if self.availability.down_until is None else self.fallback.name

    def for_thread(self) -> FallbackQueue:
        return FallbackQueue(self.primary.for_thread(), self.fallback.for_thread(), self.availability)

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
        self._call(lambda queue: queue.wait(seconds, before_ms=before_ms), waits=True)

    def passes(self, name: str) -> int | None:
        return self._call(lambda queue: queue.passes(name))

    def count_pass(self, name: str) -> int:
        return self._call(lambda queue: queue.count_pass(name))

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
        self.availability.down_until = None

    def _call(self, operation: Callable[[DelayQueue], Result], *, waits: bool = False) -> Result:
        # Read once: another thread may change it.
        down_until = self.availability.down_until
        if down_until is not None and time.monotonic() < down_until:
            return operation(self.fallback)
        try:
            if down_until is not None:
                # A probe fails sooner than an operation, which may block for `POP_TIMEOUT`.
                self._probe()
            begun = time.monotonic()
            result = operation(self.primary)
            if not waits:
                self.availability.round_trips.add(time.monotonic() - begun)
        except QueueUnavailable as error:
            self.availability.failed(error)
            return operation(self.fallback)
        if down_until is not None:
            # Only the call that found it back ends the outage: others may have failed since, with another time.
            self.availability.succeeded(down_until)
        elif not waits:
            self._leave_if_slow()
        return result

    def _leave_if_slow(self) -> None:
        """Fall back from a slow server. An operation is more than a round trip, so one is measured before."""
        if not self.availability.round_trips.are_slow:
            return
        try:
            self._probe()
        except QueueUnavailable as error:
            self.availability.failed(error)

    def _probe(self) -> None:
        """Raise `QueueUnavailable` if the server does not answer, or slowly. The first call may have to connect."""
        quickest = min(_seconds(self.primary.ping) for _attempt in range(2))
        if quickest > SLOW:
            raise QueueUnavailable(f"Redis is slow: it takes {quickest * 1000:.0f} ms to answer")
        self.availability.round_trips = RoundTrips(_SLOW_ONES)


def _seconds(call: Callable[[], None]) -> float:
    begun = time.monotonic()
    call()
    return time.monotonic() - begun
