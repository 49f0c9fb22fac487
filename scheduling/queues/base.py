"""What a queue owes the engine, said once.

A queue holds *hints*: "task 42 is due at this millisecond". It may lose them or give one out twice, since the row
in SQL decides; it must never block a caller for long. All instants are epoch milliseconds by the database's clock.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from scheduling.models import TaskInfo

Topic = tuple[str, int]
"""A `(task_type, priority)`: tasks of different topics never wait for each other."""


def to_milliseconds(moment: datetime) -> int:
    """Epoch milliseconds, rounded up, so that a hint never comes before its task is due."""
    return math.ceil(moment.timestamp() * 1000)


@dataclass(frozen=True, slots=True)
class Hint:
    """Where to look and when: everything a queue knows of a task."""

    task_id: int
    topic: Topic
    due_ms: int

    @classmethod
    def of(cls, task: TaskInfo) -> Hint:
        """The hint that stands for `task`."""
        return cls(task.task_id, task.topic, to_milliseconds(task.execute_time))


@dataclass(slots=True)
class Popped:
    """Due ids by topic, most urgent topic first, and when the next hint becomes due (None: none known)."""

    ids: dict[Topic, list[int]] = field(default_factory=dict)
    next_due_ms: int | None = None

    def __bool__(self) -> bool:
        return any(self.ids.values())


@dataclass(frozen=True, slots=True)
class Pushed:
    """How many hints were new to the queue, and how many of all it holds became ready."""

    added: int = 0
    promoted: int = 0


class DelayQueue(ABC):
    """The contract of every queue; one suite of tests runs against all of them.

    Every method may raise `QueueUnavailable`, and then has done nothing or part of its work; both are harmless.
    """

    name: str

    @abstractmethod
    def push(self, hints: Sequence[Hint], *, now_ms: int) -> Pushed:
        """Take hints in, make the due ones ready, wake the workers if one is now the earliest. Additive."""

    @abstractmethod
    def discard(self, hints: Iterable[Hint]) -> None:
        """Forget hints that still wait for their time; those already ready are dropped by the row check."""

    @abstractmethod
    def pop(self, task_types: Collection[str], limit: int, *, now_ms: int) -> Popped:
        """Give out up to `limit` due hints for each topic of these types, making due ones ready first."""

    @abstractmethod
    def promote(self, *, now_ms: int) -> int:
        """Make everything due ready, in bounded steps; returns how many were moved."""

    @abstractmethod
    def ready(self, topics: Collection[Topic], limit: int) -> dict[Topic, list[int]]:
        """The first `limit` ids that each of `topics` gives out next; one whose hints are not known is left out."""

    @abstractmethod
    def requeue(self, topic: Topic, task_ids: Sequence[int]) -> None:
        """Give these ids out before all others of their topic, in their order, and wake the workers."""

    @abstractmethod
    def wait(self, seconds: float, *, before_ms: int | None = None) -> None:
        """Sleep, but return early when a hint due before `before_ms` (None: any) arrives."""

    @abstractmethod
    def passes(self, name: str) -> int | None:
        """How often all nodes have done a periodic work; None when that was forgotten, -1 where nobody counts."""

    @abstractmethod
    def count_pass(self, name: str) -> None:
        """Tell all nodes that it was done once more."""

    @abstractmethod
    def acquire(self, seconds: float) -> str | None:
        """Take the refresh lock for `seconds` at most: a token, or None while another node holds it.

        A holder that this node has seen for longer is overtaken, whatever the server's clock says.
        """

    @abstractmethod
    def release(self, token: str) -> bool:
        """Give the refresh lock back; False, and nothing done, when `token` does not hold it any more."""

    @abstractmethod
    def ping(self) -> None:
        """Return quickly if the queue answers and takes writes. Raises `QueueUnavailable`, or `QueueFull`."""

    @abstractmethod
    def server_info(self) -> dict[str, str]:
        """What the system checks want to know of the server, such as its version; empty where there is none."""

    @abstractmethod
    def close(self) -> None:
        """Give connections back."""
