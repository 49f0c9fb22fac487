"""The interface of delay queues.

A queue holds *hints*: "task 42 is due at this millisecond". It may lose hints or return one twice, since the row in SQL
decides; it must never block a caller for long. All times are epoch milliseconds of the database's clock.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from scheduling.models import TaskInfo

Topic = tuple[str, int]
"""A `(task_type, priority)`: tasks of different topics never wait for each other."""


def to_milliseconds(moment: datetime) -> int:
    """Epoch milliseconds, rounded up, so that a hint is never ready before its task is due."""
    return math.ceil(moment.timestamp() * 1000)


class Hint(NamedTuple):
    """What a queue stores of a task: its id, topic and due time."""

    task_id: int
    topic: Topic
    due_ms: int

    @classmethod
    def of(cls, task: TaskInfo) -> Hint:
        """The hint of `task`."""
        return cls(task.task_id, task.topic, to_milliseconds(task.execute_time))


@dataclass(slots=True)
class Popped:
    """Due ids by topic, most urgent topic first, and when the next hint becomes due (None: none known)."""

    ids: dict[Topic, list[int]] = field(default_factory=dict)
    next_due_ms: int | None = None

    def __len__(self) -> int:
        return sum(map(len, self.ids.values()))


@dataclass(frozen=True, slots=True)
class Pushed:
    """How many hints were new to the queue, and how many hints in it became ready."""

    added: int = 0
    promoted: int = 0


class DelayQueue(ABC):
    """The contract of every queue; one test suite runs against all of them.

    Every method may raise `QueueUnavailable`, and may then have done part of its work, which is harmless.
    """

    name: str

    @abstractmethod
    def for_thread(self) -> DelayQueue:
        """A queue with connections of its own, for another thread that waits; both fall back together."""

    @abstractmethod
    def push(self, hints: Sequence[Hint], *, now_ms: int) -> Pushed:
        """Add hints, promote the due ones, and wake the workers if one is now the earliest. Additive."""

    @abstractmethod
    def discard(self, hints: Iterable[Hint]) -> None:
        """Remove hints that are not due yet; the row check drops those that are ready."""

    @abstractmethod
    def pop(self, task_types: Collection[str], limit: int, *, now_ms: int) -> Popped:
        """Remove and return up to `limit` due hints of each topic of these types; promotes first."""

    @abstractmethod
    def promote(self, *, now_ms: int) -> int:
        """Make all due hints ready, in bounded steps; returns their number."""

    @abstractmethod
    def ready(self, topics: Collection[Topic], limit: int) -> dict[Topic, list[int]]:
        """The next `limit` ready ids of each of `topics`; topics whose hints cannot be read are left out."""

    @abstractmethod
    def requeue(self, topic: Topic, task_ids: Sequence[int]) -> None:
        """Put these ids at the front of their topic's ready list, in their order, and wake the workers."""

    @abstractmethod
    def wait(self, seconds: float, *, before_ms: int | None = None) -> None:
        """Sleep; return early when a hint due before `before_ms` (None: any) arrives."""

    @abstractmethod
    def passes(self, name: str) -> int | None:
        """How often all nodes together did a periodic work; None if the count was lost, -1 if the queue has none."""

    @abstractmethod
    def count_pass(self, name: str) -> int:
        """Count one more pass, for all nodes; returns what `passes` returns then."""

    @abstractmethod
    def acquire(self, seconds: float) -> str | None:
        """Take the refresh lock for `seconds` at most: a token, or None while another node holds it.

        A lock that this node has seen for longer is taken over, independent of the server's clock.
        """

    @abstractmethod
    def release(self, token: str) -> bool:
        """Release the refresh lock; False if `token` does not hold it any more."""

    @abstractmethod
    def ping(self) -> None:
        """Return quickly if the queue answers and takes writes. Raises `QueueUnavailable`, or `QueueFull`."""

    @abstractmethod
    def server_info(self) -> dict[str, str]:
        """Information about the server for the system checks, such as its version; empty without a server."""

    @abstractmethod
    def close(self) -> None:
        """Close the connections, and forget what was found out over them."""
