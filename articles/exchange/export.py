"""Export articles as records that an import can read, in constant memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any

from django.contrib.auth import get_user_model
from django.db import models
from django.db.models import F, Q

from articles.exchange.inner import MOST_SLUGS
from articles.exchange.newsroom import newsroom_fields
from articles.exchange.parts import external_id_of, moment, pages, text_fields
from articles.models import (
    Article,
    ArticleQuerySet,
    Channel,
    ChannelQuerySet,
    Correction,
    Revision,
    Tag,
    due_at,
    not_over_at,
    over_at,
    status_at,
)

PAGE = 200
"""Articles read in one statement."""

Status = Article.Status
_SEEN = (Status.PUBLISHED, Status.UNPUBLISHED, Status.RETRACTED)


@dataclass(frozen=True, slots=True)
class Item:
    """An article as of `now`, with its tags, and what only a whole site has of it."""

    article: Article
    tags: list[Tag]
    now: datetime
    corrections: list[Correction]
    former_slugs: list[str]
    newsroom: Mapping[str, Any] = field(default_factory=dict)

    def fields(self) -> dict[str, Any]:
        """The record's fields, see `articles.exchange.records.RECORD_FIELDS`.

        Times are in UTC, URLs absolute, and the body is sanitised as for readers.
        """
        article, status = self.article, self.status
        return {
            "external_id": external_id_of(article),
            "number": article.pk,
            **text_fields(article),
            "former_slugs": self.former_slugs,
            "status": status.name.lower(),
            "status_reason": article.status_reason,
            "retraction_notice": article.retraction_notice if status == Status.RETRACTED else "",
            "publish_at": moment(article.publish_at),
            "published_at": moment(self.seen_since),
            "embargo_until": moment(article.embargo_until),
            "unpublish_at": moment(article.unpublish_at),
            "text_changed_at": moment(self._text_changed_at()),
            "created_at": moment(article.created_at),
            "author": article.author.get_username() if article.author else "",
            "author_name": article.author.get_full_name() if article.author else "",
            **_channel(article.channel),
            "tags": [tag.name for tag in self.tags],
            "tag_slugs": {tag.name: tag.slug for tag in self.tags},
            "corrections": [{"note": one.note, "published_at": moment(one.published_at)} for one in self.corrections],
            **self.newsroom,
        }

    @property
    def seen_since(self) -> datetime | None:
        """From when readers could see it, whether or not a worker has recorded it; None if they never could."""
        return self.article.seen_since(self.now) if self.status in _SEEN else None

    def _text_changed_at(self) -> datetime | None:
        """An import sets the current time if there is none, so unchanged live articles get the time of publication."""
        article = self.article
        if article.text_changed_at or article.status not in Status.visible():
            return article.text_changed_at
        return min(article.goes_live_at or article.created_at, article.created_at)

    @property
    def status(self) -> Article.Status:
        """The status by the clock, for other systems: no automatic review is running there, and published is live."""
        status = status_at(self.article, self.now)
        if status == Status.PUBLISHED and not self.article.is_out_at(self.now):
            return Status.APPROVED if self.article.goes_live_at else Status.DRAFT
        return Status.MANUAL_REVIEW if status == Status.SUBMITTED else status


def _channel(channel: Channel | None) -> dict[str, Any]:
    """What an import needs to create it alike."""
    if channel is None:
        return {"channel": ""}
    return {
        "channel": channel.name,
        "channel_slug": channel.slug,
        "channel_description": channel.description,
        "channel_position": channel.position,
        "channel_enabled": channel.enabled,
    }


@dataclass
class Export:
    """The articles to export, as of `now`, and with `whole_site` all else; `done` counts the articles yielded."""

    articles: ArticleQuerySet
    now: datetime
    whole_site: bool = False
    done: int = 0

    def items(self) -> Iterator[Item]:
        """Yield each article, in order of creation."""
        for page in pages(self.articles.select_related("channel", "author"), PAGE):
            tags, corrections, slugs = _tags_of(page), _corrections_of(page), _former_slugs_of(page)
            newsroom = newsroom_fields(page) if self.whole_site else {}
            for article in page:
                pk = article.pk
                more = newsroom.get(pk, {})
                yield Item(article, tags.get(pk, []), self.now, corrections.get(pk, []), slugs.get(pk, []), more)
                self.done += 1
            del article

    def channels(self) -> ChannelQuerySet:
        """The channels of the articles."""
        return Channel.objects.filter(pk__in=self.articles.order_by().values("channel"))

    def users(self) -> models.QuerySet[Any]:
        """The authors of the articles."""
        authors = self.articles.order_by().values("author")
        return get_user_model()._default_manager.filter(pk__in=authors).order_by("pk")


def with_statuses(statuses: Collection[Article.Status], now: datetime) -> Q:
    """Whether an article has one of these statuses by the clock: as `Item.status`, for queries."""
    return reduce(or_, (_has_status(status, now) for status in statuses), Q(pk__in=()))


def _has_status(status: Article.Status, now: datetime) -> Q:
    stored, is_timed = Q(status=status), Q(publish_at__isnull=False)
    not_live = ~due_at(now) & not_over_at(now)
    conditions = {
        Status.DRAFT: stored | Q(status=Status.PUBLISHED, publish_at=None),
        Status.MANUALLY_APPROVED: stored & (not_live | ~is_timed),
        Status.APPROVED: Q(status__in=(status, Status.PUBLISHED)) & is_timed & not_live | stored & ~is_timed,
        Status.PUBLISHED: Q(status__in=Status.visible()) & due_at(now) & not_over_at(now),
        Status.UNPUBLISHED: stored | Q(status__in=Status.visible()) & is_timed & over_at(now),
    }
    return conditions.get(status, stored)


Writer = Callable[[Export], Iterator[str]]
"""A format: yields the text of the exported file in parts, in constant memory."""


def _tags_of(page: Iterable[Article]) -> dict[int, list[Tag]]:
    """Tags by article id. `prefetch_related` would create reference cycles that stay in memory for long."""
    taggings = Article.tags.through.objects.filter(article__in=page).select_related("tag")
    found: dict[int, list[Tag]] = {}
    for tagging in sorted(taggings, key=lambda tagging: tagging.tag.name):
        found.setdefault(tagging.article_id, []).append(tagging.tag)
    return found


def _former_slugs_of(page: Iterable[Article]) -> dict[int, list[str]]:
    """The slugs of former addresses, oldest first, by article id."""
    former = Revision.objects.filter(article__in=page, number__lt=F("article__revision"))
    rows = former.exclude(slug=F("article__slug")).exclude(slug="").order_by("number").values_list("article_id", "slug")
    found: dict[int, dict[str, None]] = {}
    for article_id, slug in rows:
        found.setdefault(article_id, {})[slug] = None
    return {article_id: list(slugs)[-MOST_SLUGS:] for article_id, slugs in found.items()}


def _corrections_of(page: Iterable[Article]) -> dict[int, list[Correction]]:
    """Corrections by article id."""
    found: dict[int, list[Correction]] = {}
    for one in Correction.objects.filter(article__in=page).order_by("published_at", "pk"):
        found.setdefault(one.article_id, []).append(one)
    return found
