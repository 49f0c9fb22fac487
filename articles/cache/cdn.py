"""CDN purges: sent right after the commit, repeated shortly after, and again by an at-least-once task."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from datetime import timedelta
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from django.conf import settings
from prometheus_client import Counter

from articles.cache.backend import CacheFailed, reachable
from articles.cache.tags import tags_of
from articles.cache.versions import invalidate
from articles.task_types import PURGE
from scheduling.database import read_database_clock
from scheduling.incidents import incidents
from scheduling.services import add_task

logger = logging.getLogger(__name__)

TIMEOUT = 5.0  # seconds

REPEAT_AFTER = 0.15  # seconds
TASK_DELAY = timedelta(seconds=1)
"""Purges are repeated because a response built before the change may still be on its way to a proxy that was already
purged, and the proxy would cache it.
"""

_purges = Counter("headline_cdn_purges", "Purges of CDNs and proxies; failed ones are repeated", ["result"])
_sent, _failed = _purges.labels("sent"), _purges.labels("failed")

_MAX_TAGS = 30  # in one request; the smallest limit of the supported CDNs (Cloudflare)


def schedule_cdn_purge(*, articles: Collection[int] = (), tags: Collection[str] = ()) -> None:
    """Add the purge task in the caller's transaction, if there are proxies to purge."""
    if settings.CDN_PURGE_URLS:
        _schedule_purge(articles, tags)


def schedule_purge(*, articles: Collection[int] = (), tags: Collection[str] = ()) -> None:
    """Add the purge task in the caller's transaction, if the response cache is shared or there are proxies.

    For content that readers may no longer see: the purge must happen even if this process dies after the commit.
    """
    if settings.REDIS_CACHE_URL or settings.CDN_PURGE_URLS:
        _schedule_purge(articles, tags)


def schedule_missed_purge(tags: Collection[str]) -> None:
    """Add the purge task for a change whose purge failed here: another process may reach the shared cache."""
    if settings.REDIS_CACHE_URL and not settings.CDN_PURGE_URLS:  # otherwise the change has added one
        _schedule_purge((), tags)


def _schedule_purge(articles: Collection[int], tags: Collection[str]) -> None:
    """A single article's task has a key, so several changes in a row move one task instead of adding more."""
    key = str(next(iter(articles))) if len(articles) == 1 and not tags else None
    parameters = {"articles": sorted(articles), "tags": sorted(tags)}
    add_task(PURGE, execute_time=read_database_clock() + TASK_DELAY, parameters=parameters, key=key)


def run_purge(articles: Sequence[int], tags: Sequence[str], *, is_repeated: bool = False) -> None:
    """Run the purge task: the response cache first, because proxies refill from it. Raises `CacheFailed`.

    Of many tasks, one a second waits for a cache that is away. What `is_repeated` has purged the proxies before, and
    does so again once the cache is invalidated.
    """
    found = {*tags, *(tags_of(articles) if articles else ())}
    is_invalidated = (bool(reachable) or reachable.is_slow) and invalidate(found, takes_time=True)
    if is_invalidated or not is_repeated:
        _send_purges(found)
    if not is_invalidated:
        raise CacheFailed("The response cache could not be purged.")


def purge_cdn(tags: Collection[str]) -> None:
    """Send purges now, without waiting for them; the purge task repeats those that fail."""
    if settings.CDN_PURGE_URLS:
        _sender.send(tags)


def is_sending() -> bool:
    """Whether this process has purges left to send."""
    return _sender.is_running


class _PurgeSender:
    """Sends each purge twice, in a thread that runs only while there are purges, so no request waits for a slow CDN."""

    def __init__(self) -> None:
        self._queue: list[tuple[float, frozenset[str]]] = []  # when to send, and which tags
        self._changed = threading.Condition()
        self.is_running = False

    def send(self, tags: Collection[str]) -> None:
        now = time.monotonic()
        with self._changed:
            # The second one for a response that was built before the change and reaches a proxy after the first.
            self._queue += [(now, frozenset(tags)), (now + REPEAT_AFTER, frozenset(tags))]
            self._changed.notify()
            if not self.is_running:
                threading.Thread(target=self._run, name="purges", daemon=True).start()
                self.is_running = True

    def _run(self) -> None:
        while tags := self._next():
            try:
                _send_purges(tags)
            except Exception as error:  # any network error
                text = f"a CDN purge failed and will be repeated: {error}"
                incidents.failed(logger, "CDN purges", text, level=logging.WARNING)
            else:
                incidents.succeeded("CDN purges")

    def _next(self) -> frozenset[str]:
        """Wait for the next due purges and return their tags; empty when the queue is empty."""
        with self._changed:
            while self._queue:
                now = time.monotonic()
                if due := [tags for at, tags in self._queue if at <= now]:
                    self._queue = [(at, tags) for at, tags in self._queue if at > now]
                    return frozenset().union(*due)
                self._changed.wait(min(at for at, _tags in self._queue) - now)
            self.is_running = False
            return frozenset()


_sender = _PurgeSender()


def refused_purges(tag: str) -> dict[str, Exception]:
    """Purge `tag` from each proxy now; the errors by the host of the proxy."""
    errors: dict[str, Exception] = {}
    for url in settings.CDN_PURGE_URLS:
        try:
            with urlopen(_request(url, [tag]), timeout=TIMEOUT):  # noqa: S310 (checked at start)
                pass
        except (OSError, HTTPException) as error:
            errors[str(urlsplit(url).hostname)] = error
            if isinstance(error, HTTPError):
                error.close()
    return errors


def _send_purges(tags: Collection[str]) -> None:
    """Send a purge to every proxy; the first error is raised after all were tried."""
    # All proxies are tried: one that is away must not keep the others outdated.
    errors: list[Exception] = []
    for url in settings.CDN_PURGE_URLS:
        try:
            for some in _chunks(sorted(tags)):
                with urlopen(_request(url, some), timeout=TIMEOUT):  # noqa: S310 (checked at start)
                    pass
            _sent.inc()
        except (OSError, HTTPException) as error:
            _failed.inc()
            errors.append(error)
            if isinstance(error, HTTPError):
                error.close()
    if errors:
        raise errors[0]


def _request(url: str, tags: Sequence[str]) -> Request:
    """Tags go into the header for Varnish and Fastly, and into the body for Cloudflare."""
    headers = {"Content-Type": "application/json", "Surrogate-Key": " ".join(tags), **settings.CDN_PURGE_HEADER}
    body = json.dumps({"tags": tags}).encode()
    return Request(url, data=body, headers=headers, method=settings.CDN_PURGE_METHOD)  # noqa: S310


def _chunks(tags: Sequence[str]) -> Iterator[Sequence[str]]:
    return (tags[start : start + _MAX_TAGS] for start in range(0, len(tags), _MAX_TAGS))
