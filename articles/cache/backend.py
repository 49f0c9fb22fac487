"""The commands of the response cache: one that fails is counted, and may cost a page some time but never its truth."""

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
"""Which of the caches it is; nothing else is stored there, so that it may be emptied."""

responses = ConnectionProxy(caches, RESPONSES)

_RETRY = 1.0  # seconds before a cache that did not answer is asked again

errors = Counter("headline_cache_errors", "Commands that the response cache refused or did not answer", ["command"])


class CacheFailed(Exception):
    """The cache refused a command, or did not answer it."""


class Reachable:
    """Whether the cache answers, as far as this process knows: a dead one costs a page half a second once a second."""

    def __init__(self) -> None:
        self._again_at = float("-inf")

    def __bool__(self) -> bool:
        return time.monotonic() >= self._again_at

    def lost(self) -> None:
        """It did not answer; leave it alone for a while."""
        self._again_at = time.monotonic() + _RETRY


reachable = Reachable()


@contextmanager
def command(name: str) -> Iterator[None]:
    """Turn whatever a cache raises in the block into `CacheFailed`, and count it."""
    try:
        yield
    except Exception as error:  # each cache has errors of its own
        errors.labels(name).inc()
        logger.debug("the response cache failed to %s: %s", name, error)
        raise CacheFailed(str(error)) from error
