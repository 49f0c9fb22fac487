"""Suspects run alone: tasks that may have killed the worker that ran them.

A task that is well overdue, or has been tried before, is a suspect; one that only waited while this worker ran others
is none. The attempt of a suspect is committed before it runs, and from the second attempt on it runs alone; a commit
before every run would double the cost of each task.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from django.db.models import F
from django.db.models.functions import Greatest

from scheduling.conf import conf
from scheduling.database import clock, retried
from scheduling.models import TaskInfo, by_ids, records_of
from scheduling.services.circuit_breaker import Breakers
from scheduling.services.retry import max_attempts, record_failure

_STARTS_WITHIN = timedelta(seconds=1)  # after an attempt was counted; later its worker counts as dead


def quarantine_suspects(tasks: Sequence[TaskInfo], worker: str, busy_since: datetime) -> tuple[dict[int, bool], int]:
    """Count an attempt of each suspect, and record a failure of those that killed too many workers.

    Returns for each suspect whether an attempt was counted, and how many failures were recorded.

    A short lease keeps other workers from counting the same attempt, which would look like another crash. A task that
    was counted before is counted again only when it is alone, immediately before it runs.
    """
    suspect_before = busy_since - timedelta(seconds=conf.SUSPECT_AFTER)
    suspects = [task for task in tasks if task.attempts or task.due < suspect_before]
    # Each recorded failure is in the record, too: what the row has more are crashes.
    crashes = _crashes_of([task for task in suspects if task.attempts >= max_attempts(task.task_type)])
    counted: set[int] = set()
    failed = 0
    for task in suspects:
        if count := crashes.get(task.task_id):
            times = "once" if count == 1 else f"{count} times"
            record_failure(task, f"Its worker died {times} while running it.", worker=worker)
            failed += 1
        elif not task.attempts or len(tasks) == 1:
            # Of several, only a first attempt is counted at once. A later one is counted when the task is alone:
            # otherwise the crash of another one would count for it.
            counted.add(task.task_id)
    # The transaction of this statement commits before any of them runs: a crash cannot take the count with it.
    by_ids(counted).update(attempts=F("attempts") + 1, leased_until=clock.now() + _STARTS_WITHIN)
    return {task.task_id: task.task_id in counted for task in suspects}, failed


def _crashes_of(tasks: Sequence[TaskInfo]) -> dict[int, int]:
    """How many attempts of each task were counted after the last recorded one: those were crashes."""
    ids = [task.task_id for task in tasks]
    recorded = dict(records_of(ids).values_list("task_id", "attempts"))
    return {task.task_id: task.attempts - recorded.get(task.task_id, 0) for task in tasks}


def uncount_attempts(breakers: Breakers) -> None:
    """Undo counted attempts that never ran because of trouble with the database."""
    if breakers.uncounted:
        breakers.uncounted = _uncount_unlocked(breakers.uncounted)


@retried
def _uncount_unlocked(ids: Collection[int]) -> set[int]:
    """Uncount the unlocked tasks; returns the ids that another worker has locked, for the next round."""
    free = {task.task_id for task in by_ids(ids).locked()}
    by_ids(free).update(attempts=Greatest(F("attempts"), 1) - 1)
    return set(by_ids(set(ids) - free).values_list("task_id", flat=True))
