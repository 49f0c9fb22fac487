"""Answers as they are kept, and as they are sent: with how long they stay true, and whether anything is new."""

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

_MARGIN = 1.0
"""Seconds for an answer that is on its way, and caches that count whole seconds."""

_MOST_TAGS = 50  # an answer that shows more things than that follows everything new instead
_REMEMBERED = 6 * 3600.0  # seconds after a change for which it is known since when an answer is the same


@dataclass(frozen=True)
class Answer:
    """What a view answered. Once it is kept: for how many seconds from then on, and with which versions of its tags."""

    asked: str  #: what it is the answer to
    content: bytes
    headers: Mapping[str, str]
    tags: Sequence[str]
    etag: str
    modified: int | None  #: seconds since 1970
    left: float = 0.0
    generation: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, response: HttpResponse, key: str, asked: str, now: datetime) -> Answer:
        """What was made at the instant `now`, as an answer to what was `asked`; `key` is where it is kept."""
        tags = tags_on(response)
        etag = f'"{sha256(response.content).hexdigest()[:32]}"'
        return cls(
            asked=asked,
            content=response.content,
            headers={name: value for name, value in response.headers.items() if name != HEADER},
            tags=(SITE, *(tags if len(tags) <= _MOST_TAGS else [NEWS])),
            etag=etag,
            modified=_first_given_out(key, asked, etag, int(now.timestamp())),
        )

    def packed(self) -> dict[str, Any]:
        """As it is kept: texts, bytes and numbers alone, so that what is read from a cache can only be such."""
        return dict(vars(self))

    @classmethod
    def unpacked(cls, found: Any) -> Self | None:
        """The answer that was kept as `found`; None if that is none."""
        try:
            return cls(**found) if found else None
        except TypeError:
            return None


def _first_given_out(key: str, asked: str, etag: str, second: int) -> int | None:
    """The second in which this version was first given out, or the next one if another version was in the same.

    None until that has come. No column tells when something left a list, so the answers themselves are watched. Where
    the cache forgets, is away, or is each process's own, answers are sent again that need not be.
    """
    if not reachable:
        return None
    try:
        first = _note_first(f"{key}:first", asked, etag, second)
    except CacheFailed:
        return None
    return first if first <= second else None


def _note_first(key: str, asked: str, etag: str, second: int) -> int:
    with command("get"):
        known = responses.get(key)
    if known is None or known[0] != asked:
        first = second
    elif known[1] == etag:
        return int(known[2])
    else:
        first = max(second, int(known[2]) + 1)
    with command("set"):
        responses.set(key, [asked, etag, first], timeout=_REMEMBERED)
    return first


def deliver(request: HttpRequest, answer: Answer, left: float) -> HttpResponseBase:
    """`answer`, which stays true for `left` seconds, or "304 Not Modified" for whoever has it already."""
    full = HttpResponse(answer.content, headers=dict(answer.headers))
    response = get_conditional_response(request, answer.etag, answer.modified, full) or full
    response.headers["ETag"] = answer.etag
    if answer.modified is not None:
        response.headers["Last-Modified"] = http_date(answer.modified)
    name_tags(response, answer.tags)
    set_cache_headers(response, left)
    return response


def name_tags(response: HttpResponseBase, tags: Sequence[str]) -> None:
    """Say what a response shows, in the two headers that proxies know."""
    response.headers[HEADER], response.headers["Cache-Tag"] = " ".join(tags), ",".join(tags)


def set_cache_headers(response: HttpResponseBase, left: float, *, browsers: int = 0) -> None:
    """Browsers ask each time, or after some seconds, for nobody can purge them. Proxies keep it while it is true, if
    they are purged.
    """
    patch_cache_control(response, public=True, max_age=max(min(int(left), browsers), 0))
    if settings.CDN_PURGE_URLS:
        patch_cache_control(response, s_maxage=max(int(left - _MARGIN), 0))
