"""One cache entry: served while valid, otherwise rebuilt by one request while the others wait (single-flight)."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from typing import Any

from django.http.response import HttpResponseBase
from prometheus_client import Counter

from articles.cache.backend import CacheFailed, command, responses
from articles.cache.response import CachedResponse
from articles.cache.ttl import MAX_TTL, storage_ttl
from articles.cache.versions import GENERATION, claim_versions, read_entry, validate

_SKEW = 1.0
"""Seconds by which the clocks of two hosts may differ without a miss."""

Built = tuple[CachedResponse | HttpResponseBase, float]
"""A response to cache, or one that is not cached such as a redirect; and when it expires, by `time.monotonic()`."""

_MAX_WAIT = 3.0  # seconds a request waits for another one that builds the same response
_POLL = 0.01  # seconds
_LOCK_TTL = 10.0  # seconds
_UNCACHEABLE_TTL = 0.25  # seconds during which requests do not wait, because the last response could not be cached

_lookups = Counter("headline_cache_lookups", "Lookups in the response cache", ["result"])
hits, misses = _lookups.labels("hit"), _lookups.labels("miss")

_building: dict[str, threading.Event] = {}
"""By fingerprint: set when the thread of this process that builds the response, or waits for another process, is done.
Others wait for it, not for Redis, which they would ask a hundred times a second each."""

waiting: Callable[[], AbstractContextManager[Any]] = nullcontext
"""Entered by requests that wait: it may give back what they need for working alone."""


class CacheEntry:
    """The entry `key`, valid only for requests with this `fingerprint`; `build` makes the response on a miss."""

    def __init__(self, key: str, fingerprint: str, build: Callable[[], Built]) -> None:
        self._key, self._lock, self._fingerprint = key, f"pages:lock:{fingerprint}", fingerprint
        self._build = build

    def get(self) -> Built:
        """The cached response, or a new one that is stored."""
        found, expires_at = read_entry(self._key)
        if not found:
            return self.build()
        return self._valid(found, expires_at) or self._build_once()

    def build(self) -> Built:
        """Build the response without storing it."""
        misses.inc()
        return self._build()

    def _valid(self, found: dict[str, Any], expires_at: float | None) -> Built | None:
        """The cached response with the generation it is valid in, unless one of its tags was purged."""
        cached = CachedResponse.deserialise(found.get(self._key))
        if cached is None or cached.fingerprint != self._fingerprint:
            return None
        present, left = time.monotonic(), cached.ends_at - time.time()
        expires_at = min(present + left, expires_at or float("inf"))  # Redis' clock may have been set back
        # An entry that would last longer than any may was stored by a host whose clock is ahead, or this one's was set
        # back.
        if expires_at <= present or left > MAX_TTL.total_seconds() + _SKEW:
            return None
        generation = validate(cached.tags, cached.versions, cached.generation, found[GENERATION])
        if generation is None:
            return None
        hits.inc()
        return replace(cached, generation=generation), expires_at

    def _build_once(self) -> Built:
        """Build and store the response, or wait for another request that is doing so."""
        deadline = time.monotonic() + _MAX_WAIT
        done = _building.setdefault(self._fingerprint, mine := threading.Event())
        if done is not mine:
            with waiting():
                done.wait(_MAX_WAIT)
            found, expires_at = read_entry(self._key)
            valid = self._valid(found, expires_at) if found else None
            return valid or self._build_before_other_processes(deadline)
        try:
            return self._build_before_other_processes(deadline)
        finally:
            del _building[self._fingerprint]
            mine.set()

    def _build_before_other_processes(self, deadline: float) -> Built:
        """The same among processes, by a lock in Redis."""
        token = secrets.token_hex(8)
        while time.monotonic() < deadline:
            try:
                with command("add"):
                    has_lock = responses.add(self._lock, token, timeout=_LOCK_TTL)
            except CacheFailed:
                return self.build()
            if has_lock:
                return self._build_under_lock()
            found, expires_at = read_entry(self._key, self._lock)
            if not found or found.get(self._lock) == "uncacheable":
                return self.build()
            if found.get(self._lock) == token:  # the client resent the command, which then found its own lock
                return self._build_under_lock()
            if valid := self._valid(found, expires_at):
                return valid
            with waiting():
                time.sleep(_POLL)
        # The lock's holder is slow or has died: this request does not wait for it any longer.
        return self._build_under_lock()

    def _build_under_lock(self) -> Built:
        try:
            found, expires_at = read_entry(self._key)
            if valid := self._valid(found, expires_at) if found else None:  # stored by the previous holder of the lock
                return valid
            built, expires_at = self.build()
            if isinstance(built, CachedResponse):
                is_stored = self._store(built, expires_at, found.get(GENERATION))
                return built, expires_at if is_stored else time.monotonic()
        finally:
            with suppress(CacheFailed), command("delete"):
                # Also after an error: the others would wait until the lock expires otherwise.
                responses.delete(self._lock)
        with suppress(CacheFailed), command("set"):
            responses.set(self._lock, "uncacheable", timeout=min(expires_at - time.monotonic(), _UNCACHEABLE_TTL))
        return built, expires_at

    def _store(self, built: CachedResponse, expires_at: float, generation: str | None) -> bool:
        """Store a response until it expires; False if anything was purged while it was built: it may be outdated."""
        if generation is None:
            return False
        try:
            versions = claim_versions(built.tags, generation)
            if versions is None:
                return False
            ttl = expires_at - time.monotonic()
            built = replace(built, generation=generation, versions=versions, ends_at=time.time() + ttl)
            with command("set"):
                responses.set(self._key, built.serialise(), timeout=storage_ttl(ttl))
        except CacheFailed:
            return False
        return True
