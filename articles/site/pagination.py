"""Keyset pagination of readers' lists: no article is skipped or repeated while new ones go live."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from django.db.models import Q
from django.http import Http404, QueryDict

from articles.images import gather_covers
from articles.limits import PAGE_SIZE
from articles.listing import Cursor, InvalidCursor, cursor_of, first_live
from articles.models import NEWEST_FIRST, Article, ArticleQuerySet
from articles.site.streams import Stream
from scheduling.database import compiled_once

SIZE = 10
"""Articles on a page, unless the query has another `page_size`."""


_LATEST = datetime(9999, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Page:
    """One page of articles, newest first, and the queries of its neighbours."""

    articles: Sequence[Article]
    last: Article | None  #: the next page begins after this one; None on the last page
    size: int = SIZE
    here: str = ""  #: the query of this page; empty on the first

    @property
    def is_first(self) -> bool:
        """Whether it is the first page."""
        return not self.here

    @property
    def newer(self) -> str:
        """The query of the previous page; empty on the first."""
        return self._query("after", self.articles[0]) if self.here else ""

    @property
    def older(self) -> str:
        """The query of the next page; empty on the last."""
        return self._query("before", self.last) if self.last else ""

    def _query(self, parameter: str, article: Article) -> str:
        size = "" if self.size == SIZE else f"&page_size={self.size}"
        return f"?{parameter}={cursor_of(article)}{size}"


def page_of(stream: Stream, query: QueryDict) -> Page:
    """The page of a stream that a query requests: the first one, or the one `before` or `after` a cursor.

    Raises `Http404` for an invalid cursor, and for one with no articles beyond it.
    """
    size = page_size(query)
    if after := query.get("after"):  # fewer newer articles than a page has: the first page is shown instead
        newer = _beyond(stream, _decode(after).newer, ("goes_live_at", "id"), size + 1)
        if len(newer) > size:
            return _page(newer[size - 1 :: -1], has_more=True, size=size, here=f"?after={after}")
    elif before := query.get("before"):
        older = _beyond(stream, _decode(before).older, NEWEST_FIRST, size + 1)
        return _page_from(older, size=size, here=f"?before={before}")
    return _page_from(compiled_once(_first, stream, size + 1), size=size)


def _beyond(stream: Stream, condition: Q, order: tuple[str, str], limit: int) -> Sequence[Article]:
    """The first articles beyond a cursor."""
    live, candidates = (
        articles.filter(condition).order_by(*order) for articles in (_live(stream), stream.candidates())
    )
    return first_live(live, candidates, limit)


def _first(stream: Stream, limit: int) -> ArticleQuerySet:
    return _live(stream)[:limit]


def _live(stream: Stream) -> ArticleQuerySet:
    return stream.live().select_related("channel", "author").defer("body")


def _page_from(articles: Sequence[Article], *, size: int, here: str = "") -> Page:
    """The page of the first `articles`. Raises `Http404` if there are none, unless it is the first page."""
    if here and not articles:
        raise Http404
    return _page(articles[:size], has_more=len(articles) > size, size=size, here=here)


def from_newest() -> str:
    """The query of the list that begins with the newest article, for pages that begin with other things."""
    return f"?before={Cursor(_LATEST, 0)}"


def has_cursor(query: QueryDict) -> bool:
    """Whether a query requests another page than the first."""
    return bool(query.get("before") or query.get("after"))


def page_size(query: QueryDict) -> int:
    """The page size that a query requests, at most `PAGE_SIZE`. Raises `Http404` for an invalid one."""
    text = query.get("page_size", str(SIZE))
    if not (text.isascii() and text.isdecimal() and text.strip("0")):
        raise Http404
    return min(int(text.lstrip("0")[:9]), PAGE_SIZE)


def _page(rows: Sequence[Article], *, has_more: bool, size: int, here: str) -> Page:
    gather_covers(rows)
    return Page(rows, last=rows[-1] if has_more else None, size=size, here=here)


def _decode(cursor: str) -> Cursor:
    try:
        return Cursor.decode(cursor)
    except InvalidCursor as error:
        raise Http404 from error
