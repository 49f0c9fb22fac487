"""Pages of a list that grows at its head while people read: each begins after the last article of the one before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from django.db.models import Q

from articles.illustrating import gather_covers
from articles.models import Article
from articles.models.article import ArticleQuerySet


@dataclass(frozen=True)
class Page:
    """Some articles, newest first, and where the next page begins."""

    SIZE: ClassVar[int] = 25

    articles: Sequence[Article]
    is_first: bool
    last: Article | None  #: the next page begins after this one; None on the last page


def page_of(articles: ArticleQuerySet, *, before: Article | None = None) -> Page:
    """The newest of `articles`, or those that are older than `before`."""
    if before is not None:
        articles = articles.filter(older_than(before))
    return page_from(articles.defer("body").newest_first(), is_first=before is None)


def page_from(articles: ArticleQuerySet, *, is_first: bool) -> Page:
    """The first of `articles`, in their order."""
    rows = list(articles[: Page.SIZE + 1])
    shown = rows[: Page.SIZE]
    gather_covers(shown)
    return Page(shown, is_first=is_first, last=shown[-1] if len(rows) > Page.SIZE else None)


def older_than(article: Article) -> Q:
    """What comes after `article` when the newest is first."""
    return Q(publish_at__lt=article.publish_at) | Q(publish_at=article.publish_at, pk__lt=article.pk)
