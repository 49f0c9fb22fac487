"""Push hints to the queue, or discard them, after the commit. If that fails, the sweep finds the tasks in SQL."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from functools import partial

from django.db import transaction

from scheduling.conf import conf
from scheduling.exceptions import QueueUnavailable
from scheduling.models import TaskInfo
from scheduling.queues import Hint, get_queue, to_milliseconds

logger = logging.getLogger(__name__)


def push_hints_on_commit(tasks: Iterable[TaskInfo], *, now: datetime) -> None:
    """After the commit, push the hints of those `tasks` that are due within the preload window.

    `now` is the database's time, read in this transaction; this machine's clock may be wrong.
    """
    until = now + timedelta(seconds=conf.PRELOAD_WINDOW)
    hints = [Hint.of(task) for task in tasks if task.execute_time <= until]
    if not hints:
        return
    # The transaction may take long, so the database's time of the commit is that of the reading plus what has passed
    # here.
    now_ms, read_at = to_milliseconds(now), time.monotonic()
    transaction.on_commit(lambda: _push(hints, now_ms + int((time.monotonic() - read_at) * 1000)), robust=True)


def discard_hints_on_commit(tasks: Iterable[TaskInfo]) -> None:
    """After the commit, discard the hints of `tasks`, best effort: the row check drops stale hints."""
    # Robust: an error of the queue must not keep other hooks of the caller from running.
    transaction.on_commit(partial(_discard, [Hint.of(task) for task in tasks]), robust=True)


def _push(hints: Sequence[Hint], now_ms: int) -> None:
    try:
        get_queue().push(hints, now_ms=now_ms)
    except QueueUnavailable as error:
        logger.warning("%s; %d tasks will be found in the database", error, len(hints))


def _discard(hints: Sequence[Hint]) -> None:
    try:
        get_queue().discard(hints)
    except QueueUnavailable as error:
        logger.warning("%s; %d stale hints stay until they are due", error, len(hints))
