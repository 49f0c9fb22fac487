"""Which function runs which type of task.

    @handler("articles.publish", max_attempts=5)
    def publish(tasks):
        ...

A handler gets a *batch*: a non-empty list of due, locked `TaskInfo` rows of one type. It runs inside the
transaction that locks them, so what it writes to this database and the end of the tasks commit together or not
at all. It returns nothing when every task is done, or a mapping from `task_id` to a verdict for those that are
not: `Drop(reason)` closes a task that has become void, `Postpone()` leaves it pending for the next sweep.
When it raises, the batch is rolled back and its halves are run apart, until the task that raised is alone.

A task that our own tables can recreate is registered with `recoverable=True`: it is never dead, however often it
fails, but tried again after pauses of minutes at most.

A handler whose effect may wait for rows that somebody holds says so: `@handler(..., may_wait=True)`. Workers run such
tasks in a thread beside, so that no other task waits with them.

What a task does outside this database, such as sending a mail, is an *errand*: `@handler(..., errand=True)`. Its
function gets one task at a time, under a lease, in a thread of its own that keeps no other task waiting. A worker may
die between the effect and the task's end, so an errand may be run twice: the task's id is its idempotency key.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.functional import Promise

from scheduling.exceptions import ImproperHandler

if TYPE_CHECKING:
    from django.contrib.auth.base_user import AbstractBaseUser
    from django.contrib.auth.models import AnonymousUser

    from scheduling.models import TaskInfo


@dataclass(frozen=True)
class Drop:
    """The task is void: close it as cancelled, with the reason kept in its log."""

    reason: str


@dataclass(frozen=True)
class Postpone:
    """The task cannot run this instant, because its subject is locked: leave it pending, count no attempt."""


Verdict = Drop | Postpone
HandlerFunction = Callable[["Sequence[TaskInfo]"], "Mapping[int, Verdict] | None"]
Reconciler = Callable[[], int]
Namer = Callable[[Collection[str], "AbstractBaseUser | AnonymousUser"], Mapping[str, str]]
"""Keys of tasks to the names of their subjects, for those that have one and that this user may be told."""


@dataclass(frozen=True)
class Handler:
    """A registered function, how often one of its tasks may be tried (None: the setting's default), what people call
    such a task and its subjects, and whether it is never dead.
    """

    function: HandlerFunction
    max_attempts: int | None = None
    at_least_once: bool = False
    may_wait: bool = False
    label: str | Promise = ""
    namer: Namer | None = None
    recoverable: bool = False


_handlers: dict[str, Handler] = {}
_reconcilers: list[Reconciler] = []


def handler(
    task_type: str,
    *,
    max_attempts: int | None = None,
    at_least_once: bool = False,
    may_wait: bool = False,
    label: str | Promise = "",
    namer: Namer | None = None,
    recoverable: bool = False,
) -> Callable[[HandlerFunction], HandlerFunction]:
    """Register the decorated function for `task_type`. Raises `ImproperHandler` when the type is taken.

    `label` is what people call such a task, such as "Publication"; `namer` names what it is about, by its key.
    `recoverable` says that the tables of its app can recreate it, so it is never dead: after `max_attempts` it is still
    tried again.
    """
    if max_attempts is not None and max_attempts < 1:
        raise ImproperHandler(f"max_attempts of {task_type!r} is {max_attempts}; it must be at least 1")

    def register(function: HandlerFunction) -> HandlerFunction:
        taken = _handlers.get(task_type)
        if taken is not None and taken.function is not function:
            raise ImproperHandler(f"{task_type!r} already has a handler: {taken.function.__qualname__}")
        _handlers[task_type] = Handler(function, max_attempts, at_least_once, may_wait, label, namer, recoverable)
        return function

    return register


def reconciler(function: Reconciler) -> Reconciler:
    """Register a function that `refresh` calls to mend what bypassed the services; it returns how many it mended."""
    if function not in _reconcilers:
        _reconcilers.append(function)
    return function


def get(task_type: str) -> Handler | None:
    """The handler of `task_type` in this process, or None: such tasks wait for programs outside."""
    return _handlers.get(task_type)


def label_of(task_type: str) -> str:
    """What people call a task of this type: its handler's label, or the type itself."""
    found = get(task_type)
    return str(found.label) if found and found.label else task_type


def names_of(task_type: str, keys: Collection[str], *, to: AbstractBaseUser | AnonymousUser) -> Mapping[str, str]:
    """What the tasks of this type with these keys are about, as far as this user may know; the key itself otherwise."""
    found = get(task_type)
    named = found.namer(keys, to) if found and found.namer and keys else {}
    return {key: named.get(key, key) for key in keys}


def task_types() -> frozenset[str]:
    """The types that this process can run in batches."""
    return frozenset(name for name, found in _handlers.items() if not found.at_least_once)


def types_that_may_wait() -> frozenset[str]:
    """Those of them that may wait for rows that somebody holds."""
    return frozenset(name for name, found in _handlers.items() if found.may_wait)


def at_least_once_types() -> frozenset[str]:
    """The types that this process can run as errands."""
    return frozenset(name for name, found in _handlers.items() if found.at_least_once)


def is_recoverable(task_type: str) -> bool:
    """Whether tasks of this type are never dead."""
    found = get(task_type)
    return found is not None and found.recoverable


def recoverable_types() -> frozenset[str]:
    """The types whose tasks are never dead."""
    return frozenset(name for name, found in _handlers.items() if found.recoverable)


def reconcilers() -> Iterator[Reconciler]:
    """The registered healers, in the order of registration."""
    return iter(tuple(_reconcilers))
