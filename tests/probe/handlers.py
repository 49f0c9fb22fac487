"""The handlers of the test tasks; `tests.probe` says what each does."""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Sequence
from functools import partial

from django.conf import settings
from django.db import OperationalError, transaction

from scheduling.database import clock, read_database_clock
from scheduling.models import TaskInfo
from scheduling.registry import handler, reconciler
from tests.probe.models import Effect

logger = logging.getLogger(__name__)


class ProbeError(Exception):
    """What `probe.fail` raises."""


@handler("probe.note")
def note(tasks: Sequence[TaskInfo]) -> None:
    """Write a row for each task."""
    at = read_database_clock()
    Effect.objects.bulk_create(
        Effect(task_id=task.task_id, task_type=task.task_type, at=at, process=os.getpid()) for task in tasks
    )


@handler("probe.slow")
def slow(tasks: Sequence[TaskInfo]) -> None:
    """Sleep for the sum of the seconds, and record the process."""
    logger.warning("probe.slow begins in process %d", os.getpid())
    time.sleep(sum((task.parameters or {})["seconds"] for task in tasks))
    note(tasks)


@handler("probe.hang", waits_for_locks=True)
def hang(tasks: Sequence[TaskInfo]) -> None:
    """Hang at the first attempt."""
    if not all(task.attempts for task in tasks):
        time.sleep(600)
    note(tasks)


@handler("probe.fail")
def fail(tasks: Sequence[TaskInfo]) -> None:
    """Write the effect and then raise, so that it is rolled back."""
    note(tasks)
    if any(_misbehaves(task) for task in tasks):
        raise ProbeError("this task refuses to work")


@handler("probe.refused")
def refused(tasks: Sequence[TaskInfo]) -> None:
    """Write the effect and then raise a full-disk error."""
    note(tasks)
    raise OperationalError(1114, "The table 'probe_effect' is full")


@handler("probe.crash_after")
def crash_after(tasks: Sequence[TaskInfo]) -> None:
    """Write the effect, and kill the worker by the first hook of a handler after the commit."""
    note(tasks)
    transaction.on_commit(partial(os.kill, os.getpid(), signal.SIGKILL))


@reconciler
def reconcile() -> int:
    """Repair nothing; fails if the settings say so."""
    if getattr(settings, "PROBE_RECONCILERS_FAIL", False):
        raise ProbeError("this reconciler refuses to work")
    return 0


@handler("probe.at_least_once", at_least_once=True)
def at_least_once(tasks: Sequence[TaskInfo]) -> None:
    """Write a row, which stands for an external effect; fail or wait if the parameters say so."""
    time.sleep(sum((task.parameters or {}).get("seconds", 0) for task in tasks))
    note(tasks)
    if any((task.parameters or {}).get("times", 0) >= task.attempts for task in tasks):
        raise ProbeError("the mail server is away")


@handler("probe.kill")
def kill(tasks: Sequence[TaskInfo]) -> None:
    """Write the effect and then kill the worker before the commit."""
    note(tasks)
    if any(_misbehaves(task) for task in tasks):
        os.kill(os.getpid(), signal.SIGKILL)


@handler("probe.broken", max_attempts=1)
def broken(tasks: Sequence[TaskInfo]) -> None:
    """Fail, unless the parameters have been corrected."""
    seconds = sum((task.parameters or {}).get("seconds", 0) for task in tasks)
    if seconds:
        logger.warning("probe.broken begins in process %d", os.getpid())
        time.sleep(seconds)
        raise BrokenError(tasks[0])
    note(tasks)


class BrokenError(ProbeError):
    """Formats when a waiting transaction has changed the row, or after some seconds."""

    def __init__(self, task: TaskInfo) -> None:
        self.unchanged = TaskInfo.objects.filter(task_id=task.task_id, version=task.version)

    def __str__(self) -> str:
        patience = time.monotonic() + 5
        while self.unchanged.exists() and time.monotonic() < patience:
            time.sleep(0.01)
        return "this task is broken"


@handler("probe.clock")
def set_clock(tasks: Sequence[TaskInfo]) -> None:
    """Set the worker's clock off until it measures again."""
    clock._ahead += sum((task.parameters or {})["seconds"] for task in tasks)
    note(tasks)


def _misbehaves(task: TaskInfo) -> bool:
    times = (task.parameters or {}).get("times")
    return times is None or max(task.attempts, 1) <= times
