"""What readers see by the clock before a worker has stored it: the updates and releases of one request that are due."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True)
class Due:
    """The articles whose rows are read as if a worker had stored what is due."""

    since: Mapping[int, datetime] = field(default_factory=dict)  #: when each of them changed for readers
    terms: Mapping[int, tuple[str, str]] = field(default_factory=dict)  #: of a new text's headline, and of all of it


_due: ContextVar[Due] = ContextVar("due", default=Due())  # noqa: B039 (immutable)


def due_changes() -> Due:
    """What is read as stored at the moment."""
    return _due.get()


@contextmanager
def reading(due: Due) -> Iterator[None]:
    """Let queries that cannot tell from the rows alone know what is due."""
    token = _due.set(due)
    try:
        yield
    finally:
        _due.reset(token)
