"""Where answers are kept: found if nothing that they show was purged, or made, by one request for all."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.http.response import HttpResponseBase
from prometheus_client import Counter

from articles.cache.backend import CacheFailed, command, responses
from articles.cache.response import Answer
from articles.cache.versions import GENERATION, claim_versions, keys_of, look_up, versions_of

Made = tuple[Answer | HttpResponseBase, float]
"""An answer to keep, or a response that is none, such as a redirection; and the end of that, by `time.monotonic()`."""

_PATIENCE = 3.0  # seconds a request waits for another one that makes the same answer
_LOOK_AGAIN = 0.01  # seconds
_LOCKED = 10.0  # seconds after which who makes an answer is taken for dead
_IN_VAIN = 0.25  # seconds in which nobody waits where there was nothing to keep

_answers = Counter("headline_answers", "Readers' answers, by whether they were kept or made anew", ["source"])


class Store:
    """The place `key` of an answer in the cache, and who may make it; only that to what is `asked` will do."""

    def __init__(self, key: str, asked: str, make: Callable[[], Made]) -> None:
        self._key, self._lock, self._asked = key, f"pages:lock:{asked}", asked
        self._make = make

    def get(self) -> Made:
        """The answer, kept or made."""
        found = look_up(self._key)
        if not found:
            return self.make()
        return self._kept(found) or self._make_for_all()

    def make(self) -> Made:
        """Make it for one request alone."""
        _answers.labels("made").inc()
        return self._make()

    def _kept(self, found: dict[str, Any]) -> Made | None:
        """What was found, if nothing that it shows was purged since it was made."""
        answer = Answer.unpacked(found.get(self._key))
        if answer is None or answer.asked != self._asked:
            return None
        if answer.generation != found[GENERATION]:
            present = look_up(*keys_of(answer.tags))
            if not present or versions_of(answer.tags, present) != answer.versions:
                return None
        _answers.labels("kept").inc()
        return answer, time.monotonic() + self._left(answer)

    def _left(self, answer: Answer) -> float:
        """Only who tells proxies has to ask the cache; in a process's own memory an answer does not grow old."""
        milliseconds = getattr(responses, "pttl", None)
        if milliseconds is None or not settings.CDN_PURGE_URLS:
            return answer.left
        try:
            with command("pttl"):
                return (milliseconds(self._key) or 0) / 1000
        except CacheFailed:
            return 0.0

    def _make_for_all(self) -> Made:
        """Make it and keep it, unless another request is about to; then wait for that one."""
        patience = time.monotonic() + _PATIENCE
        while time.monotonic() < patience:
            try:
                with command("add"):
                    is_mine = responses.add(self._lock, "making", timeout=_LOCKED)
            except CacheFailed:
                break
            if is_mine:
                return self._make_under_lock()
            found = look_up(self._key, self._lock)
            if not found or found.get(self._lock) == "in vain":
                break
            if kept := self._kept(found):
                return kept
            time.sleep(_LOOK_AGAIN)
        return self.make()

    def _make_under_lock(self) -> Made:
        try:
            found = look_up(self._key)
            if kept := self._kept(found) if found else None:  # made by whoever had the lock before
                return kept
            made, ends = self.make()
            if isinstance(made, Answer):
                return made, ends if self._keep(made, ends, found.get(GENERATION)) else time.monotonic()
        finally:
            with suppress(CacheFailed), command("delete"):
                responses.delete(self._lock)
        with suppress(CacheFailed), command("set"):
            responses.set(self._lock, "in vain", timeout=min(ends - time.monotonic(), _IN_VAIN))
        return made, ends

    def _keep(self, answer: Answer, ends: float, generation: str | None) -> bool:
        """Keep an answer until it changes; False if something was purged while it was made, so that it may be old."""
        if generation is None:
            return False
        try:
            versions = claim_versions(answer.tags, generation)
            if versions is None:
                return False
            left = ends - time.monotonic()
            answer = replace(answer, generation=generation, versions=versions, left=left)
            with command("set"):
                responses.set(self._key, answer.packed(), timeout=min(left, settings.PAGE_CACHE_SECONDS))
        except CacheFailed:
            return False
        return True
