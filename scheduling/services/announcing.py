"""Telling the queue, after the commit, what changed. It may fail: then the sweep finds the tasks in SQL."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import partial

from django.db import transaction

from scheduling.conf import conf
from scheduling.exceptions import QueueUnavailable
from scheduling.models import TaskInfo
from scheduling.queues import Hint, get_queue, to_milliseconds

logger = logging.getLogger(__name__)


def announce_on_commit(tasks: Iterable[TaskInfo], *, now: datetime) -> None:
    """Once the surrounding transaction is committed, push the hints of `tasks` that fall within the window.

    `now` is by the database's clock, read in this transaction: this machine's may be wrong by any amount.
    """
    hints = [Hint.of(task) for task in tasks]
    now_ms, read_at = to_milliseconds(now), time.monotonic()
    transaction.on_commit(lambda: _push(hints, now_ms + int((time.monotonic() - read_at) * 1000)), robust=True)


def remove_hints_on_commit(tasks: Iterable[TaskInfo]) -> None:
    """Once committed, take the hints of `tasks` back, best effort: a stale hint is dropped by the row check."""
    transaction.on_commit(partial(_discard, [Hint.of(task) for task in tasks]), robust=True)


def _push(hints: Sequence[Hint], now_ms: int) -> None:
    near = [hint for hint in hints if hint.due_ms <= now_ms + conf.PRELOAD_WINDOW * 1000]
    try:
        get_queue().push(near, now_ms=now_ms)
    except QueueUnavailable as error:
        logger.warning("%s; %d tasks will be found in the database", error, len(near))


def _discard(hints: Sequence[Hint]) -> None:
    try:
        get_queue().discard(hints)
    except QueueUnavailable as error:
        logger.warning("%s; %d stale hints stay until they are due", error, len(hints))
