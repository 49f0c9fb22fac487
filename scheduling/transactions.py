"""Transactions that survive what databases do to them: deadlocks, lock timeouts, lost connections."""

from __future__ import annotations

import functools
import logging
import random
import time
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from django.db import InterfaceError, OperationalError, connection, transaction

P = ParamSpec("P")
R = TypeVar("R")

logger = logging.getLogger(__name__)

_TRIES = 5
_PAUSE = 0.02  # seconds at most before the first new try; doubles with each

#: MySQL and MariaDB: lock wait timeout, deadlock, and (MariaDB) record changed since the snapshot.
_COLLISIONS = {1205, 1213, 1020}
#: Server shutting down, too many connections, aborted, killed, unreachable, gone away, lost, read-only.
_LOST = {1040, 1053, 1152, 1158, 1159, 1160, 1161, 1290, 1836, 1927, 2002, 2003, 2006, 2013, 2055, 4031}


def is_collision(error: BaseException) -> bool:
    """Whether the same transaction may well succeed when it is simply run again."""
    return isinstance(error, OperationalError) and (_code(error) in _COLLISIONS or "locked" in str(error))


def is_database_trouble(error: BaseException) -> bool:
    """Whether the database is to blame rather than the work: nobody's attempt is counted then."""
    return (
        isinstance(error, InterfaceError)
        or is_collision(error)
        or (isinstance(error, OperationalError) and _code(error) in _LOST)
    )


def log_failure(logger: logging.Logger, text: str, error: Exception) -> None:
    """Say what failed: with the traceback, or in one line if the database is away, which may last and is no riddle."""
    if is_database_trouble(error):
        logger.error("%s: %s", text, error)
    else:
        logger.error("%s", text, exc_info=error)


def retried(function: Callable[P, R]) -> Callable[P, R]:
    """Run `function` in a transaction, and again when it collides with another one.

    Inside a caller's transaction it runs once: the database has rolled that back as a whole, so only whoever
    opened it can run it again.
    """

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        tries = 1 if connection.in_atomic_block else _TRIES
        for number in range(1, tries + 1):
            try:
                with transaction.atomic():
                    return function(*args, **kwargs)
            except OperationalError as error:
                if number == tries or not is_collision(error):
                    raise
                logger.info("a transaction collided (%s) and is run again: %s", error, function.__qualname__)
                time.sleep(random.uniform(0, _PAUSE * 2**number))  # noqa: S311 (spreads rivals, guards nothing)
        raise AssertionError("unreachable")

    return run


def _code(error: BaseException) -> object:
    return error.args[0] if error.args else None
