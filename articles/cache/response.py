"""Cached responses, and how they are sent: `ETag`, `Last-Modified`, `Cache-Control` and tags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any, Self

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response, patch_cache_control
from django.utils.http import http_date

from articles.cache.backend import CacheFailed, command, reachable, responses
from articles.cache.tags import HEADER, NEWS, SITE, tags_on
from articles.cache.ttl import ENDING, SHARED_AGE
from articles.cache.versions import present_epoch

_MAX_TAGS = 50  # a response with more tags gets `NEWS` instead
_LAST_MODIFIED_TTL = 6 * 3600.0  # seconds


@dataclass(frozen=True)
class CachedResponse:
    """A response to store; once stored, also its end, its generation and the versions of its tags."""

    fingerprint: str  #: of the request
    content: bytes
    headers: Mapping[str, str]
    tags: Sequence[str]
    etag: str
    modified: int | None  #: seconds since 1970
    ends_at: float = 0.0  #: in Unix time
    generation: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, response: HttpResponse, key: str, fingerprint: str, now: datetime) -> CachedResponse:
        """`response` as built at the instant `now`, to be stored under `key`."""
        tags = tags_on(response)
        etag = f'"{sha256(response.content).hexdigest()[:32]}"'
        return cls(
            fingerprint=fingerprint,
            content=response.content,
            headers={name: value for name, value in response.headers.items() if name != HEADER},
            tags=(SITE, *(tags if len(tags) <= _MAX_TAGS else [NEWS])),
            etag=etag,
            modified=_last_modified(key, fingerprint, etag, int(now.timestamp())),
        )

    def serialise(self) -> dict[str, Any]:
        """Texts, bytes and numbers only, so that reading a cache entry can create nothing else."""
        return dict(vars(self))

    @classmethod
    def deserialise(cls, found: Any) -> Self | None:
        """The response in a cache entry; None if the entry is not one."""
        try:
            return cls(**found) if found else None
        except TypeError:
            return None


HIT = "articles.cache.hit"
"""The key in a WSGI environment of the `Hit` that the response was made from."""


@dataclass(frozen=True)
class Hit:
    """A valid cache entry, when it expires by `time.monotonic()`, and the request's view and scheme."""

    cached: CachedResponse
    expires_at: float
    view_name: str
    scheme: str


def _last_modified(key: str, fingerprint: str, etag: str, second: int) -> int | None:
    """The second in which this content was first sent, or the next one if other content was sent in the same second.

    None while that second is in the future. No column says when an article left a list, so the responses themselves
    are compared. If the cache lost the entry, is unreachable or is local to a process, responses are sent in full.
    """
    if not reachable:
        return None
    try:
        first = _record_first_sent(f"{key}:first", fingerprint, etag, second)
    except CacheFailed:
        return None
    return first if first <= second else None


def _record_first_sent(key: str, fingerprint: str, etag: str, second: int) -> int:
    """Records of another epoch do not count: a restored cache may have lost later ones."""
    with command("get"):
        known = responses.get(key)
    epoch = present_epoch()
    if known is None or known[0] != fingerprint:
        first = second
    elif known[1] == etag and known[3:] == [epoch]:
        return int(known[2])
    else:
        first = max(second, int(known[2]) + 1)
    with command("set"):
        responses.set(key, [fingerprint, etag, first, epoch], timeout=_LAST_MODIFIED_TTL)
    return first


def deliver(request: HttpRequest, cached: CachedResponse, ttl: float) -> HttpResponseBase:
    """`cached`, valid for `ttl` seconds, or "304 Not Modified" if the request's conditions allow it."""
    full = HttpResponse(cached.content, headers=dict(cached.headers))
    response = get_conditional_response(request, cached.etag, cached.modified, full) or full
    response.headers["ETag"] = cached.etag
    if cached.modified is not None:
        response.headers["Last-Modified"] = http_date(cached.modified)
    set_tag_headers(response, cached.tags)
    set_cache_headers(response, is_ending=ttl < ENDING)
    return response


def set_tag_headers(response: HttpResponseBase, tags: Sequence[str]) -> None:
    """Set both headers by which proxies know the tags of a response."""
    response.headers[HEADER], response.headers["Cache-Tag"] = " ".join(tags), ",".join(tags)


def set_cache_headers(response: HttpResponseBase, *, browser_age: int = 0, is_ending: bool = False) -> None:
    """Set `Cache-Control`: browsers cache for `browser_age` seconds, and proxies for `SHARED_AGE` if they are purged.

    Both are constants: a time that ended at the next change would show readers when something is scheduled. Only the
    last moments before a change differ, in which proxies cache nothing, so that it is seen through them at its instant.
    """
    shared_age = SHARED_AGE if settings.CDN_PURGE_URLS and not is_ending else 0
    patch_cache_control(response, public=True, max_age=browser_age)
    if settings.CDN_PURGE_URLS or browser_age:
        patch_cache_control(response, s_maxage=shared_age)
