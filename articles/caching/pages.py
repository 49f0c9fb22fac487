"""Views whose answers are kept: each is made once for all readers, and given out until it changes."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from functools import wraps
from hashlib import sha256
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.core.handlers.exception import response_for_exception
from django.db import connection
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.template.response import SimpleTemplateResponse
from django.utils.translation import get_language

from articles.caching.answers import Answer, deliver
from articles.caching.coherence import look_ahead
from articles.caching.store import Made, Store
from articles.caching.tags import HEADER

View = Callable[..., HttpResponseBase]

SEARCHES = 1_000
"""Answers to searches that are kept, on each of the addresses where one can search."""


def cached(*parameters: str, one_language: bool = False, most: int | None = None) -> Callable[[View], View]:
    """Keep what a view answers to GET and HEAD, if that is 200, until it changes.

    The view names what it shows by `tagged`. It sees those of the query's parameters that are named here and no others,
    so that nobody fills the cache by inventing some; its answer depends on them, the address, the host and, unless it
    is in `one_language`, the language alone. Where anybody can ask something new, such as a search, no more than `most`
    answers are kept: each has a place by its address, and takes that of whichever was there. Inside a transaction,
    whose changes nobody else sees, nothing is kept.
    """

    def decorate(view: View) -> View:
        @wraps(view)
        def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if request.method not in ("GET", "HEAD"):
                return view(request, *args, **kwargs)
            _forget_other_parameters(request, parameters)
            asked = _asked(request, settings.LANGUAGE_CODE if one_language else get_language())
            key = f"pages:2:{asked if most is None else f'{view.__qualname__}:{int(asked, 16) % most}'}"
            store = Store(key, asked, lambda: _make(key, asked, lambda: _seen(view, request, *args, **kwargs)))
            made, ends = store.make() if connection.in_atomic_block else store.get()
            if not isinstance(made, Answer):
                return made
            response = deliver(request, made, ends - time.monotonic())
            if one_language:
                response.headers["Content-Language"] = settings.LANGUAGE_CODE
            return response

        return answer

    return decorate


def _forget_other_parameters(request: HttpRequest, known: Collection[str]) -> None:
    given, query = request.GET, QueryDict(mutable=True)
    for name in sorted(given.keys() & set(known)):
        query[name] = given[name]
    request.META["QUERY_STRING"] = query.urlencode()
    request.__dict__.pop("GET", None)  # it is made anew of the query string


def _asked(request: HttpRequest, language: str | None) -> str:
    """What is asked for, as a number in hexadecimal digits."""
    return sha256(f"{language} {request.build_absolute_uri()}".encode()).hexdigest()[:40]


def _seen(view: View, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
    """What the view answers, also where it finds nothing."""
    try:
        return view(request, *args, **kwargs)
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
