"""The front page: the newest articles with the lead, and a section for each of the first channels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings

from articles.addresses import page_address
from articles.images import gather_covers
from articles.listing import ArticleFilter
from articles.models import Article, ArticleQuerySet, Channel
from articles.site.pagination import Page
from articles.text import base_language
from scheduling.database import compiled_once, in_any

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


def build_front_page(channels: Sequence[Channel], *, size: int, language: str) -> FrontPage:
    """The front page in a language of the site with `size` articles above its sections, in two statements.

    While no article is in that language, those of all languages are shown.
    """
    chosen = channels[:SECTIONS]
    ids = tuple(channel.pk for channel in chosen)
    rows = compiled_once(_newest, ids, size, base_language(language)) or compiled_once(_newest, ids, size, None)
    gather_covers(rows)
    lead = _lead(rows)
    newest = rows[:size] if lead in rows[:size] else rows[: max(size - 1, 1)]
    rest = [article for article in rows[len(newest) :] if article != lead]
    sections = [Section(channel, _in_channel(channel, rest)) for channel in chosen]
    page = Page(newest, last=newest[-1] if rest else None, size=size)
    return FrontPage(page, lead, [section for section in sections if section.articles])


def front_addresses() -> dict[str, str]:
    """The path of the front in each language of the site."""
    return {code: page_address("front", language=code) for code, _name in settings.LANGUAGES}


def _newest(channels: Iterable[int], size: int, language: str | None) -> ArticleQuerySet:
    """The newest articles of the site and of each channel, as many as the front page may show, newest first."""
    site = ArticleFilter(language=language).live().values("pk")[: size + 1]
    filters = (ArticleFilter(channel=pk, language=language) for pk in channels)
    sections = (each.live().values("pk")[: size + SECTION_SIZE] for each in filters)
    articles = Article.objects.filter(pk__in=in_any(site, *sections))
    return articles.select_related("channel", "author").defer("body").newest_first()


def _in_channel(channel: Channel, rows: Sequence[Article]) -> list[Article]:
    return [article for article in rows if article.channel_id == channel.pk][:SECTION_SIZE]


def _lead(rows: Sequence[Article]) -> Article | None:
    """The newest article with a cover, or the newest article if the former is older than `LEADS_FOR` allows."""
    if not rows:
        return None
    newest = rows[0].out_since
    fresh = [row for row in rows if newest - row.out_since < LEADS_FOR]
    return next((article for article in fresh if article.covers), rows[0])
