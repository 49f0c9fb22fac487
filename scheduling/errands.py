"""Tasks whose effect lies outside this database, such as mails: one at a time, in a thread beside the worker's.

A slow mail server thus never delays an article. The claim is committed before the errand is run; who dies on the way
loses the lease, and the errand is run again.
"""

from __future__ import annotations

import logging
import threading
import time
import traceback
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from django.db import connections

from scheduling import registry
from scheduling.clock import database_now
from scheduling.conf import conf
from scheduling.exceptions import LeaseLost
from scheduling.failures import trouble_of
from scheduling.models import TaskInfo, topics_with_tasks
from scheduling.services.leasing import complete_task, fail_task, poll, postpone_task, renew_lease
from scheduling.transactions import log_failure

logger = logging.getLogger(__name__)


class Errands:
    """Runs due errands of some types while the `with` block lasts; looks for new ones every `MAX_SLEEP`."""

    def __init__(self, task_types: Collection[str]) -> None:
        self.task_types = sorted(task_types)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="errands", daemon=True)

    def __enter__(self) -> Self:
        if self.task_types:
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._ended.set()
        if self.task_types:
            self._thread.join()

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                busy = self.step()
            except Exception as error:
                busy = False
                log_failure(logger, "errands failed; they are tried again", error)
                connections.close_all()
            if not busy:
                self._ended.wait(conf.MAX_SLEEP)
        connections.close_all()

    def step(self) -> bool:
        """Run one errand of each topic; True if there was one, so that there may be more."""
        now = database_now()
        if not TaskInfo.objects.filter(task_type__in=self.task_types).due(now).free(now).exists():
            return False  # looking is cheaper than claiming
        found = False
        for task_type, priority, _ in topics_with_tasks():
            for task in poll(task_type, priority) if task_type in self.task_types else ():
                run_errand(task)  # before the next is claimed: a lease runs from the moment it is given
                found = True
        return found


def run_errands(task_types: Collection[str]) -> None:
    """Run the errands that are due now, until there are none."""
    errands = Errands(task_types)
    while errands.step():
        pass


@contextmanager
def _keeping_the_lease(task: TaskInfo) -> Iterator[None]:
    """Nobody else takes an errand up while it is run here; a worker that dies, or hangs for `MAX_LEASE`, lets it go."""
    done = threading.Event()
    renewal = threading.Thread(target=_renew, args=[task, done], name="lease", daemon=True)
    renewal.start()
    try:
        yield
    finally:
        done.set()
        renewal.join()


def _renew(task: TaskInfo, done: threading.Event) -> None:
    ends = time.monotonic() + conf.MAX_LEASE
    while not done.wait(conf.LEASE / 3) and time.monotonic() < ends:
        try:
            renew_lease(task)
        except Exception as error:
            log_failure(logger, f"the lease of {task} was not renewed; it is tried again", error)
            connections.close_all()
    connections.close_all()


def run_errand(task: TaskInfo) -> None:
    """Run one leased errand, and report how it went."""
    found = registry.get(task.task_type)
    assert found is not None  # noqa: S101 (its type came from the registry)
    error, trouble = "", None
    try:
        with _keeping_the_lease(task):
            found.function([task])
    except Exception as failure:
        error, trouble = traceback.format_exc(), trouble_of(failure)
    try:
        if trouble:
            logger.error("%s is tried again in %.1f s. %s (%s)", task, conf.TROUBLE_PAUSE, trouble.label, _last(error))
            if trouble.ends_connection:
                connections.close_all()
            postpone_task(task.task_id, lease_token=task.lease_token, seconds=conf.TROUBLE_PAUSE)
        elif error:
            fail_task(task.task_id, lease_token=task.lease_token, error=error)
        else:
            complete_task(task.task_id, lease_token=task.lease_token)
    except LeaseLost:
        logger.warning("%s took longer than its lease; it may be run again", task)


def _last(error: str) -> str:
    return error.strip().rpartition("\n")[2]
