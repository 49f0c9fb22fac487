"""The versions of tags, in the cache: a purge gives its tags new ones, and answers with old ones are void.

An answer is kept with a version of each of its tags; whoever keeps one gives a version to those that have none. A tag
without a version makes an answer void too, so a server that evicts or forgets one brings nothing back.

The key `GUARD` is renewed by every purge. While an answer's guard is the present one, nothing at all was purged since
it was made; if another guard is found after an answer was made than before, it may show the past and is not kept.

A cache that takes no purge is emptied, which a full one still allows. Where that fails as well, this process does
without the cache until the purge is made good; the purge's task does the same for all others.
"""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Collection, Iterable
from typing import Any

from articles.cache.backend import CacheFailed, command, reachable, responses
from articles.cache.ttl import LONGEST

logger = logging.getLogger(__name__)

GENERATION = "pages:guard"

_LIFETIME = 10 * LONGEST.total_seconds()

Versions = dict[str, str]
"""Tag to version, for those that have one."""


class _Owed:
    """The tags whose purge the cache has not taken yet."""

    def __init__(self) -> None:
        self._tags: set[str] = set()
        self._lock = threading.Lock()

    def pay(self, tags: Collection[str] = ()) -> bool:
        """Purge these tags and all that are owed; whether nothing is owed any longer."""
        if not tags and not self._tags:
            return True
        with self._lock:
            self._tags |= set(tags)
            if self._tags and not _write(self._tags):
                return False
            self._tags.clear()
            return True


_owed = _Owed()


def look_up(*keys: str) -> dict[str, Any]:
    """What is kept under these keys, and the guard, in one round trip; nothing at all when the cache is away."""
    if not reachable or not _owed.pay():
        return {}
    try:
        with command("get"):
            found: dict[str, Any] = responses.get_many([*keys, GENERATION])
        return found if GENERATION in found else found | _first_generation()
    except CacheFailed:
        reachable.lost()
        return {}


def _first_generation() -> dict[str, Any]:
    """The cache was emptied, or nothing was purged for a while."""
    with command("add"):
        responses.add(GENERATION, secrets.token_hex(8), timeout=_LIFETIME)
    with command("get"):
        generation = responses.get(GENERATION)
    if generation is None:
        raise CacheFailed("it forgot what it was just given")
    return {GENERATION: generation}


def versions_of(tags: Iterable[str], found: dict[str, Any]) -> Versions:
    """The versions among what was looked up under `keys_of(tags)`."""
    return {tag: found[_key(tag)] for tag in tags if _key(tag) in found}


def keys_of(tags: Iterable[str]) -> list[str]:
    """Where the versions of these tags are kept."""
    return [_key(tag) for tag in tags]


def claim_versions(tags: Iterable[str], generation: str) -> Versions | None:
    """The version of each tag, if nothing was purged since `guard` was read; None if something was.

    Those that have none get one. Who gives a tag another version meanwhile makes answers void, never valid.
    """
    tags = list(tags)
    found = look_up(*keys_of(tags))
    known = versions_of(tags, found)
    if found.get(GENERATION) != generation:
        return None
    if new := {tag: secrets.token_hex(8) for tag in tags if tag not in known}:
        with command("set"):
            responses.set_many({_key(tag): version for tag, version in new.items()}, timeout=_LIFETIME)
        if look_up().get(GENERATION) != generation:
            return None
    return known | new


def renew(tags: Collection[str]) -> bool:
    """Make void whatever carries one of these tags; whether the cache has taken it."""
    return _owed.pay(tags)


def _write(tags: Collection[str]) -> bool:
    version = secrets.token_hex(8)
    try:
        with command("purge"):
            responses.set_many(dict.fromkeys([*keys_of(tags), GENERATION], version), timeout=_LIFETIME)
    except CacheFailed as failure:
        logger.warning("the response cache took no purge and is emptied: %s", failure)
        return _empty()
    return True


def _empty() -> bool:
    try:
        with command("clear"):
            responses.clear()
    except CacheFailed as failure:
        logger.warning("the response cache cannot be emptied and is not used until it is purged: %s", failure)
        reachable.lost()
        return False
    return True


def _key(tag: str) -> str:
    return f"pages:tag:{tag}"
