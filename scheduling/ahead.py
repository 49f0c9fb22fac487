"""Begin a transaction shortly before its tasks are due, so that only its commit is left at that time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections

from scheduling import registry
from scheduling.clock import clock


class NotDueYet(Exception):
    """The database's clock does not show the due time yet, so the transaction must not be committed."""


def can_run_ahead(task_types: Iterable[str]) -> bool:
    """Whether tasks of these types may begin before they are due, and the database can commit them on time."""
    may = all(found.runs_ahead for found in map(registry.get, task_types) if found)
    return may and getattr(connections[DEFAULT_DB_ALIAS], "has_settable_clock", False)


@contextmanager
def ahead(until: datetime | None) -> Iterator[Callable[[datetime], None]]:
    """Let the statements of this block see `until`, milliseconds ahead, as the current time.

    The yielded function is called with the time at which to commit, once that is known: what follows sees that one, or
    the true time if it has come, and the block ends when the database's clock shows it. Raises `NotDueYet` if that is
    too far ahead. Without `until` nothing happens. This process's clock only saves a query; the database's decides.
    """
    if until is None:
        yield lambda due: None
        return
    connection: Any = connections[DEFAULT_DB_ALIAS]
    with connection.ahead():
        connection.see(until)
        yield partial(_commit_at, connection)


def _commit_at(connection: Any, due: datetime) -> None:
    if due > clock.now() or not connection.shows(due):
        connection.see(due)
