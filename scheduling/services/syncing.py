"""Bring the pending tasks of some keys in line with rows of the caller, which say what should be pending."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from scheduling.database import duplicates_collide, read_database_clock
from scheduling.models import TaskInfo
from scheduling.services.adding import NewTask, TypeAndKey, checked_drafts, write_drafts
from scheduling.services.changing import close_cancelled


def set_tasks(
    tasks: Iterable[Mapping[str, Any]], *, keys: Mapping[str, Collection[str]], now: datetime | None = None
) -> None:
    """Have exactly `tasks` pending among `keys` (task type to keys): add, change and cancel, in one transaction.

    The caller has locked the rows that the tasks are about, and their handlers lock them, too. So a task that needs no
    change is neither locked nor written. `now` is the database's time, if it has been read in this transaction.
    Raises `InvalidTask`, and `Collision` when another process makes the same id or key, or ends one of the tasks.
    """
    drafts = checked_drafts(tasks)
    pending = _pending(keys)
    wanted = {(draft.task_type, draft.key) for draft in drafts}
    obsolete = [task for key, task in pending.items() if key not in wanted]
    differing = [draft for draft in drafts if _differs(draft, pending)]
    # The usual case: most saves change no time, and cost this one SELECT.
    if not obsolete and not differing:
        return
    moment = now or read_database_clock()
    with transaction.atomic(savepoint=False):
        if obsolete:
            close_cancelled(obsolete, now=moment)
        with duplicates_collide():
            write_drafts(differing, pending, now=moment)


def _pending(keys: Mapping[str, Collection[str]]) -> dict[TypeAndKey, TaskInfo]:
    every = {key for some in keys.values() for key in some}
    rows = TaskInfo.objects.filter(task_type__in=keys, key__in=every) if every else ()
    return {(task.task_type, task.key): task for task in rows if task.key in keys[task.task_type]}


def _differs(draft: NewTask, pending: Mapping[TypeAndKey, TaskInfo]) -> bool:
    task = pending.get((draft.task_type, draft.key))
    return task is None or draft.differs_from(task)
