"""Views whose answers are kept: each is made once for all readers, and given out until it changes."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from functools import wraps
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote

from django.conf import settings
from django.core.handlers.exception import response_for_exception
from django.db import connection
from django.http import Http404, HttpRequest, HttpResponse, HttpResponsePermanentRedirect, QueryDict
from django.http.response import HttpResponseBase
from django.template.response import SimpleTemplateResponse
from django.urls import NoReverseMatch, reverse
from django.utils.crypto import salted_hmac
from django.utils.translation import get_language

from articles.cache.response import Answer, deliver
from articles.cache.store import Made, Store
from articles.cache.tags import HEADER
from articles.cache.ttl import look_ahead

View = Callable[..., HttpResponseBase]

ADDRESSES = 10_000
"""Answers that a view keeps at most to addresses without a query: pages of articles, channels, tags, authors."""

QUERIES = 1_000
"""Answers that a view keeps at most to addresses with a query: searches, and the pages of a list behind its first."""

LARGEST_PAGE = 50
"""Entries on a page of any list, at most."""


class WrongSlug(Exception):
    """What is asked for has another slug: `slug`, the one that its address should end in."""

    def __init__(self, slug: str) -> None:
        super().__init__(slug)
        self.slug = slug


def cached(*parameters: str, one_language: bool = False, most: int = QUERIES) -> Callable[[View], View]:
    """Keep what a view answers to GET and HEAD, if that is 200, until it changes.

    The view names what it shows by `tagged`. Its answer depends on its canonical address, with those of the query's
    parameters that are named here, and, unless it is in `one_language`, on the language alone: the view sees no other
    parameter and asks for no host. Another spelling of the address leads to the canonical one. A view keeps no more
    than `ADDRESSES` answers, and `most` to addresses with a query, so that nobody fills the cache by asking for
    something new: each has a place, which nobody outside can reckon, and takes that of whichever was there. Inside a
    transaction, whose changes nobody else sees, nothing is kept.
    """

    def decorate(view: View) -> View:
        @wraps(view)
        def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if request.method not in ("GET", "HEAD"):
                return view(request, *args, **kwargs)
            _use_canonical_query(request, parameters)
            if (path := _canonical_path(request)) is not None:
                return _moved(request, path)
            asked = _asked(request, settings.LANGUAGE_CODE if one_language else get_language())
            made, ends = kept(
                view.__qualname__, asked, lambda: _seen(view, request, *args, **kwargs),
                most=most if request.GET else ADDRESSES,
            )  # fmt: skip
            if not isinstance(made, Answer):
                return made
            response = deliver(request, made, ends - time.monotonic())
            if one_language:
                response.headers["Content-Language"] = settings.LANGUAGE_CODE
            return response

        return answer

    return decorate


def kept(name: str, asked: str, view: Callable[[], HttpResponseBase], *, most: int) -> Made:
    """What `view` answers to `asked`, kept in one of `most` places of this name."""
    digest = salted_hmac("articles.cache.views", asked, algorithm="sha256").hexdigest()[:40]
    key = f"pages:3:{name}:{most}:{int(digest, 16) % most}"
    store = Store(key, digest, lambda: _make(key, digest, view))
    return store.make() if connection.in_atomic_block else store.get()


def _use_canonical_query(request: HttpRequest, known: Collection[str]) -> None:
    """The known parameters alone, in one order, and a size as its number, which is never too large."""
    given, query = request.GET, QueryDict(mutable=True)
    for name in sorted(given.keys() & set(known)):
        query[name] = _canonical_size(given[name]) if name == "page_size" else given[name]
    request.META["QUERY_STRING"] = query.urlencode()
    request.__dict__.pop("GET", None)  # it is made anew of the query string


def _canonical_size(text: str) -> str:
    """A size without zeros before it and within `LARGEST_PAGE`; whatever is no size stays what it is."""
    if not (text.isascii() and text.isdecimal() and text.strip("0")):
        return text
    return str(min(int(text.lstrip("0")[:9]), LARGEST_PAGE))


def _canonical_path(request: HttpRequest) -> str | None:
    """The address that spells the same path as the site does, if it was asked for in another way, such as `/007/`."""
    match = request.resolver_match
    if match is None:
        return None
    try:
        path = reverse(match.view_name, args=match.args, kwargs=match.kwargs)
    except NoReverseMatch:
        return None
    return None if unquote(path) == request.path else path


def _moved(request: HttpRequest, path: str) -> HttpResponseBase:
    query = request.META["QUERY_STRING"]
    return HttpResponsePermanentRedirect(f"{path}?{query}" if query else path)


def _asked(request: HttpRequest, language: str | None) -> str:
    """What is asked for: the same at each of the site's hosts, for all addresses in answers begin with `SITE_URL`."""
    return f"{language} {request.path}?{request.META['QUERY_STRING']}"


def _seen(view: View, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
    """What the view answers, also where it finds nothing, or finds it under another slug."""
    try:
        return view(request, *args, **kwargs)
    except WrongSlug as wrong:
        return _moved(request, reverse(request.resolver_match.view_name, kwargs=kwargs | {"slug": wrong.slug}))  # type: ignore[union-attr]
    except Http404 as error:
        return response_for_exception(request, error)


def _make(key: str, asked: str, view: Callable[[], HttpResponseBase]) -> Made:
    """The clock is read before the view looks, so that what changes meanwhile is not taken for what will stay."""
    horizon = look_ahead()
    response = view()
    if isinstance(response, SimpleTemplateResponse):
        response.render()
    if isinstance(response, HttpResponse) and response.status_code == HTTPStatus.OK and not response.cookies:
        return Answer.of(response, key, asked, horizon.now), horizon.ends
    response.headers.pop(HEADER, None)
    return response, horizon.ends
