"""The response of the palette, at the URL of unfold's own search.

Unfold's view remembers each user's results for five minutes, also of articles that have changed since and after a
permission is revoked, and does not bound what it finds. So only its dialog and its script are used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from unfold.dataclasses import SearchResult

from articles.desk.palette.commands import commands, places
from articles.desk.palette.sources import SOURCES
from articles.limits import PALETTE_LENGTH


@never_cache
@require_safe
def search(request: HttpRequest) -> HttpResponse:
    """Commands, screens and what the sources find; without a text the commands alone."""
    text = " ".join(request.GET.get("s", "").replace("\0", "").split())[:PALETTE_LENGTH]
    results = _found(request, text) if text else commands(request)
    return TemplateResponse(request, "articles/desk/palette.html", {"results": list(results)})


def _found(request: HttpRequest, text: str) -> Iterator[SearchResult]:
    yield from _titled(commands(request), text)
    yield from _titled(places(request), text)
    for source in SOURCES:
        yield from source(request, text)


def _titled(results: Iterable[SearchResult], text: str) -> Iterator[SearchResult]:
    words = text.casefold().split()
    return (result for result in results if all(word in result.title.casefold() for word in words))
