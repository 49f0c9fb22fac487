"""Fronts that readers got at past instants, for the newsroom, and for readers where `FRONT_ARCHIVE` allows it."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import get_language
from django.views.decorators.http import require_safe

from articles import fronts
from articles.pages import uncached
from articles.releases import as_due
from articles.site.home import front_addresses
from articles.site.reading import may_read_at
from articles.site.streams import all_news
from articles.text import NonexistentTime, format_time_exactly, resolve
from scheduling.database import read_database_clock


@require_safe
def front_then(request: HttpRequest, year: int, month: int, day: int, wall: str) -> HttpResponseBase:
    """The composed front at a time of the site, as `/front/2026/11/26/07:00`, with its articles as they are now."""
    if not (settings.FRONT_ARCHIVE or may_read_at(request.newsroom_user())):  # type: ignore[attr-defined]
        raise Http404
    moment = _moment(year, month, day, wall)
    with as_due():  # also what the clock has unpublished or updated, and no worker has stored yet
        return _shown(request, moment)


def _shown(request: HttpRequest, moment: datetime) -> HttpResponseBase:
    language = _language(request)
    front = fronts.front_then(moment, language=language)
    if front is None:
        raise Http404
    address = front_addresses()[language]
    context = {"stream": all_news(), "address": address, "front": front, "then": format_time_exactly(moment)}
    response = uncached(render(request, "articles/front_then.html", context))
    response.headers["X-Robots-Tag"] = "noindex"
    return response


def _language(request: HttpRequest) -> str:
    """The one asked for, as by the history of a front; else the reader's."""
    asked = request.GET.get("language", "")
    return asked if asked in dict(settings.LANGUAGES) else get_language()


def _moment(year: int, month: int, day: int, wall: str) -> datetime:
    """The past instant; of a time that occurs twice, the first. Raises `Http404`."""
    try:
        given = datetime.strptime(f"{year:04}-{month:02}-{day:02} {wall}", "%Y-%m-%d %H:%M")  # noqa: DTZ007 (resolved below)
        moment = resolve(given, timezone.get_default_timezone(), second=False)
    except (ValueError, OverflowError, NonexistentTime) as error:
        raise Http404 from error
    if moment > read_database_clock():
        raise Http404
    return moment
