"""Access to the response cache's backend: failed commands are counted and never fail a request."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.core.cache import caches
from django.utils.connection import ConnectionProxy
from prometheus_client import Counter

logger = logging.getLogger(__name__)

RESPONSES = "responses"
"""The alias in `CACHES`. Nothing else is stored there, so it may be cleared."""

responses = ConnectionProxy(caches, RESPONSES)

_RETRY = 1.0  # seconds before an unreachable cache is tried again

errors = Counter("headline_cache_errors", "Response cache commands that failed", ["command"])


class CacheFailed(Exception):
    """A command of the cache failed or timed out."""


class Reachable:
    """Whether the cache is believed reachable; limits the timeouts of an unreachable one to one a second."""

    def __init__(self) -> None:
        self._again_at = float("-inf")

    def __bool__(self) -> bool:
        return time.monotonic() >= self._again_at

    def mark_unreachable(self) -> None:
        """Do not use the cache for `_RETRY` seconds."""
        self._again_at = time.monotonic() + _RETRY


reachable = Reachable()


@contextmanager
def command(name: str) -> Iterator[None]:
    """Count any exception in the block and raise it as `CacheFailed`."""
    try:
        yield
    except Exception as error:  # each backend has its own exceptions
        errors.labels(name).inc()
        logger.debug("the response cache failed to %s: %s", name, error)
        raise CacheFailed(str(error)) from error
