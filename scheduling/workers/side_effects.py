"""At-least-once tasks, whose effect is outside this database, such as mails: each runs in a thread of its own.

So a slow mail server delays no article, and a thousand mails delay no CDN purge. The lease is committed before the task
runs; if its worker dies, the lease expires and the task runs again.
"""

from __future__ import annotations

import logging
import threading
import time
import traceback
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from django.db import Error, connections
from django.db.models import F

from scheduling import registry
from scheduling.conf import conf
from scheduling.database import database_now, trouble_of
from scheduling.exceptions import LeaseLost
from scheduling.incidents import incidents
from scheduling.log_fields import logged_with, of_task
from scheduling.models import TaskInfo, by_ids, topics_with_tasks
from scheduling.registry import Fail, Postpone
from scheduling.services.leasing import complete_task, fail_task, poll, postpone_task, renew_lease

logger = logging.getLogger(__name__)


class SideEffects:
    """Runs due tasks of some types in threads while the `with` block lasts; looks for new ones every `MAX_SLEEP`.

    Each type has its own `SIDE_EFFECT_THREADS`, so that no type waits for another. Tasks that still run at the end of
    the block get half of `STOP_TIMEOUT`; then their lease is released for other workers.
    """

    def __init__(self, task_types: Collection[str]) -> None:
        self.task_types = sorted(task_types)
        self._running: dict[int, tuple[TaskInfo, threading.Thread]] = {}
        self._ended = threading.Event()
        self._changed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="side-effects", daemon=True)

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
        # Half of the time that the process has, so that the releases below are still written.
        deadline = time.monotonic() + conf.STOP_TIMEOUT / 2
        self._ended.set()
        self._changed.set()
        if self.task_types:
            self._thread.join(conf.STOP_TIMEOUT / 2)
        for task, thread in list(self._running.values()):
            # A mail that is being sent cannot be interrupted; what does not end in time may be sent twice, with the
            # same key.
            thread.join(max(0.0, deadline - time.monotonic()))
            if thread.is_alive():
                _release_lease(task)

    def _run(self) -> None:
        while not self._ended.is_set():
            self._changed.clear()
            try:
                with incidents.watch(logger, "leasing", "leasing side effects failed and is retried"):
                    self._start_due()
            except Exception:  # it is logged
                connections.close_all()
            self._changed.wait(conf.MAX_SLEEP)
        connections.close_all()

    def _start_due(self) -> None:
        free = dict.fromkeys(self.task_types, conf.SIDE_EFFECT_THREADS)
        for task, _ in list(self._running.values()):
            free[task.task_type] -= 1
        for task in _lease(free):
            thread = threading.Thread(target=self._work, args=[task], name=task.task_type, daemon=True)
            # Noted before it starts, since it may end before `start` returns.
            self._running[task.task_id] = task, thread
            try:
                thread.start()
            except RuntimeError:  # the machine allows no more threads
                del self._running[task.task_id]
                _release_lease(task)
                raise

    def _work(self, task: TaskInfo) -> None:
        try:
            run_side_effect(task)
        except Exception as error:
            text = f"the end of {task} was not recorded; it will run again"
            incidents.failed(logger, task.task_type, text, error)
        finally:
            connections.close_all()
            self._forget(task)
            self._changed.set()

    def _forget(self, task: TaskInfo) -> None:
        """Remove the task, unless another thread of this process has leased it since."""
        _, thread = self._running.get(task.task_id, (None, None))
        if thread is threading.current_thread():
            del self._running[task.task_id]


def _lease(free: Mapping[str, int]) -> Iterator[TaskInfo]:
    """Lease due tasks one by one, at most `free` of each type; start each before the next is leased."""
    left = {task_type: count for task_type, count in free.items() if count > 0}
    now = database_now()
    if not TaskInfo.objects.filter(task_type__in=left).due(now).free(now).exists():
        # A query without locks is cheaper than a claim in vain.
        return
    for task_type, priority, _ in topics_with_tasks():
        while left.get(task_type, 0) and (tasks := poll(task_type, priority, lease=_lease_of(task_type))):
            left[task_type] -= 1
            yield from tasks


def _lease_of(task_type: str) -> float:
    """The seconds after which a task of this type runs again if its worker has died."""
    found = registry.get(task_type)
    return (found.lease if found else None) or conf.LEASE


def run_side_effects(task_types: Collection[str]) -> None:
    """Run the due tasks of these types one after the other, until there are none."""
    while task := next(_lease(dict.fromkeys(task_types, 1)), None):
        run_side_effect(task)


def _release_lease(task: TaskInfo) -> None:
    """Release the lease at once, so that other workers can run the task."""
    try:
        held = by_ids([task.task_id]).filter(lease_token=task.lease_token)
        # The attempt was interrupted by us and is no failure of the task.
        held.update(leased_until=None, lease_token="", attempts=F("attempts") - 1)
    except Error as error:
        incidents.failed(logger, task.task_type, f"{task} is released when its lease expires", error)


@contextmanager
def _renewing_lease(task: TaskInfo) -> Iterator[None]:
    """Renew the lease while the task runs; it expires if the worker dies, or hangs for `MAX_LEASE`."""
    done = threading.Event()
    renewal = threading.Thread(target=_renew, args=[task, done], name="lease", daemon=True)
    renewal.start()
    try:
        yield
    finally:
        done.set()
        renewal.join()


def _renew(task: TaskInfo, done: threading.Event) -> None:
    ends, lease = time.monotonic() + conf.MAX_LEASE, _lease_of(task.task_type)
    # Two renewals may fail before the lease ends; beyond `MAX_LEASE` the effect hangs, and another worker shall try.
    while not done.wait(lease / 3) and time.monotonic() < ends:
        try:
            renew_lease(task, lease)
        except Exception as error:
            text = f"the lease of {task} was not renewed; the renewal is retried"
            incidents.failed(logger, task.task_type, text, error)
            connections.close_all()
    connections.close_all()


def run_side_effect(task: TaskInfo) -> None:
    """Run one leased task and record the result."""
    with logged_with(of_task(task)):
        _run(task)


def _run(task: TaskInfo) -> None:
    found = registry.get(task.task_type)
    assert found is not None  # noqa: S101 (its type came from the registry)
    error, trouble, verdict = "", None, None
    try:
        with _renewing_lease(task):
            verdicts = found.run([task])
            verdict = verdicts.get(task.task_id) if isinstance(verdicts, Mapping) else None
            error = verdict.error if isinstance(verdict, Fail) else ""
    except Exception as failure:
        error, trouble = traceback.format_exc(), trouble_of(failure)
        _log_trouble(task, failure)
    else:
        incidents.succeeded(task.task_type)
    try:
        if trouble:
            if trouble.ends_connection:
                connections.close_all()
            postpone_task(task.task_id, lease_token=task.lease_token, seconds=conf.TROUBLE_PAUSE)
        elif isinstance(verdict, Postpone):
            postpone_task(task.task_id, lease_token=task.lease_token, seconds=conf.MAX_SLEEP)
        elif error:
            fail_task(task.task_id, lease_token=task.lease_token, error=error)
        else:
            complete_task(task.task_id, lease_token=task.lease_token)
    except LeaseLost:
        logger.warning("%s took longer than its lease; it may be run again", task)


def _log_trouble(task: TaskInfo, error: Exception) -> None:
    if trouble := trouble_of(error):
        text = f"{task} is retried in {conf.TROUBLE_PAUSE:.1f} s. {trouble.label}"
        incidents.failed(logger, task.task_type, text, error)
