"""Retry transactions after deadlocks and lock timeouts, and when their instant has passed."""

from __future__ import annotations

import functools
import logging
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import ParamSpec, TypeVar

from django.db import IntegrityError, OperationalError, connection, transaction

from scheduling.database.server_clock import read_database_clock
from scheduling.database.trouble import Trouble, is_duplicate, trouble_of

P = ParamSpec("P")
R = TypeVar("R")

logger = logging.getLogger(__name__)

_MAX_ATTEMPTS = 5
_PAUSE = 0.02  # seconds at most before the first retry; doubles with each
_RETRY_FOR = 8.0  # seconds after which a collision is not retried, so that long waiters make room

_COMMIT = timedelta(milliseconds=20)  # that it may take: until then it is not seen
_FAR = timedelta(minutes=10)  # no transaction of `retried` lasts as long


class _Ends(threading.local):
    """Before which the transaction of `retried` in this thread has to end."""

    def __init__(self) -> None:
        self.moments: list[datetime] = []


_ends = _Ends()


class Collision(OperationalError):
    """Another transaction wrote the same at the same time; the transaction may succeed when it is run again."""

    trouble = Trouble.LOCKS


def is_collision(error: BaseException) -> bool:
    """Whether the transaction may succeed when it is run again."""
    is_locked_out = isinstance(error, OperationalError) and trouble_of(error) is Trouble.LOCKS
    return is_locked_out or isinstance(error, Collision)


@contextmanager
def duplicates_collide() -> Iterator[None]:
    """Raise `Collision` where another transaction has stored a row with the same unique values."""
    try:
        yield
    except IntegrityError as error:
        if not is_duplicate(error):
            raise
        raise Collision(*error.args) from error


def log_failure(logger: logging.Logger, text: str, error: Exception) -> None:
    """Log a failure: in one line if it is known trouble, which may repeat for long, else with the traceback."""
    if trouble_of(error):
        logger.error("%s: %s", text, error)
    else:
        logger.error("%s", text, exc_info=error)


def retried(function: Callable[P, R], *, savepoint: bool = True) -> Callable[P, R]:
    """Run `function` in a transaction, and retry it for some seconds when it collides with another one.

    Also when it lasts beyond an instant that was given to `ends_before`.

    Inside a caller's transaction it runs once: the database has rolled that back as a whole, so only its owner can
    retry it. Without a `savepoint`, any error inside rolls the caller's transaction back.
    """

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        # A deadlock has rolled back the caller's statements, too: to repeat only ours would lose theirs.
        is_inside = connection.in_atomic_block
        attempts = 1 if is_inside else _MAX_ATTEMPTS
        deadline = time.monotonic() + _RETRY_FOR
        for number in range(1, attempts + 1):
            try:
                clear_old_cause()
                with transaction.atomic(savepoint=savepoint):
                    if is_inside:
                        return function(*args, **kwargs)
                    _ends.moments.clear()
                    result = function(*args, **kwargs)
                    _refuse_passed()
                return result
            except OperationalError as error:
                if number == attempts or time.monotonic() > deadline or not is_collision(error):
                    raise
                logger.info("a transaction collided (%s) and is retried: %s", error, function.__qualname__)
                # At random, or two that collided would meet again.
                time.sleep(random.uniform(0, _PAUSE * 2**number))  # noqa: S311 (spreads retries, not security)
        raise AssertionError("unreachable")

    return run


def ends_before(moment: datetime, now: datetime) -> None:
    """Run the present transaction of `retried` again if it ends later; `now` is the database's present.

    What it has read changes by the clock then. Readers would see that, until it commits what does not know of it.
    """
    if moment < now + _FAR:
        _ends.moments.append(moment)


def _refuse_passed() -> None:
    first = min(_ends.moments, default=None)
    # Not by the estimate of this process, which is as wrong as the machine's clock until it is measured.
    if first is not None and first <= read_database_clock() + _COMMIT:
        raise Collision(first)


@contextmanager
def savepoint() -> Iterator[None]:
    """A savepoint of the present transaction, to which it is rolled back if the block raises.

    It also raises if the block has caught an error of a statement that Django can only undo by a rollback.
    """
    clear_old_cause()
    with transaction.atomic():
        yield
        connection.validate_no_broken_transaction()


def clear_old_cause() -> None:
    """Django keeps the cause of a broken atomic block, and would chain it to a later error."""
    if not connection.needs_rollback:
        connection.rollback_exc = None  # type: ignore[attr-defined]
