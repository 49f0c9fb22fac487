"""Transactions that survive what databases do to them: deadlocks and lock timeouts."""

from __future__ import annotations

import functools
import logging
import random
import time
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from django.db import OperationalError, connection, transaction

from scheduling.failures import Trouble, trouble_of

P = ParamSpec("P")
R = TypeVar("R")

logger = logging.getLogger(__name__)

_TRIES = 5
_PAUSE = 0.02  # seconds at most before the first new try; doubles with each
_PATIENCE = 8.0  # seconds after which a collision is not tried again: who waited that long for locks lets others work


def is_collision(error: BaseException) -> bool:
    """Whether the same transaction may well succeed when it is simply run again."""
    return isinstance(error, OperationalError) and trouble_of(error) is Trouble.LOCKS


def log_failure(logger: logging.Logger, text: str, error: Exception) -> None:
    """Say what failed: with the traceback, or in one line if it is trouble, which may last and is no riddle."""
    if trouble_of(error):
        logger.error("%s: %s", text, error)
    else:
        logger.error("%s", text, exc_info=error)


def retried(function: Callable[P, R]) -> Callable[P, R]:
    """Run `function` in a transaction, and for some seconds again when it collides with another one.

    Inside a caller's transaction it runs once: the database has rolled that back as a whole, so only whoever
    opened it can run it again.
    """

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        tries = 1 if connection.in_atomic_block else _TRIES
        deadline = time.monotonic() + _PATIENCE
        for number in range(1, tries + 1):
            try:
                _forget_old_causes()
                with transaction.atomic():
                    return function(*args, **kwargs)
            except OperationalError as error:
                if number == tries or time.monotonic() > deadline or not is_collision(error):
                    raise
                logger.info("a transaction collided (%s) and is run again: %s", error, function.__qualname__)
                time.sleep(random.uniform(0, _PAUSE * 2**number))  # noqa: S311 (spreads rivals, guards nothing)
        raise AssertionError("unreachable")

    return run


def _forget_old_causes() -> None:
    """Django keeps why a block was broken when the next begins, and would name it as the cause of another's error."""
    if not connection.needs_rollback:
        connection.rollback_exc = None  # type: ignore[attr-defined]
