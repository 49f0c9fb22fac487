"""The front page: the newest articles with the lead, and a section for each of the first channels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from articles.images import gather_covers
from articles.models import Article, Channel, in_any
from articles.site.pagination import Page
from articles.site.streams import Stream, all_news, stream_of_channel

SECTIONS = 8
"""Channels with a section; the menu lists all channels."""

SECTION_SIZE = 4

LEADS_FOR = timedelta(hours=24)
"""How much older than the newest article the lead may be."""


@dataclass(frozen=True)
class Section:
    """The newest articles of a channel that are not shown above."""

    channel: Channel
    articles: Sequence[Article]


@dataclass(frozen=True)
class FrontPage:
    """The newest articles, the lead, and the sections that are not empty."""

    page: Page
    lead: Article | None
    sections: Sequence[Section]

    @property
    def others(self) -> list[Article]:
        """The newest articles without the lead."""
        return [article for article in self.page.articles if article != self.lead]


def build_front_page(channels: Sequence[Channel], *, size: int) -> FrontPage:
    """The front page with `size` articles above its sections, in two statements."""
    chosen = channels[:SECTIONS]
    streams = [(all_news(), size + 1), *((stream_of_channel(channel), size + SECTION_SIZE) for channel in chosen)]
    rows = _newest(streams)
    gather_covers(rows)
    lead = _lead(rows)
    newest = rows[:size] if lead in rows[:size] else rows[: max(size - 1, 1)]
    rest = [article for article in rows[len(newest) :] if article != lead]
    sections = [Section(channel, _in_channel(channel, rest)) for channel in chosen]
    page = Page(newest, last=newest[-1] if rest else None, size=size)
    return FrontPage(page, lead, [section for section in sections if section.articles])


def _newest(streams: Sequence[tuple[Stream, int]]) -> list[Article]:
    """The given number of newest articles of each stream, together, newest first."""
    newest = (stream.live().values("pk")[:number] for stream, number in streams)
    articles = Article.objects.filter(pk__in=in_any(*newest)).select_related("channel", "author")
    return list(articles.defer("body").newest_first())


def _in_channel(channel: Channel, rows: Sequence[Article]) -> list[Article]:
    return [article for article in rows if article.channel_id == channel.pk][:SECTION_SIZE]


def _lead(rows: Sequence[Article]) -> Article | None:
    """The newest article with a cover, or the newest article if the former is older than `LEADS_FOR` allows."""
    if not rows:
        return None
    newest = rows[0].publish_at
    fresh = [row for row in rows if row.publish_at and newest and row.publish_at > newest - LEADS_FOR]
    return next((article for article in fresh if article.covers), rows[0])
