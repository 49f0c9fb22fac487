"""The reading instant: `?at=` shows the newsroom the whole site as readers get it, or got it, at another instant.

It is the site's own code with another "now": the same queries, with what is due until then, or what has changed since
then undone. Nothing of it is cached.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote, urlencode, urljoin

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.template.response import SimpleTemplateResponse
from django.urls import resolve as page_at
from django.utils import timezone
from django.utils.timezone import is_naive
from django.utils.translation import gettext as _
from django.views.defaults import page_not_found

from articles.cache import HEADER, bypassing, changes_beside
from articles.exceptions import TooMany
from articles.limits import TIME_LENGTH
from articles.models import SharedPage, Stop, stops
from articles.pages import uncached
from articles.permissions import reads_articles
from articles.publishing import is_page, may_share
from articles.releases import Past, as_due, as_was, past_changes_beside, recorded_since
from articles.site.compared import compare
from articles.text import AmbiguousTime, NonexistentTime, format_time_briefly, format_time_exactly, resolve
from scheduling.database import NoTimeZone, OutOfRange, at_instant, read_database_clock, snapshot, storable

AT = "at"
"""The parameter with the instant."""

WITH, NOW = "with", "now"
"""The parameter with the instant that a page is compared with, and its value for the present."""

_PAGES = frozenset({"home", "front", "latest", "channel", "tag", "author", "article", "article-by-id", "search"})
"""The names of those with the bar."""

VIEWS_OF_READERS = _PAGES | frozenset(
    {
        "feed", "channel-feed", "tag-feed", "author-feed",
        "sitemap", "sitemap-pages", "sitemap-section", "news-sitemap",
        "live-article-list", "live-article-detail", "channel-list", "front-detail",
    }
)  # fmt: skip
"""The names of the readers' addresses."""

_OF_READERS = re.compile(r'(<a (?!class="live")[^<>]*?\bhref=")(/(?!admin/|api/|media/|static/)[^"#]*)')
"""Links between readers' pages."""

_LINK = re.compile(r'(<a (?!class="live")[^<>]*?) ?\bhref="([^"<>]*)"')
"""Links of a shared page, but that of its bar."""

_MOST_REDIRECTS = 2

_OF_CACHES = ("ETag", "Last-Modified", "Cache-Tag", HEADER)


MOST_STOPS = 20
"""Changes that the bar offers."""


class NoInstant(Exception):
    """The text is no instant that can be shown; the message says why."""


@dataclass(frozen=True)
class ReadingStop:
    """A coming change that the bar offers."""

    value: str
    label: str
    is_shown: bool


@dataclass(frozen=True)
class Reading:
    """The instant of a request, its neighbours at which something changes, and the address of the live page."""

    at: datetime
    previous: str  #: the query of the page at the last change before; empty without one
    next: str
    live: str
    stops: list[ReadingStop] = field(default_factory=list)
    others: list[tuple[str, str]] = field(default_factory=list)  #: the page's own parameters
    may_share: bool = False
    until: str = ""  #: when the link to this one page ends; empty for the newsroom, whose links lead on
    recorded: str = ""  #: since when it is recorded what readers saw; empty for an instant to come
    unknown: int = 0  #: articles of a past instant whose text is not recorded

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
        now = read_database_clock()
        moment, other = _instant_in(request.GET[AT], now), _compared_instant(request, now)
        has_bar = other is not None or (request.resolver_match and request.resolver_match.url_name in _PAGES)
        reading = _reading(request, moment, now) if has_bar else Reading(moment, "", "", request.path)
        request.reading = reading  # type: ignore[attr-defined]  # for the templates
        _drop_parameters(request)

        def shown(moment: datetime) -> HttpResponse:
            with _read_at(moment, is_past=moment < now) as past:
                request.reading = replace(request.reading, unknown=past.unknown)  # type: ignore[attr-defined]
                response: Any = view(request, *args, **options)
                return _rendered(response)

        if other is not None:
            old = shown(other)
            response = _rendered(compare(request, (other, old), (moment, shown(moment))))
        else:
            response = shown(moment)
    except (NoInstant, TooMany) as error:
        return uncached(HttpResponse(str(error), status=HTTPStatus.BAD_REQUEST, content_type="text/plain"))
    return _marked(response, moment)


@contextmanager
def _read_at(moment: datetime, *, is_past: bool) -> Iterator[Past]:
    """Let this block read what readers get, or got, at an instant. Raises `TooMany`."""
    with snapshot(), bypassing(), at_instant(moment):
        if is_past:
            with as_was(moment) as past:
                yield past
        else:
            with as_due():
                yield Past()


def show_shared(request: HttpRequest, shared: SharedPage) -> HttpResponse:
    """A shared page as of its instant, with the bar. It leads nowhere: what it links to may not be public."""
    request.reading = Reading(shared.at, "", "", "/", until=format_time_exactly(shared.expires_at))  # type: ignore[attr-defined]
    with snapshot(), bypassing(), at_instant(shared.at), as_due():
        address, response = shared.page, _page_at(request, shared.page)
        for _redirect in range(_MOST_REDIRECTS):  # an article may have another address by then
            address = urljoin(address, response.headers.get("Location", ""))
            if not (response.has_header("Location") and is_page(address)):
                break
            response = _page_at(request, address)
    for name in _OF_CACHES:
        response.headers.pop(name, None)
    html = _leading_nowhere(response.content.decode(response.charset))
    response.content = html.encode(response.charset)
    return uncached(response)


def _leading_nowhere(page: str) -> str:
    """A page without forms, and without the addresses of its links to pages of readers."""
    first, *others = page.split("<form")
    page = first + "".join(one.partition("</form>")[2] for one in others)
    return _LINK.sub(lambda link: link[1] if _is_of_site(link[2]) else link[0], page)


def _is_of_site(address: str) -> bool:
    path = address.removeprefix(settings.SITE_URL.rstrip("/"))
    return path.startswith("/") and not path.startswith("//")


def _page_at(request: HttpRequest, address: str) -> HttpResponse:
    """What is at the address of a readers' page, for the visitor of another; not found is a page as well."""
    path, _mark, request.META["QUERY_STRING"] = address.partition("?")
    request.path = request.path_info = request.META["PATH_INFO"] = unquote(path)
    request.__dict__.pop("GET", None)  # a cached property of the query string
    request.resolver_match = match = page_at(request.path)
    try:
        return _rendered(match.func(request, *match.args, **match.kwargs))
    except Http404 as error:
        return page_not_found(request, error)


def _rendered(response: Any) -> HttpResponse:
    return response.render() if isinstance(response, SimpleTemplateResponse) else response


def _compared_instant(request: HttpRequest, now: datetime) -> datetime | None:
    """The instant that the page is compared with; None without one."""
    text = request.GET.get(WITH)
    return None if text is None else now if text == NOW else _instant_in(text, now)


def _instant_in(text: str, now: datetime) -> datetime:
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
    if moment < now and moment < (since := recorded_since(now, moment)):
        text = _("What readers saw before %(time)s is not recorded; choose a later time.")
        raise NoInstant(text % {"time": format_time_exactly(since)})
    return moment


def _reading(request: HttpRequest, moment: datetime, now: datetime) -> Reading:
    recorded = None
    if moment < now:
        recorded = recorded_since(now, moment)
        previous, following = past_changes_beside(moment, since=recorded)
    else:
        previous, following = changes_beside(moment, since=now)
    query = _own_parameters(request)
    live = f"{request.path}?{query.urlencode()}" if query else request.path
    shown = [
        ReadingStop(stop.at.isoformat(), _described(stop), is_shown=stop.at == moment)
        for stop in stops(now, limit=MOST_STOPS)
    ]
    others = [(name, str(query[name])) for name in query]
    is_shared = not recorded and is_page(live) and may_share(request.newsroom_user())  # type: ignore[attr-defined]
    since = format_time_exactly(recorded) if recorded else ""
    queries = _query(query, previous), _query(query, following)
    return Reading(moment, *queries, live, shown, others, is_shared, recorded=since)


def _own_parameters(request: HttpRequest) -> QueryDict:
    query = request.GET.copy()
    for name in (AT, WITH):
        query.pop(name, None)
    return query


def _described(stop: Stop) -> str:
    """Its time, and what changes."""
    kinds = (f"{number} × {kind.label}" if number > 1 else str(kind.label) for kind, number in stop.numbers.items())
    return " · ".join([format_time_briefly(stop.at), *kinds])


def _query(others: QueryDict, moment: datetime | None) -> str:
    if moment is None:
        return ""
    query = others.copy()
    query[AT] = moment.isoformat()
    return f"?{query.urlencode()}"


def _drop_parameters(request: HttpRequest) -> None:
    """The view does not know them."""
    query = _own_parameters(request)
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
