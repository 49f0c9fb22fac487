"""Parts of the news, which lists and searches are narrowed to, and how to walk in them without passing by the rest."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery

from articles.listing.cursor import Cursor
from articles.models import Article, ArticleQuerySet, Channel, Tag, in_any
from scheduling.services import database_now

NEXT = 100
"""Articles of a part among which those of a page are looked for first."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """What belongs to a channel, has a tag, is by an author, is of a time: all that is not None, by primary keys.

    `since` is in it, `until` is not; `older` leaves out what is newer than a place, and what stands there.
    """

    channel: int | None = None
    tag: int | None = None
    author: int | None = None
    since: datetime | None = None
    until: datetime | None = None
    older: Cursor | None = None

    @property
    def is_newest(self) -> bool:
        """Whether the newest articles of all belong to it."""
        return self.until is None and self.older is None

    def of(self, articles: ArticleQuerySet) -> ArticleQuerySet:
        """Those of `articles` that belong to it."""
        return self._placed(articles if self.author is None else articles.signed_by(self.author))

    def live(self) -> ArticleQuerySet:
        """What readers may see of it now, newest first."""
        return self.of(Article.objects.live(database_now())).newest_first()

    def shelf(self) -> ArticleQuerySet:
        """The same as an index alone tells it: also what is not live, and an author's without his name."""
        articles = Article.objects.filter(publish_at__lte=database_now())
        return self._placed(articles if self.author is None else articles.filter(author=self.author)).newest_first()

    def _placed(self, articles: ArticleQuerySet) -> ArticleQuerySet:
        if self.channel is not None:
            articles = articles.filter(channel=self.channel)
        if self.tag is not None:
            articles = articles.tagged(self.tag)
        return articles.filter(self._span())

    def _span(self) -> Q:
        span = Q() if self.older is None else self.older.older
        if self.since is not None:
            span &= Q(publish_at__gte=self.since)
        return span if self.until is None else span & Q(publish_at__lt=self.until)


def live_tags() -> QuerySet[Tag]:
    """Tags that live articles have; a name in a draft would be known before its time.

    One statement, which looks for one row along the tag's index; as EXISTS it would walk through all.
    """
    newest = Article.objects.live(database_now()).tagged(OuterRef("pk")).newest_first().values("pk")[:1]
    return Tag.objects.alias(newest=Subquery(newest)).filter(newest__isnull=False)


def live_authors() -> QuerySet[Any]:
    """People whom live articles name."""
    signed = Article.objects.live(database_now()).signed_by(OuterRef("pk"))
    return get_user_model()._default_manager.filter(Exists(signed))


def part_named(channel: str = "", tag: str = "", **others: Any) -> Part:
    """The part of a channel and a tag that are given by their slugs; there is nothing in one that does not exist."""
    channels, tags = Channel.objects.filter(slug=channel), Tag.objects.filter(slug=tag)
    return Part(channel=_key(channels) if channel else None, tag=_key(tags) if tag else None, **others)


def _key(named: QuerySet[Any]) -> int:
    return named.values_list("pk", flat=True).first() or 0


def nearest(live: QuerySet[Article], shelf: QuerySet[Article], most: int) -> list[Article]:
    """The first `most` of `live`, which are on `shelf` in the same order.

    They are looked for among the first of the shelf, live or not, which an index alone tells; only where hardly any are
    live, among all. Asked for live ones, MariaDB would begin at the end of a channel and walk to the place.
    """
    for few in (NEXT, None):
        found = list(live.filter(pk__in=in_any(shelf.values("pk")[:few]))[:most])
        if len(found) == most:
            break
    return found
