"""The versions of tags, in the cache: a purge gives its tags new ones, and answers with old ones are void.

A tag that was not purged lately has no version at all, so only what changes takes room. Versions outlive every answer
that could have been made before them, so that forgetting one brings nothing back.

The key `GUARD` is renewed by every purge. While an answer's guard is the present one, nothing at all was purged since
it was made; if another guard is found after an answer was made than before, it may show the past and is not kept.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Collection, Iterable
from typing import Any

from django.core.cache import cache

from articles.caching.coherence import LONGEST

GUARD = "pages:guard"

_LIFETIME = 2 * LONGEST.total_seconds()
_RETRY = 1.0  # seconds before a cache that did not answer is asked again

Versions = dict[str, str]
"""Tag to version, for those that have one."""


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


def look_up(*keys: str) -> dict[str, Any]:
    """What is kept under these keys, and the guard, in one round trip; nothing at all when the cache is away."""
    if not reachable:
        return {}
    found: dict[str, Any] = cache.get_many([*keys, GUARD])
    if GUARD not in found:
        found |= _first_guard()
    return found


def _first_guard() -> dict[str, Any]:
    """The cache was emptied, or nothing was purged for a while, or it does not answer."""
    cache.add(GUARD, secrets.token_hex(8), timeout=_LIFETIME)
    guard = cache.get(GUARD)
    if guard is None:
        reachable.lost()
        return {}
    return {GUARD: guard}


def versions_of(tags: Iterable[str], found: dict[str, Any]) -> Versions:
    """The versions among what was looked up under `keys_of(tags)`."""
    return {tag: found[_key(tag)] for tag in tags if _key(tag) in found}


def keys_of(tags: Iterable[str]) -> list[str]:
    """Where the versions of these tags are kept."""
    return [_key(tag) for tag in tags]


def renew(tags: Collection[str]) -> None:
    """Make void whatever carries one of these tags, in one round trip."""
    cache.set_many(dict.fromkeys([*keys_of(tags), GUARD], secrets.token_hex(8)), timeout=_LIFETIME)


def _key(tag: str) -> str:
    return f"pages:tag:{tag}"
