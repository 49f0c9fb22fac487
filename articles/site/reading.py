"""The reading instant: `?at=` shows the newsroom the whole site as readers will get it at another instant.

It is the site's own code with another "now": the same queries, with what is due until then. Nothing of it is cached.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.template.response import SimpleTemplateResponse
from django.utils import timezone
from django.utils.timezone import is_naive
from django.utils.translation import gettext as _

from articles.cache import HEADER, bypassing, changes_beside
from articles.limits import TIME_LENGTH
from articles.pages import uncached
from articles.permissions import reads_articles
from articles.releases import as_due
from articles.text import AmbiguousTime, NonexistentTime, format_time_exactly, resolve
from scheduling.database import NoTimeZone, OutOfRange, at_instant, read_database_clock, storable

AT = "at"
"""The parameter with the instant."""

VIEWS_OF_READERS = frozenset(
    {
        "home", "front", "latest", "channel", "tag", "author", "article", "article-by-id", "search",
        "feed", "channel-feed", "tag-feed", "author-feed",
        "sitemap", "sitemap-pages", "sitemap-section", "news-sitemap",
        "live-article-list", "live-article-detail", "channel-list", "front-detail",
    }
)  # fmt: skip
"""The names of the readers' addresses."""

_OF_READERS = re.compile(r'(<a (?!class="live")[^<>]*?\bhref=")(/(?!admin/|api/|media/|static/)[^"#]*)')
"""Links between readers' pages."""

_OF_CACHES = ("ETag", "Last-Modified", "Cache-Tag", HEADER)


class NoInstant(Exception):
    """The text is no instant that can be shown; the message says why."""


@dataclass(frozen=True)
class Reading:
    """The instant of a request, its neighbours at which something changes, and the address of the live page."""

    at: datetime
    previous: str  #: the query of the page at the last change before; empty without one
    next: str
    live: str

    @property
    def wall(self) -> str:
        """The instant as the browser's field for a time takes it."""
        return timezone.localtime(self.at).replace(tzinfo=None).isoformat(timespec="seconds")

    @property
    def exactly(self) -> str:
        """The instant with its zone."""
        return format_time_exactly(self.at)


def may_read_at(user: Any) -> bool:
    """Whether the user may see the site at other instants: who may read all articles of the newsroom."""
    return bool(user.is_active and user.is_staff and reads_articles(user))


def show_at(
    request: HttpRequest, view: Callable[..., HttpResponseBase], args: Any, options: dict[str, Any]
) -> HttpResponseBase:
    """The response of a readers' view at the instant that the request asks for; 400 for what is none."""
    try:
        moment = _instant_in(request.GET[AT])
    except NoInstant as error:
        return uncached(HttpResponse(str(error), status=HTTPStatus.BAD_REQUEST, content_type="text/plain"))
    request.reading = _reading(request, moment)  # type: ignore[attr-defined]  # for the bar in the templates
    _drop_parameter(request)
    with bypassing(), at_instant(moment), as_due():
        response: Any = view(request, *args, **options)
        if isinstance(response, SimpleTemplateResponse) and not response.is_rendered:
            response.render()
    return _marked(response, moment)


def _instant_in(text: str) -> datetime:
    """The instant in `text`: a time with an offset, or a wall time of the site. Raises `NoInstant`."""
    try:
        given = datetime.fromisoformat(text.replace(" ", "+") if len(text) <= TIME_LENGTH else "")
        moment = storable(resolve(given, timezone.get_default_timezone()) if is_naive(given) else given)
    except NonexistentTime as error:
        text = _("This time does not exist: clocks go forward then. Did you mean %(time)s?")
        raise NoInstant(text % {"time": f"{error.moved:%H:%M}"}) from error
    except AmbiguousTime as error:
        raise NoInstant(_("This time occurs twice: clocks go back then. Add the offset, such as +01:00.")) from error
    except (OutOfRange, OverflowError) as error:
        raise NoInstant(_("The time lies outside the years 1000 to 9999.")) from error
    except (NoTimeZone, ValueError) as error:
        raise NoInstant(_("Give a time such as 2026-11-27T07:00.")) from error
    if moment < (now := read_database_clock()):
        text = _("What readers saw before %(time)s is not recorded; choose a time to come.")
        raise NoInstant(text % {"time": format_time_exactly(now)})
    return moment


def _reading(request: HttpRequest, moment: datetime) -> Reading:
    previous, following = changes_beside(moment, since=read_database_clock())
    query = request.GET.copy()
    del query[AT]
    live = f"{request.path}?{query.urlencode()}" if query else request.path
    return Reading(moment, _query(query, previous), _query(query, following), live)


def _query(others: QueryDict, moment: datetime | None) -> str:
    if moment is None:
        return ""
    query = others.copy()
    query[AT] = moment.isoformat()
    return f"?{query.urlencode()}"


def _drop_parameter(request: HttpRequest) -> None:
    """The view does not know it."""
    query = request.GET.copy()
    del query[AT]
    request.META["QUERY_STRING"] = query.urlencode()
    request.__dict__.pop("GET", None)  # a cached property of the query string


def _marked(response: HttpResponse, moment: datetime) -> HttpResponse:
    """Neither cached nor indexed, with links to other pages at the same instant."""
    for name in _OF_CACHES:
        response.headers.pop(name, None)
    if location := response.headers.get("Location"):
        response.headers["Location"] = _at(location, moment)
    if response.headers.get("Content-Type", "").startswith("text/html"):
        html = response.content.decode(response.charset)
        linked = _OF_READERS.sub(lambda found: f"{found[1]}{_at(found[2], moment, '&amp;')}", html)
        response.content = linked.encode(response.charset)
    return uncached(response)


def _at(address: str, moment: datetime, separator: str = "&") -> str:
    return f"{address}{separator if '?' in address else '?'}{urlencode({AT: moment.isoformat()})}"
