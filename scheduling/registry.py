"""Registry of task handlers and reconcilers.

    @handler("articles.publish", max_attempts=5)
    def publish(tasks):
        ...

A handler gets a *batch*: a non-empty list of due, locked `TaskInfo` rows of one type. It runs in the transaction that
locks them, so that its writes to this database and the end of the tasks commit together (*transactional tasks*). It
returns None when every task is done, or a mapping from `task_id` to a verdict for those that are not: `Drop(reason)`
closes a task that is no longer valid, `Postpone()` leaves it pending for the next sweep, `Fail(error)` counts a failed
attempt of a task for which nothing was written, such as one with invalid parameters. When it raises, the batch is
rolled back, and it is called for smaller and smaller parts, until each task that raises is alone. That costs the
others more than `Fail`.

`recoverable=True` is for tasks that a reconciler can recreate: they are never dead, but retried with pauses of minutes.

`waits_for_locks=True` is for handlers that may wait for row locks: workers run them in a separate thread, so that no
other task waits.

`after_commit` is called with the tasks of a batch that were executed (neither dropped nor postponed) and the time of
their commit, measured by the database's clock right after it: once, outside any transaction, and before the next batch,
so it should be quick. It logs the tasks, so that the worker's own line about them is of level DEBUG. An error in it is
logged; the tasks are done. It is not called if the worker dies, or loses the database, between the commit and this
call.

`prepare` is called without arguments in each thread that is going to run the handler, before the first task is due: it
may compile the statements of the handler.

`at_least_once=True` is for effects outside this database, such as sending a mail: the function gets one task at a time,
under a lease, in a thread of its own. A worker may die between the effect and the task's end, so the task may run
twice: its id is the idempotency key. It runs again when the lease of the dead worker has expired, after `lease` seconds
(default: `SCHEDULING_LEASE`); a short one is for urgent effects that may be repeated. `Postpone()` lets it run again a
second later. If it returns a generator or coroutine that has not run to its end, the task fails; anything else is
ignored.
"""

from __future__ import annotations

import inspect
import threading
import time
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import TYPE_CHECKING

from django.utils.functional import Promise

from scheduling.exceptions import ImproperHandler

if TYPE_CHECKING:
    from django.contrib.auth.base_user import AbstractBaseUser
    from django.contrib.auth.models import AnonymousUser

    from scheduling.models import TaskInfo


@dataclass(frozen=True)
class Drop:
    """The task is no longer valid: close it as cancelled, with the reason in its record."""

    reason: str


@dataclass(frozen=True)
class Postpone:
    """The task cannot run now, because its subject is locked: leave it pending, count no attempt."""


@dataclass(frozen=True)
class Fail:
    """The task failed by its own fault: its attempt counts, and it is retried with backoff or dead."""

    error: str

    @classmethod
    def by(cls, error: BaseException) -> Fail:
        """The verdict for a task whose handler raised this, with the traceback for its record."""
        return cls("".join(traceback.format_exception(error)))


Verdict = Drop | Postpone | Fail
HandlerFunction = Callable[["Sequence[TaskInfo]"], "Mapping[int, Verdict] | None"]
AfterCommit = Callable[["Sequence[TaskInfo]", datetime], object]
Reconciler = Callable[[], int]
Companion = Callable[["Ending"], object]
Namer = Callable[[Collection[str], "AbstractBaseUser | AnonymousUser"], Mapping[str, str]]
"""Maps task keys to the names of their subjects, for those that this user may see."""


@dataclass(frozen=True)
class Handler:
    """A registered function and its options, see `handler`; None means the setting's default."""

    function: HandlerFunction
    max_attempts: int | None = None
    at_least_once: bool = False
    waits_for_locks: bool = False
    label: str | Promise = ""
    namer: Namer | None = None
    recoverable: bool = False
    lease: float | None = None
    prepare: Callable[[], object] | None = None
    after_commit: AfterCommit | None = None

    def run(self, tasks: Sequence[TaskInfo]) -> Mapping[int, Verdict] | None:
        """Call the function; raises `ImproperHandler` if it returns a generator or coroutine that has not ended."""
        verdicts = self.function(tasks)
        frame = _FRAMES.get(type(verdicts))
        if frame and getattr(verdicts, frame) is not None:
            name = type(verdicts).__name__
            raise ImproperHandler(f"{self.function} has not run to its end: it returned a {name}")
        return verdicts


#: The attribute that is None after the end of what a lazy function returns.
_FRAMES = {GeneratorType: "gi_frame", CoroutineType: "cr_frame", AsyncGeneratorType: "ag_frame"}
_LAZY = (inspect.isgeneratorfunction, inspect.iscoroutinefunction, inspect.isasyncgenfunction)

_handlers: dict[str, Handler] = {}
_reconcilers: list[Reconciler] = []
_companions: list[Companion] = []


def handler(
    task_type: str,
    *,
    max_attempts: int | None = None,
    at_least_once: bool = False,
    waits_for_locks: bool = False,
    label: str | Promise = "",
    namer: Namer | None = None,
    recoverable: bool = False,
    lease: float | None = None,
    prepare: Callable[[], object] | None = None,
    after_commit: AfterCommit | None = None,
) -> Callable[[HandlerFunction], HandlerFunction]:
    """Register the decorated function for `task_type`.

    Raises `ImproperHandler` when the type is taken, or if a call would not run the function: a generator, a coroutine.

    `label` is the displayed name of the type, such as "Publication"; `namer` names the subjects of tasks by their keys.
    A `recoverable` task is still retried after `max_attempts`. The module's docstring explains the other options.
    """
    if max_attempts is not None and max_attempts < 1:
        raise ImproperHandler(f"max_attempts of {task_type!r} is {max_attempts}; it must be at least 1")

    def register(function: HandlerFunction) -> HandlerFunction:
        if any(is_lazy(function) for is_lazy in _LAZY):
            raise ImproperHandler(f"the handler of {task_type!r} is no plain function; use neither yield nor async")
        taken = _handlers.get(task_type)
        if taken is not None and taken.function is not function:
            raise ImproperHandler(f"{task_type!r} already has a handler: {taken.function.__qualname__}")
        _handlers[task_type] = Handler(
            function,
            max_attempts,
            at_least_once,
            waits_for_locks,
            label,
            namer,
            recoverable,
            lease,
            prepare,
            after_commit,
        )
        return function

    return register


def reconciler(function: Reconciler) -> Reconciler:
    """Register a function that `refresh` calls to compare stored rows with tasks; it returns how many it repaired."""
    if function not in _reconcilers:
        _reconcilers.append(function)
    return function


def get(task_type: str) -> Handler | None:
    """The handler of `task_type` in this process, or None: such tasks are for external programs."""
    return _handlers.get(task_type)


def label_of(task_type: str) -> str:
    """The displayed name of a task type: its handler's label, or the type itself."""
    found = get(task_type)
    return str(found.label) if found and found.label else task_type


def names_of(task_type: str, keys: Collection[str], *, user: AbstractBaseUser | AnonymousUser) -> Mapping[str, str]:
    """Names of the subjects of tasks with these keys; the key itself where this user may not see the name."""
    found = get(task_type)
    named = found.namer(keys, user) if found and found.namer and keys else {}
    return {key: named.get(key, key) for key in keys}


def task_types() -> frozenset[str]:
    """The transactional types, which this process runs in batches."""
    return frozenset(name for name, found in _handlers.items() if not found.at_least_once)


def types_that_wait_for_locks() -> frozenset[str]:
    """The types that may wait for row locks."""
    return frozenset(name for name, found in _handlers.items() if found.waits_for_locks)


def at_least_once_types() -> frozenset[str]:
    """The at-least-once types of this process."""
    return frozenset(name for name, found in _handlers.items() if found.at_least_once)


def is_recoverable(task_type: str) -> bool:
    """Whether tasks of this type are never dead."""
    found = get(task_type)
    return found is not None and found.recoverable


def recoverable_types() -> frozenset[str]:
    """The types whose tasks are never dead."""
    return frozenset(name for name, found in _handlers.items() if found.recoverable)


def reconcilers() -> Iterator[Reconciler]:
    """The registered reconcilers, in the order of registration."""
    return iter(tuple(_reconcilers))


class Ending(threading.Event):
    """Is set when a worker ends, and says whether it is busy with tasks."""

    def __init__(self, is_busy: Callable[[], bool] = lambda: False) -> None:
        super().__init__()
        self._is_busy = is_busy

    def is_busy(self) -> bool:
        """Whether the worker runs tasks, also between two batches of a burst."""
        return self._is_busy()

    def make_room(self) -> None:
        """Wait while the worker runs tasks, but not long: it may do so all the time."""
        until = time.monotonic() + _WAITS
        while self._is_busy() and time.monotonic() < until and not self.wait(_GLANCE):
            pass


_WAITS = 3.0  # seconds for which a companion makes room for tasks
_GLANCE = 0.02  # seconds between two looks whether it is busy: each takes the interpreter from its tasks


def companion(function: Companion) -> Companion:
    """Register a function that each worker runs in a thread of its own, until the event that it gets is set.

    For work that is no task, such as sending what other systems follow. It takes care of its own errors, and calls
    `make_room` between parts that take the processor for some milliseconds: the first part of a burst goes at once.
    """
    if function not in _companions:
        _companions.append(function)
    return function


def companions() -> Iterator[Companion]:
    """The registered companions."""
    return iter(tuple(_companions))
