"""The queue without Redis: reads the due index of `taskinfo`.

It has no wake-ups, so workers poll every `DATABASE_POLL_INTERVAL`.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Sequence

from scheduling.conf import conf
from scheduling.database import database_now
from scheduling.models import TaskInfo, topics_with_tasks
from scheduling.queues.base import DelayQueue, Hint, Popped, Pushed, Topic, to_milliseconds


class DatabaseQueue(DelayQueue):
    """Reads due tasks from SQL, skipping locked rows."""

    name = "database"

    def __init__(self) -> None:
        self._closed = threading.Event()

    def for_thread(self) -> DatabaseQueue:
        return DatabaseQueue()

    def push(self, hints: Sequence[Hint], *, now_ms: int) -> Pushed:
        return Pushed()

    def discard(self, hints: Iterable[Hint]) -> None:
        pass

    def pop(self, task_types: Collection[str], limit: int, *, now_ms: int) -> Popped:
        popped = Popped()
        topics = [row for row in topics_with_tasks() if row[0] in task_types]
        for task_type, priority, first in sorted(topics, key=lambda row: row[1]):
            first_ms = to_milliseconds(first)
            # Both are rounded to milliseconds, while SQL compares microseconds and decides.
            may_be_due = first_ms <= now_ms + 1
            ids = may_be_due and TaskInfo.objects.overdue_ids(task_type, priority, now=database_now(), limit=limit)
            if ids:
                popped.ids[task_type, priority] = ids
            elif first_ms > now_ms:
                popped.next_due_ms = min(first_ms, popped.next_due_ms or first_ms)
        return popped

    def promote(self, *, now_ms: int) -> int:
        return 0

    def ready(self, topics: Collection[Topic], limit: int) -> dict[Topic, list[int]]:
        return {}

    def requeue(self, topic: Topic, task_ids: Sequence[int]) -> None:
        pass

    def wait(self, seconds: float, *, before_ms: int | None = None) -> None:
        self._closed.wait(min(seconds, conf.DATABASE_POLL_INTERVAL))

    # Workers without Redis do not share their passes: each does its own, which is harmless.
    def passes(self, name: str) -> int | None:
        return -1

    def count_pass(self, name: str) -> int:
        return -1

    # No lock either: two refreshes at once repeat each other's work at worst.
    def acquire(self, seconds: float) -> str | None:
        return "database"

    def release(self, token: str) -> bool:
        return True

    def ping(self) -> None:
        pass

    def server_info(self) -> dict[str, str]:
        return {}

    def close(self) -> None:
        pass
