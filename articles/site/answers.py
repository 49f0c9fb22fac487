"""Answers for machines that come again and again: they say how long they stay true, and whether anything is new."""

from __future__ import annotations

from datetime import datetime, timedelta
from hashlib import sha256

from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response, patch_cache_control
from django.utils.http import http_date

from articles.site.coherence import max_age, next_change
from articles.site.scopes import Scope

LONGEST = timedelta(minutes=1)
"""Changes by hand (a withdrawal, a correction) reach caches that nobody purges after this time."""


def answer(request: HttpRequest, content: str, *, content_type: str, scope: Scope, now: datetime) -> HttpResponseBase:
    """`content`, which shows `scope` at `now`, or "304 Not Modified" for whoever has it already."""
    full = HttpResponse(content, content_type=content_type)
    etag = f'"{sha256(full.content).hexdigest()[:32]}"'
    modified = first_given_out(request.path, etag, now)
    response = get_conditional_response(request, etag, modified, full) or full
    response.headers["ETag"] = etag
    if modified is not None:
        response.headers["Last-Modified"] = http_date(modified)
    patch_cache_control(response, public=True, max_age=max_age(next_change(scope, now), now, most=LONGEST))
    return response


def first_given_out(path: str, etag: str, now: datetime) -> int | None:
    """The second since 1970 in which this version of an address was first given out; None if another was, in the same.

    No column tells when something left a list, so the answer itself is watched. Where the cache forgets, or is each
    process's own, answers are sent again that need not be.
    """
    second = int(now.timestamp())
    known = cache.get(f"first:{path}")
    if known is not None and known[0] == etag:
        return int(known[1])
    if known is not None and known[1] >= second:
        return None
    cache.set(f"first:{path}", (etag, second), timeout=None)
    return second
