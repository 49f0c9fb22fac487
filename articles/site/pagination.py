"""Pages of a list that grows at its head while people read: each begins where another ended; none skips or repeats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.core.signing import BadSignature
from django.db.models import Q
from django.http import Http404, QueryDict

from articles.cache import LARGEST_PAGE
from articles.images import gather_covers
from articles.listing import Cursor, cursor_of, nearest
from articles.models import Article, ArticleQuerySet
from articles.site.streams import Scope

SIZE = 10
"""Articles on a page, unless `?page_size=` asks for another number."""


@dataclass(frozen=True)
class Page:
    """Some articles, newest first, and whether there are newer and older ones."""

    articles: Sequence[Article]
    last: Article | None  #: the next page begins after this one; None on the last page
    size: int = SIZE
    here: str = ""  #: the query that leads to it; empty on the first

    @property
    def is_first(self) -> bool:
        """Whether there is nothing newer."""
        return not self.here

    @property
    def newer(self) -> str:
        """The query of the page before this one; empty on the first."""
        return self._query("after", self.articles[0]) if self.here else ""

    @property
    def older(self) -> str:
        """The query of the page after this one; empty on the last."""
        return self._query("before", self.last) if self.last else ""

    def _query(self, way: str, article: Article) -> str:
        size = "" if self.size == SIZE else f"&page_size={self.size}"
        return f"?{way}={cursor_of(article)}{size}"


def page_of(scope: Scope, asked: QueryDict) -> Page:
    """The page of a part of the news that a query asks for: the newest articles, or those on one side of a place.

    Raises `Http404` for a place that nobody was led to, or that has nothing beyond it.
    """
    size = size_asked(asked)
    if after := asked.get("after"):  # what is less than a page is shown as the first page, which has more
        newer = _beside(scope, _read(after).newer, ("publish_at", "id"), size + 1)
        if len(newer) > size:
            return _page(newer[size - 1 :: -1], has_more=True, size=size, here=f"?after={after}")
    elif before := asked.get("before"):
        older = _beside(scope, _read(before).older, ("-publish_at", "-id"), size + 1)
        return _page_from(older, size=size, here=f"?before={before}")
    return _page_from(_live(scope), size=size)


def _beside(scope: Scope, side: Q, order: tuple[str, str], most: int) -> Sequence[Article]:
    """The first articles on one side of a place."""
    live, shelf = (articles.filter(side).order_by(*order) for articles in (_live(scope), scope.shelf()))
    return nearest(live, shelf, most)


def _live(scope: Scope) -> ArticleQuerySet:
    return scope.live().select_related("channel", "author").defer("body")


def _page_from(articles: Sequence[Article] | ArticleQuerySet, *, size: int, here: str = "") -> Page:
    """The first of `articles`, in their order. Raises `Http404` if there are none, unless it is the first page."""
    rows = list(articles[: size + 1])
    if here and not rows:
        raise Http404
    return _page(rows[:size], has_more=len(rows) > size, size=size, here=here)


def is_asked(asked: QueryDict) -> bool:
    """Whether a query asks for another page than the first."""
    return bool(asked.get("before") or asked.get("after"))


def size_asked(asked: QueryDict) -> int:
    """How many articles a query wants on a page, at most `LARGEST_PAGE`. Raises `Http404` for what is none."""
    text = asked.get("page_size", str(SIZE))
    if not (text.isascii() and text.isdecimal() and text.strip("0")):
        raise Http404
    return min(int(text.lstrip("0")[:9]), LARGEST_PAGE)


def _page(rows: Sequence[Article], *, has_more: bool, size: int, here: str) -> Page:
    gather_covers(rows)
    return Page(rows, last=rows[-1] if has_more else None, size=size, here=here)


def _read(cursor: str) -> Cursor:
    try:
        return Cursor.read(cursor)
    except BadSignature as error:
        raise Http404 from error
