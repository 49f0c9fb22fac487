"""The front page: the newest articles, the lead among them, and below a section for each of the first channels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from articles.images import gather_covers
from articles.models import Article, Channel, in_any
from articles.site.pagination import Page
from articles.site.streams import Scope, everything, scope_of_channel

SECTIONS = 8
"""Channels that have a section, the first in the site's order; the menu has them all."""

SECTION_SIZE = 4

LEADS_FOR = timedelta(hours=24)
"""How much older than the newest article the lead may be: a short bulletin does not push the day's picture away."""


@dataclass(frozen=True)
class Section:
    """What is new in a channel and not on the page already."""

    channel: Channel
    articles: Sequence[Article]


@dataclass(frozen=True)
class Front:
    """The newest articles, of which one leads, and the sections that have something to show."""

    page: Page
    lead: Article | None
    sections: Sequence[Section]

    @property
    def others(self) -> list[Article]:
        """The newest but the lead."""
        return [article for article in self.page.articles if article != self.lead]


def front_of(channels: Sequence[Channel], *, size: int) -> Front:
    """The front page with `size` articles above its sections: two statements, each a few looks into indexes."""
    chosen = channels[:SECTIONS]
    parts = [(everything(), size + 1), *((scope_of_channel(channel), size + SECTION_SIZE) for channel in chosen)]
    rows = _heads(parts)
    gather_covers(rows)
    lead = _lead(rows)
    newest = rows[:size] if lead in rows[:size] else rows[: max(size - 1, 1)]
    rest = [article for article in rows[len(newest) :] if article != lead]
    sections = [Section(channel, _of(channel, rest)) for channel in chosen]
    page = Page(newest, last=newest[-1] if rest else None, size=size)
    return Front(page, lead, [section for section in sections if section.articles])


def _heads(parts: Sequence[tuple[Scope, int]]) -> list[Article]:
    """So many of the newest of each scope, newest first. A section's may all be among the newest of the site."""
    heads = (scope.live().values("pk")[:number] for scope, number in parts)
    articles = Article.objects.filter(pk__in=in_any(*heads)).select_related("channel", "author")
    return list(articles.defer("body").newest_first())


def _of(channel: Channel, rows: Sequence[Article]) -> list[Article]:
    return [article for article in rows if article.channel_id == channel.pk][:SECTION_SIZE]


def _lead(rows: Sequence[Article]) -> Article | None:
    """The newest that has a picture, if it is hardly older than the newest of all, which leads otherwise."""
    if not rows:
        return None
    newest = rows[0].publish_at
    fresh = [row for row in rows if row.publish_at and newest and row.publish_at > newest - LEADS_FOR]
    return next((article for article in fresh if article.covers), rows[0])
