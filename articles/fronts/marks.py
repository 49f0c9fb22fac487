"""The preflight check of a version of a front: what its readers would miss, or see wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.utils.translation import gettext as _, ngettext

from articles.images import gather_covers
from articles.models import Article, Block, Card, FrontSeries, FrontVersion, Image, State, load_releases, state_at
from articles.text import format_time_briefly
from scheduling.database import read_database_clock


@dataclass(frozen=True)
class CardMark:
    """Something to look at before a version goes live; `uuid` is that of a card or a block."""

    uuid: UUID
    code: str
    message: str


def preflight(version: FrontVersion, *, at: datetime | None = None) -> list[CardMark]:
    """The marks of a version at its instant, or at another one; none of them keeps it from going live."""
    now = read_database_clock()
    moment = max(at or version.live_from or now, now)
    blocks = list(version.blocks.order_by("position", "pk"))
    cards = list(
        Card.objects.filter(block__version=version).select_related("article", "image").order_by("position", "pk")
    )
    articles = [card.article for card in cards if card.article]
    load_releases(articles)
    gather_covers(articles)
    until = _ends(version, moment)
    first = {block.pk: next((card for card in cards if card.block_id == block.pk), None) for block in blocks}
    leading = {card.pk for block in blocks if block.kind == Block.Kind.LEAD and (card := first[block.pk])}
    marks = [mark for card in cards for mark in _marks_of_card(card, card.pk in leading, moment, until, now)]
    return [*marks, *_twice(cards), *_short(blocks, cards)]


def _ends(version: FrontVersion, moment: datetime) -> datetime | None:
    """When the next version takes the place of this one, as far as it is known."""
    others = FrontVersion.objects.filter(front=version.front_id).exclude(pk=version.pk)
    later = others.filter(status=FrontVersion.Status.SCHEDULED, live_from__gt=moment).order_by("live_from")
    once = later.values_list("live_from", flat=True)[:1]
    series = FrontSeries.objects.filter(front=version.front_id).exclude(version=version.pk)
    recurring = (one.at for one in series.first_after(moment, limit=1))
    return min([*filter(None, once), *recurring], default=None)


def _marks_of_card(
    card: Card, is_lead: bool, moment: datetime, until: datetime | None, now: datetime
) -> Iterator[CardMark]:
    article = card.article
    if article is None:
        if card.article_id or not card.url:
            yield CardMark(card.uuid, "gone", _("The article has been deleted: readers do not see this card."))
        return
    yield from _of_article(card, article, moment, until, now)
    if card.headline and card.title != article.title:
        text = _("The article has a newer headline: “%(title)s”.") % {"title": article.title}
        yield CardMark(card.uuid, "headline_newer", text)
    if is_lead or card.size == Card.Size.LARGE:
        yield from _of_images(card, article)


def _of_article(
    card: Card, article: Article, moment: datetime, until: datetime | None, now: datetime
) -> Iterator[CardMark]:
    found = state_at(article, now)
    from_when = max(card.shows_from or moment, moment)
    if found.state in (State.DRAFT, State.WAITING, State.OVERDUE):
        yield CardMark(card.uuid, "not_approved", _("The article is not approved: readers do not see this card."))
    elif found.state in (State.UNPUBLISHED, State.RETRACTED):
        yield CardMark(card.uuid, "unpublished", _("The article is unpublished: readers do not see this card."))
    elif found.since is None:
        yield CardMark(
            card.uuid, "no_time", _("The article has no time: readers do not see this card until it is live.")
        )
    elif found.since > from_when:
        text = _("The article goes live later, %(time)s: until then the next card is here.")
        yield CardMark(card.uuid, "later", text % {"time": format_time_briefly(found.since)})
    last = min((end for end in (until, card.shows_until) if end), default=None)
    if found.until and found.state in (State.SCHEDULED, State.LIVE) and (last is None or found.until < last):
        text = _("The article leaves the site %(time)s, while it is on this front.")
        yield CardMark(card.uuid, "ends", text % {"time": format_time_briefly(found.until)})


def _of_images(card: Card, article: Article) -> Iterator[CardMark]:
    images: Sequence[Image] = [card.image] if card.image else article.covers
    if card.no_image:
        return
    if not images:
        yield CardMark(card.uuid, "no_image", _("There is no image."))
    elif not all(image.alt for image in images):
        yield CardMark(card.uuid, "no_alt", _("The image has no alt text."))


def _twice(cards: Iterable[Card]) -> Iterator[CardMark]:
    counts = Counter(card.article_id for card in cards if card.article_id)
    seen: set[int] = set()
    for card in cards:
        if card.article_id in seen and counts[card.article_id] > 1:
            yield CardMark(
                card.uuid, "twice", _("The article is on this front already: readers see the first card only.")
            )
        seen |= {card.article_id} if card.article_id else set()


def _short(blocks: Iterable[Block], cards: Iterable[Card]) -> Iterator[CardMark]:
    for block in blocks:
        number = sum(card.block_id == block.pk for card in cards)
        if number > block.size:
            more = number - block.size
            text = ngettext(
                "%d card is beyond the size of the block.", "%d cards are beyond the size of the block.", more
            )
            yield CardMark(block.uuid, "too_many", text % more)
        if number < block.size and block.filling == Block.Backfill.NONE:
            text = ngettext(
                "%d card is missing, and nothing fills it up.",
                "%d cards are missing, and nothing fills them up.",
                block.size - number,
            )
            yield CardMark(block.uuid, "too_few", text % (block.size - number))
