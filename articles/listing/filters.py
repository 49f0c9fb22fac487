"""Filters of article lists and searches, and an index-friendly way to read a page of live articles."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery

from articles.listing.cursor import Cursor
from articles.models import Article, ArticleQuerySet, Channel, Tag
from scheduling.database import database_now, in_any

FIRST_CANDIDATES = 100
"""Candidates among which the live articles of a page are looked for first."""


@dataclass(frozen=True, kw_only=True)
class ArticleFilter:
    """Filters by channel, tag, author (primary keys), language and time; those that are None do not apply.

    `since` is inclusive, `until` exclusive; `older` keeps only articles after that cursor.
    """

    channel: int | None = None
    tag: int | None = None
    author: int | None = None
    language: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    older: Cursor | None = None

    @property
    def is_newest(self) -> bool:
        """Whether the newest articles may match."""
        return self.until is None and self.older is None

    def apply(self, articles: ArticleQuerySet) -> ArticleQuerySet:
        """The articles that match."""
        return self._narrow(articles if self.author is None else articles.signed_by(self.author))

    def live(self) -> ArticleQuerySet:
        """The live articles that match, newest first."""
        return self.apply(Article.objects.live(database_now())).newest_first()

    def candidates(self) -> ArticleQuerySet:
        """A superset of `live` that an index alone can answer: live or not, and without the check of the byline."""
        articles = Article.objects.filter(goes_live_at__lte=database_now())
        return self._narrow(articles if self.author is None else articles.filter(author=self.author)).newest_first()

    def _narrow(self, articles: ArticleQuerySet) -> ArticleQuerySet:
        if self.channel is not None:
            articles = articles.filter(channel=self.channel)
        if self.tag is not None:
            articles = articles.tagged(self.tag)
        if self.language is not None:
            articles = articles.filter(language=self.language)
        return articles.filter(self._span())

    def _span(self) -> Q:
        span = Q() if self.older is None else self.older.older
        if self.since is not None:
            span &= Q(goes_live_at__gte=self.since)
        return span if self.until is None else span & Q(goes_live_at__lt=self.until)


def live_tags() -> QuerySet[Tag]:
    """Tags of live articles. Other tags stay hidden, since a draft's tag may reveal its subject.

    A subquery reads one row of each tag's index; EXISTS would read all of them.
    """
    newest = Article.objects.live(database_now()).tagged(OuterRef("pk")).newest_first().values("pk")[:1]
    return Tag.objects.alias(newest=Subquery(newest)).filter(newest__isnull=False)


def live_authors() -> QuerySet[Any]:
    """Users who are named as the author of a live article."""
    signed = Article.objects.live(database_now()).signed_by(OuterRef("pk"))
    return get_user_model()._default_manager.filter(Exists(signed))


def filter_by_slugs(channel: str = "", tag: str = "", **others: Any) -> ArticleFilter:
    """A filter by the slugs of a channel and a tag; an unknown slug matches no article."""
    channels, tags = Channel.objects.filter(slug=channel), Tag.objects.filter(slug=tag)
    return ArticleFilter(channel=_pk(channels) if channel else None, tag=_pk(tags) if tag else None, **others)


def _pk(rows: QuerySet[Any]) -> int:
    return rows.values_list("pk", flat=True).first() or 0


def first_live(live: QuerySet[Article], candidates: QuerySet[Article], limit: int) -> list[Article]:
    """The first `limit` rows of `live`, a subset of `candidates` in the same order.

    They are looked for among the first candidates, which an index alone can answer, and among all only if too few of
    those are live. Queried directly, MariaDB would read the whole channel from its newest article to the cursor.
    """
    for number in (FIRST_CANDIDATES, None):
        found = list(live.filter(pk__in=in_any(candidates.values("pk")[:number]))[:limit])
        if len(found) == limit:
            break
    return found
