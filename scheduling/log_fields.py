"""Fields of log lines: the request or the tasks on which a thread works. A project's log formatter may add them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scheduling.models import TaskInfo

_NONE: Mapping[str, Any] = MappingProxyType({})
_fields: ContextVar[Mapping[str, Any]] = ContextVar("log_fields", default=_NONE)
_LONGEST = 64  # characters of a value


def log_fields() -> Mapping[str, Any]:
    """The fields of this thread's present work."""
    return _fields.get()


def set_log_fields(fields: Mapping[str, Any]) -> None:
    """From now on, this thread works on something else."""
    _fields.set(fields)


@contextmanager
def logged_with(fields: Mapping[str, Any]) -> Iterator[None]:
    """Add these fields to the lines of the block."""
    before = _fields.set({**_fields.get(), **fields})
    try:
        yield
    finally:
        _fields.reset(before)


def of_ids(name: str, values: Collection[int]) -> dict[str, Any]:
    """`{"task_id": "7"}`, or `{"task_ids": ["7", "8"]}`: text, as JSON's numbers are not that large."""
    ids = [str(value) for value in values]
    return {f"{name}_id": ids[0]} if len(ids) == 1 else {f"{name}_ids": ids}


def of_task(task: TaskInfo) -> dict[str, Any]:
    """Id and type of a task, and the ids among its parameters."""
    parameters = task.parameters if isinstance(task.parameters, dict) else {}
    ids = {
        name: str(value)[:_LONGEST]
        for name, value in parameters.items()
        if name.endswith("_id") and isinstance(value, int | str)
    }
    return {**ids, "task_id": str(task.task_id), "task_type": task.task_type}
