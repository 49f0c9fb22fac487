"""The automatic front as blocks, from which the first draft of a front starts."""

from __future__ import annotations

from articles.listing import ArticleFilter
from articles.models import Article, Block, Card, Channel, Front
from articles.text import base_language
from scheduling.database import among

TOP = 10
"""Cards of the first block, as many articles as the automatic front has above its sections."""

SECTIONS, SECTION_SIZE = 8, 4

Backfill, Kind = Block.Backfill, Block.Kind


def automatic_blocks(front: Front) -> list[tuple[Block, list[Card]]]:
    """The newest articles in the language of the front, the first with a cover in front; a list for each channel."""
    language = base_language(front.language)
    newest = list(ArticleFilter(channel=front.channel_id, language=language).live().defer("body")[:TOP])
    lead = next((article for article in newest if article.cover), None)
    first = sorted(newest, key=lambda article: article is not lead)
    backfill = Backfill.CHANNEL if front.channel_id else Backfill.NEWEST
    top = Block(kind=Kind.LEAD, backfill=backfill, channel_id=front.channel_id, size=TOP)
    channels = [] if front.channel_id else Channel.objects.enabled()[:SECTIONS]
    shown = [article.pk for article in first]
    lists = [channel for channel in channels if _others(channel, language, shown)]
    return [(top, [_card(article) for article in first]), *((_list_of(channel), []) for channel in lists)]


def _others(channel: Channel, language: str, shown: list[int]) -> bool:
    """Whether a list of the channel would have other articles than those above."""
    return ArticleFilter(channel=channel.pk, language=language).live().exclude(pk__in=among(shown)).exists()


def _card(article: Article) -> Card:
    return Card(article=article, title=article.title)


def _list_of(channel: Channel) -> Block:
    return Block(title=channel.name, backfill=Backfill.CHANNEL, channel=channel, size=SECTION_SIZE)
