"""Mutants of the engine, each without one safety condition: the chaos tests must fail on them.

A process is made a mutant by the setting `PROBE_MUTANT`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from scheduling import maintenance, worker
from scheduling.models import TaskInfoQuerySet
from scheduling.services import refreshing

_due = TaskInfoQuerySet.due


def without_due() -> None:
    """Run tasks that are not due by the database's clock."""
    TaskInfoQuerySet.due = lambda tasks, now: _due(tasks, now) if isinstance(now, datetime) else tasks  # type: ignore


def without_skip_locked() -> None:
    """Workers wait for rows that others hold."""
    TaskInfoQuerySet.locked = lambda tasks: tasks.order_by("task_id").select_for_update()  # type: ignore


def without_sweep() -> None:
    """Lost hints are not requeued."""

    def sweep(*arguments: Any, **options: Any) -> int:
        return 0

    for module in (maintenance, refreshing, worker):
        setattr(module, sweep.__name__, sweep)


def without_version() -> None:
    """Ignore that a task was rescheduled while it ran."""
    TaskInfoQuerySet.at_version = lambda tasks, version: tasks  # type: ignore


MUTANTS = {"due": without_due, "skip_locked": without_skip_locked, "sweep": without_sweep, "version": without_version}
