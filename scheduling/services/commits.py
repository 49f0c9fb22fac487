"""When tasks took effect: the commit of their transaction, measured after it, the one source of all lateness figures.

A time from within the transaction would leave out what its commit costs, and be too good. The figure is at most a
round trip too large. If the worker dies before it is written, the record stays without one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial

from django.db import transaction

from scheduling import registry
from scheduling.database import log_failure, read_database_clock, retried
from scheduling.models import TaskInfo, note_lateness

logger = logging.getLogger(__name__)

Measured = Callable[[Sequence[TaskInfo], datetime], object]
"""Gets executed tasks of one type, and when their effect was committed."""


class Commit:
    """The commit of the present transaction, if tasks are executed in it.

    Made at the beginning of the transaction: hooks run in the order of their registration, and what those of handlers
    do takes time.
    """

    def __init__(self) -> None:
        self._at: datetime | None = None
        self._has_tasks = False
        # Not in `executes`: a handler's own hooks, registered before it, would run before the clock is read.
        transaction.on_commit(self._measure)

    def executes(self, tasks: Sequence[TaskInfo], measured: Measured = lambda tasks, at: None) -> None:
        """Note these tasks, of one type, as executed; to be called after their handler.

        After the commit, `measured` and the handler's `after_commit` are called, and the records completed. None of
        that happens if the commit was not measured, because the connection was lost.
        """
        if tasks:
            self._has_tasks = True
            transaction.on_commit(partial(self._finish, tasks, measured))

    def _measure(self) -> None:
        if self._has_tasks:
            _log_errors("a commit was not measured", self._read_clock)

    def _read_clock(self) -> None:
        self._at = read_database_clock()

    def _finish(self, tasks: Sequence[TaskInfo], measured: Measured) -> None:
        # The connection was lost with the commit or after it. A figure that is left out is better than one that is too
        # good.
        if self._at is None:
            return
        measured(tasks, self._at)
        _log_errors("the lateness of tasks was not recorded", partial(_complete_records, tasks, self._at))
        found = registry.get(tasks[0].task_type)
        if found and found.after_commit:
            text = f"what follows the commit of {tasks[0].task_type} failed; its tasks are done"
            _log_errors(text, partial(found.after_commit, tasks, self._at))


def _log_errors(text: str, function: Callable[[], object]) -> None:
    """The tasks are done, so an error must not look like a failure of theirs."""
    try:
        function()
    except Exception as error:
        log_failure(logger, text, error)


@retried
def _complete_records(tasks: Sequence[TaskInfo], committed_at: datetime) -> None:
    note_lateness([task.task_id for task in tasks], committed_at=committed_at)
