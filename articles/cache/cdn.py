"""Purges that reach every cache: proxies and CDNs are told at once, and again; a task a second later makes certain."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from datetime import timedelta
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from django.conf import settings

from articles.cache.backend import CacheFailed
from articles.cache.tags import tags_of
from articles.cache.versions import renew
from articles.task_types import PURGE
from scheduling.services import add_task, read_database_clock

logger = logging.getLogger(__name__)

TIMEOUT = 5.0  # seconds

ECHO = 0.15  # seconds
AGAIN = timedelta(seconds=1)
"""When they are told again. An answer that was made before a change may still be on its way to a proxy that was just
told of it, and would be kept there: mostly for some milliseconds, more in a bad hour.
"""

_TAGS_AT_ONCE = 30  # the least that a CDN takes (Cloudflare)


def purge_proxies_later(*, articles: Collection[int] = (), tags: Collection[str] = ()) -> None:
    """In the caller's transaction, make sure that proxies are told, whatever becomes of this process."""
    if settings.CDN_PURGE_URLS:
        _purge_later(articles, tags)


def purge_again(*, articles: Collection[int] = (), tags: Collection[str] = ()) -> None:
    """In the caller's transaction, make sure that a cache we share forgets them, whatever becomes of this process.

    For what readers may not see any longer. Where there are proxies, the same task tells them.
    """
    if settings.REDIS_CACHE_URL or settings.CDN_PURGE_URLS:
        _purge_later(articles, tags)


def _purge_later(articles: Collection[int], tags: Collection[str]) -> None:
    """Changes of one article follow each other; so its task is moved instead of doubled."""
    key = str(next(iter(articles))) if len(articles) == 1 and not tags else None
    parameters = {"articles": sorted(articles), "tags": sorted(tags)}
    add_task(PURGE, execute_time=read_database_clock() + AGAIN, parameters=parameters, key=key)


def run_purge(articles: Sequence[int], tags: Sequence[str]) -> None:
    """The task: first our own cache, from which proxies would only get the old again. Raises `CacheFailed`."""
    found = {*tags, *(tags_of(articles) if articles else ())}
    is_taken = renew(found)
    _notify(found)
    if not is_taken:
        raise CacheFailed("The response cache took no purge.")


def purge_cdn(tags: Collection[str]) -> None:
    """Tell them at once, without waiting for it; what fails is left to the errand."""
    if settings.CDN_PURGE_URLS:
        _messenger.send(tags)


def is_signalling() -> bool:
    """Whether this process has something to tell yet."""
    return _messenger.is_out


class _Messenger:
    """A thread that lives while there is something to tell, so that nobody waits for a slow CDN. It tells all twice."""

    def __init__(self) -> None:
        self._words: list[tuple[float, frozenset[str]]] = []  # when to tell, and what
        self._changed = threading.Condition()
        self.is_out = False

    def send(self, tags: Collection[str]) -> None:
        now = time.monotonic()
        with self._changed:
            self._words += [(now, frozenset(tags)), (now + ECHO, frozenset(tags))]
            self._changed.notify()
            if not self.is_out:
                self.is_out = True
                threading.Thread(target=self._run, name="purges", daemon=True).start()

    def _run(self) -> None:
        while tags := self._next():
            try:
                _notify(tags)
            except Exception as error:  # whatever comes back over a network
                logger.warning("a proxy was not told at once and is told again: %s", error)

    def _next(self) -> frozenset[str]:
        """All that is to be told now, once there is anything; nothing when there is nothing left."""
        with self._changed:
            while self._words:
                now = time.monotonic()
                if due := [tags for at, tags in self._words if at <= now]:
                    self._words = [(at, tags) for at, tags in self._words if at > now]
                    return frozenset().union(*due)
                self._changed.wait(min(at for at, _tags in self._words) - now)
            self.is_out = False
            return frozenset()


_messenger = _Messenger()


def _notify(tags: Collection[str]) -> None:
    """Tell all proxies. If one was not reached or refused, the others are told still, and then that is raised."""
    errors: list[Exception] = []
    for url in settings.CDN_PURGE_URLS:
        try:
            for some in _in_portions(sorted(tags)):
                with urlopen(_request(url, some), timeout=TIMEOUT):  # noqa: S310 (checked at start)
                    pass
        except (OSError, HTTPException) as error:
            errors.append(error)
            if isinstance(error, HTTPError):
                error.close()
    if errors:
        raise errors[0]


def _request(url: str, tags: Sequence[str]) -> Request:
    """In the header for Varnish and Fastly, in the body for Cloudflare."""
    headers = {"Content-Type": "application/json", "Surrogate-Key": " ".join(tags), **settings.CDN_PURGE_HEADER}
    body = json.dumps({"tags": tags}).encode()
    return Request(url, data=body, headers=headers, method=settings.CDN_PURGE_METHOD)  # noqa: S310


def _in_portions(tags: Sequence[str]) -> Iterator[Sequence[str]]:
    return (tags[start : start + _TAGS_AT_ONCE] for start in range(0, len(tags), _TAGS_AT_ONCE))
