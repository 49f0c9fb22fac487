"""The `cached` decorator: responses to readers are built once and served from the cache until they change."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from datetime import datetime
from functools import wraps
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote

from django.conf import settings
from django.core.handlers.exception import response_for_exception
from django.db import connection
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponsePermanentRedirect, QueryDict
from django.http.response import HttpResponseBase
from django.template.response import SimpleTemplateResponse
from django.urls import NoReverseMatch, reverse
from django.utils.crypto import salted_hmac
from django.utils.translation import get_language

from articles.cache.next_change import building_until, next_change
from articles.cache.response import HIT, CachedResponse, Hit, deliver
from articles.cache.store import Built, CacheEntry
from articles.cache.tags import HEADER
from articles.limits import PAGE_SIZE
from articles.models import Article
from scheduling.database import at_instant, compiled_once, snapshot

View = Callable[..., HttpResponseBase]

_composing: list[Callable[[], AbstractContextManager[None]]] = [nullcontext]
"""What lets a response show what is due and not stored yet."""

WORDS = "q"
"""The parameter of the words to search for."""

_ATTEMPTS: Sequence[Callable[[], AbstractContextManager[None]]] = (snapshot, snapshot, snapshot, nullcontext)
"""At a search. While articles change all the time, the last one finds them, if not all of them in one state."""

_NEWEST = 50  # changes of articles that are compared for that

MAX_PATHS = 10_000
"""Cache entries of a view for URLs without a query: pages of articles, channels, tags, authors."""

MAX_QUERIES = 1_000
"""Cache entries of a view for URLs with a query: searches, and the pages of a list after the first."""


_is_bypassed: ContextVar[bool] = ContextVar("is_bypassed", default=False)


@contextmanager
def bypassing() -> Iterator[None]:
    """Build the responses of this block, whatever is cached, and store nothing of them."""
    token = _is_bypassed.set(True)
    try:
        yield
    finally:
        _is_bypassed.reset(token)


def compose_by(composing: Callable[[], AbstractContextManager[None]]) -> None:
    """Build responses in the block of `composing` while something is due that no worker has stored yet."""
    _composing[:] = [composing]


def as_readers_see() -> AbstractContextManager[None]:
    """A block that reads what is due as stored, as readers see it."""
    return _composing[-1]()


class WrongSlug(Exception):
    """The object exists under another `slug`, to which the view redirects."""

    def __init__(self, slug: str) -> None:
        super().__init__(slug)
        self.slug = slug


def cached(*parameters: str, one_language: bool = False, max_queries: int = MAX_QUERIES) -> Callable[[View], View]:
    """Cache a view's responses to GET and HEAD with status 200 until they change.

    The view names what it shows with `tagged`. Its response may depend only on the canonical path, on the query
    `parameters` named here and, unless it is in `one_language`, on the language: the view does not see other
    parameters and must not use the host. Other spellings of a path redirect to the canonical one. A view has at most
    `MAX_PATHS` entries, and `max_queries` for URLs with a query, so made-up URLs cannot fill the cache: each URL has
    one slot, chosen by a keyed hash, and replaces what is in it. Inside a transaction nothing is stored, because other
    requests do not see its changes.
    """

    def decorate(view: View) -> View:
        @wraps(view)
        def respond(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if request.method not in ("GET", "HEAD"):
                return view(request, *args, **kwargs)
            _use_canonical_query(request, parameters)
            if (path := _canonical_path(request)) is not None:
                return _redirect(request, path)
            url = _cache_url(request, settings.LANGUAGE_CODE if one_language else get_language())
            built, expires_at = get_or_build(
                view.__qualname__, url, lambda: _call(view, request, *args, **kwargs),
                slots=max_queries if request.GET else MAX_PATHS, searches=bool(request.GET.get(WORDS)),
            )  # fmt: skip
            if not isinstance(built, CachedResponse):
                return built
            if built.generation and request.resolver_match:
                request.META[HIT] = Hit(built, expires_at, request.resolver_match.view_name, request.scheme or "")
            response = deliver(request, built, expires_at - time.monotonic())
            if one_language:
                response.headers["Content-Language"] = settings.LANGUAGE_CODE
            return response

        return respond

    return decorate


def get_or_build(
    name: str, url: str, view: Callable[[], HttpResponseBase], *, slots: int, searches: bool = False
) -> Built:
    """The response of `view` for `url`, cached in one of `slots` entries of this name."""
    if _is_bypassed.get():
        return _rendered(view()), time.monotonic()
    # Keyed by the secret: otherwise made-up addresses could be chosen to evict a page that many read.
    digest = salted_hmac("articles.cache.views", url, algorithm="sha256").hexdigest()[:40]
    key = f"pages:3:{name}:{slots}:{int(digest, 16) % slots}"
    entry = CacheEntry(key, digest, lambda: _build(key, digest, view, searches=searches))
    # What this transaction has changed is seen by it alone, and must not be stored for others.
    return entry.build() if connection.in_atomic_block else entry.get()


def _use_canonical_query(request: HttpRequest, known: Collection[str]) -> None:
    """Reduce the query to known parameters, sorted, with a canonical page size."""
    given, query = request.GET, QueryDict(mutable=True)
    for name in sorted(given.keys() & set(known)):
        query[name] = _canonical_size(given[name]) if name == "page_size" else given[name]
    request.META["QUERY_STRING"] = query.urlencode()
    request.__dict__.pop("GET", None)  # a cached property of the query string


def _canonical_size(text: str) -> str:
    """A page size without leading zeros and at most `PAGE_SIZE`; an invalid one stays as it is."""
    if not (text.isascii() and text.isdecimal() and text.strip("0")):
        return text
    return str(min(int(text.lstrip("0")[:9]), PAGE_SIZE))


def _canonical_path(request: HttpRequest) -> str | None:
    """The canonical path if the request spells it differently, such as `/007/`; else None."""
    match = request.resolver_match
    if match is None:
        return None
    try:
        path = reverse(match.view_name, args=match.args, kwargs=match.kwargs)
    except NoReverseMatch:
        return None
    # Compared decoded: browsers encode Chinese slugs in several ways that mean the same.
    return None if unquote(path) == request.path else path


def _redirect(request: HttpRequest, path: str) -> HttpResponseBase:
    query = request.META["QUERY_STRING"]
    return HttpResponsePermanentRedirect(f"{path}?{query}" if query else path)


def _cache_url(request: HttpRequest, language: str | None) -> str:
    """What identifies a response. The host is not part of it: all URLs in responses begin with `SITE_URL`."""
    return f"{language} {request.path}?{request.META['QUERY_STRING']}"


def _call(view: View, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
    """The view's response; `Http404` and `WrongSlug` become responses as well."""
    try:
        return view(request, *args, **kwargs)
    except WrongSlug as wrong:
        return _redirect(request, reverse(request.resolver_match.view_name, kwargs=kwargs | {"slug": wrong.slug}))  # type: ignore[union-attr]
    except Http404 as error:
        return response_for_exception(request, error)


def _rendered(response: HttpResponseBase) -> HttpResponseBase:
    return response.render() if isinstance(response, SimpleTemplateResponse) else response


def _build(key: str, fingerprint: str, view: Callable[[], HttpResponseBase], *, searches: bool) -> Built:
    """Built at one instant from one state of the database: no page has a part of a release or of a change.

    MariaDB's full-text index forgets earlier texts with the commit, so it does not find what had another one then.
    """
    searches = searches and connection.vendor != "sqlite"
    for attempt in _ATTEMPTS:
        with attempt():
            change = next_change()
            latest = _latest_changes() if searches else []
            with at_instant(change.now), building_until(change), as_readers_see() if change.is_due else nullcontext():
                response = _rendered(view())
        if not searches or _latest_changes() == latest:
            break
    if isinstance(response, HttpResponse) and response.status_code == HTTPStatus.OK and not response.cookies:
        return CachedResponse.of(response, key, fingerprint, change.now), change.expires_at
    response.headers.pop(HEADER, None)
    return response, change.expires_at


def _latest_changes() -> list[tuple[int, datetime]]:
    return compiled_once(_latest)


def _latest() -> QuerySet[Any]:
    return Article.objects.order_by("-updated_at").values_list("pk", "updated_at")[:_NEWEST]
