"""Tag versions for response-cache invalidation.

A purge gives its tags new versions. A cached response is stored with the version of each of its tags and is valid only
while all of them are unchanged; a tag without a version (evicted or lost) invalidates it too.

Every purge also changes the key `GENERATION`. If a response's generation is the current one, nothing was purged since
it was built, and its tags need not be checked. If the generation changed while a response was built, the response may
be outdated and is not stored.

Generations begin with the time. If a cache has an older one than before, it is not the server that took the last
purges, or no longer has their keys, and all responses in it are invalidated.

A cache that refuses a purge is cleared, which a full one still allows. If that fails too, or it does not answer, this
process does not use the cache until the purge succeeds; the purge task does the same for the other processes. It also
purges a slow cache, for which no request waits.
"""

from __future__ import annotations

import logging
import os
import secrets
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from django.conf import settings

from articles.cache.backend import (
    CacheFailed,
    FastReader,
    command,
    got_no_answer,
    reachable,
    read_with_ttl,
    responses,
)
from articles.cache.tags import SITE
from articles.cache.ttl import MAX_TTL
from scheduling.incidents import incidents

logger = logging.getLogger(__name__)

GENERATION = "pages:guard"

EPOCH = "pages:epoch"
"""Deleted with all versions when the cache turns out to have older contents than before."""

_VERSION_TTL = 10 * MAX_TTL.total_seconds()
_EPOCH_TTL = 24 * 3600.0

_TOLERANCE = 500
"""Milliseconds: purges of several processes may be stored in another order than that of their times."""

Versions = dict[str, str]
"""Tag to version, for those that have one."""


class _FailedPurges:
    """The tags that this process has not been able to purge yet."""

    def __init__(self) -> None:
        self._tags: set[str] = set()
        self._lock = threading.Lock()

    def __bool__(self) -> bool:
        return bool(self._tags)

    def retry(self, tags: Collection[str] = (), *, takes_time: bool = False) -> bool:
        """Purge these tags and those that failed before; whether all of it succeeded.

        An unreachable cache is not tried; nor is a slow one, unless that may take time: the purge task does it.
        """
        # The usual case, without the lock: requests ask this on each read.
        if not tags and not self._tags:
            return True
        with self._lock:
            # Remembered before it is tried: if this process cannot reach the cache, it must not read from it either.
            self._tags |= set(tags)
            if not (reachable or (takes_time and reachable.is_slow)):
                return False
            if self._tags and not _write(self._tags):
                return False
            self._tags.clear()
            return True


class _Latest:
    """The time of the latest generation that this process has seen, in milliseconds since 1970."""

    def __init__(self) -> None:
        self.time = 0

    def new(self) -> str:
        """A later generation."""
        return f"{max(int(time.time() * 1000), self.time + 1)}-{secrets.token_hex(8)}"

    def note(self, generation: str | None, known: int) -> bool:
        """Whether it is not older than the latest that was `known` before it was read."""
        found = _time_of(generation)
        # This host's clock was far ahead, and everything would look older for as long.
        if not _is_plausible(known):
            self.time = known = 0
        self.time = max(self.time, found or 0)
        return found is None or found >= known - _TOLERANCE


def _time_of(generation: str | None) -> int | None:
    """None if it does not say, or is of a host whose clock is far ahead."""
    number, _dash, token = (generation or "").partition("-")
    found = int(number) if number.isdecimal() and token else None
    return found if found and _is_plausible(found) else None


def _is_plausible(milliseconds: int) -> bool:
    return milliseconds < (time.time() + MAX_TTL.total_seconds()) * 1000


class _PresentGeneration:
    """The generation, which a process reads once in `PAGE_CACHE_VALIDATION_SECONDS`."""

    def __init__(self) -> None:
        self.reader = FastReader(GENERATION)
        self.forget()

    def read(self) -> str | None:
        """The generation of at most that long ago; None if there is none."""
        known = self._known
        value, until = known[0]
        # Before the read: a purge that follows may be missing in the value.
        now = time.monotonic()
        if now >= until:
            latest = _latest.time
            value = self.reader.read()
            if not _latest.note(value, latest):
                # What reads from the cache then, invalidates it.
                value = None
            known[0] = value, now + settings.PAGE_CACHE_VALIDATION_SECONDS
        return value

    def forget(self) -> None:
        """Read it again at the next call, even if another thread is reading it now."""
        self._known: list[tuple[str | None, float]] = [(None, float("-inf"))]


_failed = _FailedPurges()
_latest = _Latest()
_generation = _PresentGeneration()
os.register_at_fork(after_in_child=_generation.reader.forget)  # parent and child must not share a connection


def present_generation() -> str | None:
    """The generation, at the lowest cost; None if the cache may not be used now or has none."""
    if not reachable or _failed:
        return None
    return _generation.read()


def read_entries(*keys: str) -> dict[str, Any]:
    """The values of these keys and the generation, in one round trip; empty when the cache is unreachable."""
    return _read(lambda: (responses.get_many([*keys, GENERATION]), None))[0]


def read_entry(key: str, *keys: str) -> tuple[dict[str, Any], float | None]:
    """The same, and when `key` expires, by `time.monotonic()`; None if the backend does not say that."""
    read_at = time.monotonic()
    found, ttl = _read(lambda: read_with_ttl([key, *keys, GENERATION]))
    return found, None if ttl is None else read_at + ttl


def _read(read: Callable[[], tuple[dict[str, Any], float | None]]) -> tuple[dict[str, Any], float | None]:
    if not reachable or not _failed.retry():
        return {}, None
    try:
        latest = _latest.time
        with command("get"):
            found, ttl = read()
        if not _latest.note(found.get(GENERATION), latest):
            logger.warning("the response cache is older than it was; all responses are invalidated")
            with command("delete"):
                responses.delete(EPOCH)
            # The keys agree with each other, so no comparison of versions shows that they are those from before a
            # failover.
            invalidate([SITE])
            return {}, None
        return found if GENERATION in found else found | _first_generation(), ttl
    except CacheFailed:
        reachable.mark_unreachable()
        return {}, None


def _first_generation() -> dict[str, Any]:
    """Set a generation after the cache was cleared or the last one expired."""
    with command("add"):
        responses.add(GENERATION, _latest.new(), timeout=_VERSION_TTL)
    with command("get"):
        generation = responses.get(GENERATION)
    if generation is None:
        raise CacheFailed("a value that was just written is gone")
    return {GENERATION: generation}


def versions_of(tags: Iterable[str], found: dict[str, Any]) -> Versions:
    """The versions of `tags` among the entries read with `keys_of(tags)`."""
    return {tag: found[_key(tag)] for tag in tags if _key(tag) in found}


def keys_of(tags: Iterable[str]) -> list[str]:
    """The cache keys of the tags' versions."""
    return [_key(tag) for tag in tags]


def validate(tags: Iterable[str], versions: Mapping[str, str], generation: str, present: str) -> str | None:
    """The generation under which a response with these tag versions is valid; None if it was invalidated.

    Its own generation is the `present` one if nothing was purged since; otherwise its tags are compared.
    """
    if generation == present:
        return generation
    found = read_entries(*keys_of(tags))
    return found[GENERATION] if found and versions_of(tags, found) == versions else None


def claim_versions(tags: Iterable[str], generation: str) -> Versions | None:
    """The version of each tag, creating missing ones; None if anything was purged since `generation` was read.

    Two processes that create the same version at once only cause misses, never an outdated hit.
    """
    tags = list(tags)
    found = read_entries(*keys_of(tags))
    known = versions_of(tags, found)
    if found.get(GENERATION) != generation:
        return None
    if new := {tag: secrets.token_hex(8) for tag in tags if tag not in known}:
        with command("set"):
            responses.set_many({_key(tag): version for tag, version in new.items()}, timeout=_VERSION_TTL)
        # Again, after the versions were written: a purge in between would not have known the tags.
        if read_entries().get(GENERATION) != generation:
            return None
    return known | new


def present_epoch() -> str:
    """A value that changes when older contents of the cache are found. Raises `CacheFailed`."""
    with command("get"):
        found = responses.get(EPOCH)
    if found is None:
        with command("add"):
            # `add`, then read: of two processes that find none, both must get the same one.
            responses.add(EPOCH, secrets.token_hex(8), timeout=_EPOCH_TTL)
        with command("get"):
            found = responses.get(EPOCH)
    return str(found)


def invalidate(tags: Collection[str], *, takes_time: bool = False) -> bool:
    """Invalidate the responses with any of these tags, also in a slow cache if that may take time; whether it did."""
    succeeded = _failed.retry(tags, takes_time=takes_time)
    _generation.forget()
    return succeeded


def _write(tags: Collection[str]) -> bool:
    """Begins with the generation: another host, whose clock is ahead, may have written it."""
    try:
        known = _latest.time
        with command("purge", round_trips=2):
            if not _latest.note(responses.get(GENERATION), known):
                responses.delete(EPOCH)
                tags = [*tags, SITE]
            version = _latest.new()
            responses.set_many(dict.fromkeys([*keys_of(tags), GENERATION], version), timeout=_VERSION_TTL)
        _latest.note(version, 0)
    except CacheFailed as failure:
        has_answered = not got_no_answer(failure)
        then = "clearing the cache" if has_answered else "not using it until one succeeds"
        text = f"a purge of the response cache failed; {then}: {failure}"
        incidents.failed(logger, "cache purges", text, key="cache purges", level=logging.WARNING)
        if has_answered:
            return _clear()
        reachable.mark_unreachable()
        return False
    incidents.succeeded("cache purges")
    return True


def _clear() -> bool:
    try:
        with command("clear"):
            responses.clear()
    except CacheFailed as failure:
        text = f"clearing the response cache failed; not using it until a purge succeeds: {failure}"
        incidents.failed(logger, "cache purges", text, key="cache clears", level=logging.WARNING)
        reachable.mark_unreachable()
        return False
    return True


def _key(tag: str) -> str:
    return f"pages:tag:{tag}"
