"""The front page: the newest articles, the lead among them, and below a section for each of the first channels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from articles.illustrating import gather_covers
from articles.models import Article, Channel
from articles.models.heads import in_any
from articles.site.pages import Page
from articles.site.scopes import Scope, everything, scope_of_channel

SECTIONS = 8
"""Channels that have a section, the first in the site's order; the menu has them all."""

SECTION_SIZE = 4


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
    newest = rows[:size]
    page = Page(newest, last=newest[-1] if len(rows) > size else None, size=size)
    sections = [Section(channel, _of(channel, rows[size:])) for channel in chosen]
    gather_covers([*newest, *(article for section in sections for article in section.articles)])
    return Front(page, _lead(newest), [section for section in sections if section.articles])


def _heads(parts: Sequence[tuple[Scope, int]]) -> list[Article]:
    """So many of the newest of each scope, newest first. A section's may all be among the newest of the site."""
    heads = (scope.live().values("pk")[:number] for scope, number in parts)
    articles = Article.objects.filter(pk__in=in_any(*heads)).select_related("channel", "author")
    return list(articles.defer("body").newest_first())


def _of(channel: Channel, rows: Sequence[Article]) -> list[Article]:
    return [article for article in rows if article.channel_id == channel.pk][:SECTION_SIZE]


def _lead(newest: Sequence[Article]) -> Article | None:
    """The newest that has a picture, for a page that opens with one is read; without any, the newest."""
    return next((article for article in newest if article.covers), next(iter(newest), None))
