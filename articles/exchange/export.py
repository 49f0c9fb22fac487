"""Articles as records that an import understands, any number of them in little memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import models

from articles.exchange.external_id import identity
from articles.exchange.fields import tidy
from articles.models import Article, ArticleQuerySet, Channel, ChannelQuerySet, CoverMode, Tag
from articles.text import clean_html

PAGE = 200
"""Articles that are read with one statement."""

Status = Article.Status
UNPUBLISHED = (Status.UNPUBLISHED, Status.RETRACTED)


@dataclass(frozen=True, slots=True)
class Item:
    """An article that is written as it stands at `now`, and its tags by name."""

    article: Article
    tags: list[Tag]
    now: datetime

    def fields(self) -> dict[str, Any]:
        """All of it by the names that imports use, see `articles.exchange.records.FIELDS`.

        Times are in UTC, addresses are whole, and what is not shown to readers is not in the body either.
        """
        article, status = self.article, self._status()
        return {
            "external_id": article.external_id or identity(article),
            "title": tidy(article.title),
            "slug": article.slug,
            "summary": tidy(article.summary),
            "body": tidy(clean_html(article.body, base=f"{settings.SITE_URL}/")),
            "body_format": "html",
            "status": status.name.lower(),
            "status_reason": article.status_reason,
            "retraction_notice": article.retraction_notice if status == Status.RETRACTED else "",
            "publish_at": _moment(article.publish_at),
            "published_at": _moment(self._went_live_at(status)),
            "embargo_until": _moment(article.embargo_until),
            "unpublish_at": _moment(article.unpublish_at),
            "text_changed_at": _moment(self._text_changed_at()),
            "cover_mode": article.cover_mode,
            "cover": [] if article.cover_mode == CoverMode.AUTO else article.cover,
            "author": article.author.get_username() if article.author else "",
            "author_name": article.author.get_full_name() if article.author else "",
            "byline": tidy(article.byline),
            "channel": article.channel.name if article.channel else "",
            "tags": [tag.name for tag in self.tags],
        }

    def _went_live_at(self, status: Article.Status) -> datetime | None:
        """Its own time if it is live and no worker has stamped it; nothing if it waits."""
        if status == Status.PUBLISHED:
            return self.article.published_at or self.article.goes_live_at
        return self.article.published_at if status in UNPUBLISHED else None

    def _text_changed_at(self) -> datetime | None:
        """An import stamps what has none; what readers are told of an article that was never changed stays so."""
        article = self.article
        if article.text_changed_at or article.status not in Status.visible():
            return article.text_changed_at
        return min(article.goes_live_at or article.created_at, article.created_at)

    def _status(self) -> Article.Status:
        """As others need it. Nobody elsewhere has started the automatic review of what is waiting for it here."""
        status = Status(self.article.status)
        if status in Status.visible():
            return self._status_by_the_clock(status)
        return Status.MANUAL_REVIEW if status == Status.SUBMITTED else status

    def _status_by_the_clock(self, status: Article.Status) -> Article.Status:
        """What is live is published even if no worker has noted it yet; what readers do not see is not."""
        goes_live_at = self.article.goes_live_at
        if goes_live_at is not None and goes_live_at <= self.now:
            return Status.PUBLISHED
        if status != Status.PUBLISHED:
            return status
        return Status.APPROVED if goes_live_at else Status.DRAFT


@dataclass
class Export:
    """The articles that are to be written, as of `now`. `done` is how many of them have been handed out."""

    articles: ArticleQuerySet
    now: datetime
    done: int = 0

    def items(self) -> Iterator[Item]:
        """Each article, in the order in which the articles were made."""
        for page in self._pages(self.articles.select_related("channel", "author")):
            tags = _tags_of(page)
            for article in page:
                yield Item(article, tags.get(article.pk, []), self.now)
                self.done += 1

    def channels(self) -> ChannelQuerySet:
        """Those that the articles are in."""
        return Channel.objects.filter(pk__in=self.articles.order_by().values("channel"))

    def users(self) -> models.QuerySet[Any]:
        """Those who wrote the articles."""
        authors = self.articles.order_by().values("author")
        return get_user_model()._default_manager.filter(pk__in=authors).order_by("pk")

    def _pages(self, articles: ArticleQuerySet) -> Iterator[list[Article]]:
        last = 0
        while page := list(articles.filter(pk__gt=last).order_by("pk")[:PAGE]):
            yield page
            last = page[-1].pk


Writer = Callable[[Export], Iterator[str]]
"""A format: yields the text of a file that holds the articles of an export, in constant memory."""


def _tags_of(page: Iterable[Article]) -> dict[int, list[Tag]]:
    """By article. Django's prefetching would tie each article into a ring, which stays in memory for long."""
    taggings = Article.tags.through.objects.filter(article__in=page).select_related("tag")
    found: dict[int, list[Tag]] = {}
    for tagging in sorted(taggings, key=lambda tagging: tagging.tag.name):
        found.setdefault(tagging.article_id, []).append(tagging.tag)
    return found


def _moment(moment: datetime | None) -> str | None:
    return moment.astimezone(UTC).isoformat() if moment else None
