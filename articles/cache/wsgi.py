"""WSGI middleware that answers cache hits from the memory of its process, before Django's request machinery.

It sends what Django sent for an equal request before, while the cache entry that this was made from is valid, so bytes
and headers are those of Django. All unusual requests are passed on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.translation import get_language_from_request

from articles.cache import store
from articles.cache.memory import Copies, Copy, Headers, Key
from articles.cache.request_metrics import RequestMetrics
from articles.cache.response import HIT, Hit
from articles.cache.store import hits
from articles.cache.ttl import ENDING

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

_PASSED_ON = frozenset(
    {
        "CONTENT_LENGTH",
        "HTTP_AUTHORIZATION",
        "HTTP_IF_MATCH",
        "HTTP_IF_UNMODIFIED_SINCE",
        "HTTP_TRANSFER_ENCODING",
        "HTTP_X_REQUESTED_WITH",
    }
)
"""Requests with these are left to Django."""

_COPIED = (HTTPStatus.OK, HTTPStatus.NOT_MODIFIED)


class CacheMiddleware:
    """Sends copies of responses that `application` made from cache entries and that are still valid.

    A response may depend only on what `_key` contains, which `cached` demands of its views.
    """

    def __init__(
        self, application: WSGIApplication, *, waiting: Callable[[], AbstractContextManager[Any]] = nullcontext
    ) -> None:
        self._application = application
        store.waiting = waiting
        self._copies = Copies(settings.PAGE_CACHE_MEMORY)
        self._cookies = settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME, settings.LANGUAGE_COOKIE_NAME

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        began = time.perf_counter()
        key = self._key(environ)
        if key is None:
            return self._application(environ, start_response)
        copy = self._copies.get(key)
        if copy is None or not copy.is_valid():
            return self._pass_on(key, environ, start_response)
        # A copy, since servers and other middleware add to the list that they get.
        start_response(copy.status, copy.headers.copy())
        copy.metrics.count(time.perf_counter() - began)
        return [copy.body]

    def _key(self, environ: WSGIEnvironment) -> Key | None:
        """All that a response from the cache depends on; None if this request may need Django."""
        method, cookie = environ["REQUEST_METHOD"], environ.get("HTTP_COOKIE", "")
        if method not in ("GET", "HEAD") or not _PASSED_ON.isdisjoint(environ):
            return None
        # By substring, without parsing: one match too many costs a copy, one too few would answer a signed-in user from
        # memory.
        if cookie and any(name in cookie for name in self._cookies):
            return None
        get = environ.get
        return (
            method,
            environ["wsgi.url_scheme"],
            get("HTTP_X_FORWARDED_PROTO", ""),
            get("HTTP_HOST", ""),
            get("SCRIPT_NAME", ""),
            environ["PATH_INFO"],
            get("QUERY_STRING", ""),
            _language(get("HTTP_ACCEPT_LANGUAGE", "")),
            get("HTTP_IF_NONE_MATCH", ""),
            get("HTTP_IF_MODIFIED_SINCE", ""),
        )

    def _pass_on(self, key: Key, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Django's response, copied if it was made from a cache entry."""
        query = environ.get("QUERY_STRING", "")
        sent: list[tuple[str, Headers]] = []

        def start(status: str, headers: Headers, exc_info: Any = None) -> Any:
            sent.append((status, headers))
            return start_response(status, headers, exc_info)

        response = self._application(environ, start)
        hit: Hit | None = environ.pop(HIT, None)
        # The view reduces the query to what it knows; copies of other spellings would fill the memory.
        is_canonical = environ.get("QUERY_STRING", "") == query
        if hit and is_canonical and isinstance(response, HttpResponse) and response.status_code in _COPIED:
            status, headers = sent[-1]
            self._copies.add(key, _copy_of(response, status, headers, hit, method=key[0]))
        return response


def _copy_of(response: HttpResponse, status: str, headers: Headers, hit: Hit, *, method: str) -> Copy:
    metrics = RequestMetrics(
        view=hit.view_name,
        method=method,
        scheme=hit.scheme,
        status=response.status_code,
        charset=response.charset,
        size=len(response.content),
        counters=[hits],
    )
    cached, margin = hit.cached, ENDING if settings.CDN_PURGE_URLS else 0.0  # from then on, the headers differ
    return Copy(
        status,
        headers,
        response.content,
        metrics,
        hit.expires_at - margin,
        cached.tags,
        cached.versions,
        cached.generation,
    )


@lru_cache(maxsize=1000)
def _language(accepted: str) -> str:
    """The language that a request with this header and no cookie gets."""
    request = HttpRequest()
    request.META["HTTP_ACCEPT_LANGUAGE"] = accepted
    return get_language_from_request(request)
