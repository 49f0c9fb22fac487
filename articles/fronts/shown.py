"""What readers get of a front at an instant: the live version's cards whose articles are visible, and the backfill.

Three statements read it: the blocks of the version, its cards, and the live articles among those of the cards and those
that may fill up blocks. A card whose article is not live is left out with its own texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet

from articles.images import gather_covers
from articles.listing import ArticleFilter
from articles.models import (
    Article,
    ArticleQuerySet,
    Block,
    Card,
    Front,
    FrontVersion,
    Image,
    Instant,
    Release,
    ReleaseMember,
    Tagging,
    instant_of_microseconds,
)
from articles.text import base_language
from scheduling.database import among, compiled_for, compiled_once, database_now, in_any

MOST_PAST = 5
"""Past cards with an image that are looked at, the newest."""

Backfill = Block.Backfill
_Source = tuple[str, int | None]
"""A backfill with its channel or tag."""


@dataclass(frozen=True)
class ShownLink:
    """A line below a card."""

    headline: str
    address: str


@dataclass(frozen=True)
class ShownCard:
    """A card with its live article, a card that is a link, or an article that fills up a block."""

    article: Article | None
    card: Card | None = None
    links: Sequence[ShownLink] = ()

    @property
    def headline(self) -> str:
        """The card's own, or the article's."""
        own = self.card.headline if self.card else ""
        return own or (self.article.title if self.article else "") or (self.card.url if self.card else "")

    @property
    def kicker(self) -> str:
        """The card's own; empty where readers see the article's channel."""
        return self.card.kicker if self.card else ""

    @property
    def summary(self) -> str:
        """The card's own, or the article's."""
        return (self.card.summary if self.card else "") or (self.article.summary if self.article else "")

    @property
    def address(self) -> str:
        """Where it leads."""
        return self.article.get_absolute_url() if self.article else self.card.url if self.card else ""

    @property
    def images(self) -> Sequence[Image]:
        """The card's own image, or the article's cover."""
        if self.card and self.card.no_image:
            return []
        if self.card and self.card.image:
            return [self.card.image]
        return self.article.covers if self.article else []

    @property
    def size(self) -> str:
        """How much room it takes."""
        return self.card.size if self.card else Card.Size.NORMAL


@dataclass(frozen=True)
class ShownBlock:
    """A block and what readers see in it, which is not empty."""

    block: Block
    cards: Sequence[ShownCard]


@dataclass(frozen=True)
class ShownFront:
    """What readers see of a version."""

    version: FrontVersion
    blocks: Sequence[ShownBlock]

    @property
    def lead(self) -> ShownCard | None:
        """The first card; None if there is nothing to see."""
        return self.blocks[0].cards[0] if self.blocks else None


def front_at(now: Instant, *, language: str, channel: int | None = None) -> ShownFront | None:
    """What readers get at `now` of the front of the site or of an enabled channel.

    None without a composed version, and where no card of it is left to see: readers get the automatic front then.
    """
    blocks = _read(_blocks_at, now, language, channel)
    shown = _compose(blocks, now) if blocks else None
    return shown if shown and shown.blocks else None


def compose(version: FrontVersion, now: Instant) -> ShownFront:
    """What readers would get at `now` of any version."""
    blocks = _of_version(version)
    return _compose(blocks, now) if blocks else ShownFront(version, [])


def _of_version(version: FrontVersion) -> list[Block]:
    return list(version.blocks.select_related("version__front").order_by("position", "pk"))


def front_then(then: datetime, *, language: str) -> ShownFront | None:
    """The composed front of the site that readers got at a past instant, with those of its articles that are live now.

    None without a composed version then.
    """
    version = FrontVersion.objects.live(then).filter(front__language=language, front__channel=None).first()
    blocks = _of_version(version) if version else []
    return _compose(blocks, database_now(), then=then) if blocks else None


def shown_since(shown: ShownFront) -> datetime | None:
    """Since when readers have got what they get now."""
    version = shown.version
    if version.repeats is None:
        return version.live_from
    series = version.series.with_last(database_now()).order_by("-at").values_list("at", flat=True)
    return instant_of_microseconds(series.first()) or version.live_from


def shows_image(pk: UUID, now: Instant) -> Front | None:
    """A front that shows readers this image on a card at `now`; None if none does.

    The front is composed: whether a card is shown depends on those before it.
    """
    cards = Card.objects.within_window(now).filter(image=pk, block__version__in=FrontVersion.objects.live(now))
    fronts = Front.objects.filter(pk__in=cards.values("block__version__front"))
    return next((front for front in fronts if _has_image(front, pk, now)), None)


def _has_image(front: Front, pk: UUID, now: Instant) -> bool:
    shown = front_at(now, language=front.language, channel=front.channel_id)
    cards = (card for block in shown.blocks for card in block.cards) if shown else ()
    return any(image.pk == pk for card in cards for image in card.images)


def showed_image(pk: UUID, now: datetime) -> Front | None:
    """A front of the site on whose past versions readers see this image on a card; None if there is none.

    Each version is composed as at the first and the last instant at which it may have shown the card.
    """
    cards = Card.objects.filter(image=pk, no_image=False, block__version__front__channel=None)
    begun = cards.filter(block__version__status=FrontVersion.Status.SCHEDULED, block__version__live_from__lte=now)
    newest = begun.select_related("block__version__front", "article").defer("article__body")
    for card in newest.order_by("-block__version__live_from")[:MOST_PAST]:
        front = card.block.version.front
        if any(_had_image(front.language, pk, then) for then in _shown_times(card, now)):
            return front
    return None


def _had_image(language: str, pk: UUID, then: datetime) -> bool:
    shown = front_then(then, language=language)
    cards = (card for block in shown.blocks for card in block.cards) if shown else ()
    return any(image.pk == pk for card in cards for image in card.images)


def _shown_times(card: Card, now: datetime) -> Sequence[datetime]:
    """The first and the last instant at which readers may have got a card; none for one that was never to be seen."""
    version = card.block.version
    later = FrontVersion.objects.filter(front=version.front_id, status=FrontVersion.Status.SCHEDULED)
    following = later.filter(live_from__gt=version.live_from).order_by("live_from").first()
    ends = [now, version.live_until, card.shows_until, following.live_from if following else None]
    article = card.article.goes_live_at if card.article else None
    first = max(filter(None, (version.live_from, card.shows_from, article)))
    last = min(filter(None, ends)) - timedelta(microseconds=1)
    return (first, last) if first <= last else ()


def _blocks_at(now: Instant, language: str, channel: int | None) -> QuerySet[Block]:
    fronts = Front.objects.filter(language=language, channel=channel)
    if channel is not None:
        fronts = fronts.filter(channel__enabled=True)
    live = fronts.live_versions(now)[:1]
    return Block.objects.filter(version=live).select_related("version__front").order_by("position")


def _cards_of(now: Instant, version: int) -> QuerySet[Card]:
    cards = Card.objects.within_window(now).filter(block__version=version)
    return cards.select_related("image").order_by("position", "pk")


def _read(build: Callable[..., QuerySet[Any]], now: Instant, *arguments: Any) -> list[Any]:
    """The rows of a statement, compiled once if `now` is the database's clock."""
    return list(build(now, *arguments)) if isinstance(now, datetime) else compiled_once(build, now, *arguments)


def _compose(blocks: Sequence[Block], now: Instant, *, then: datetime | None = None) -> ShownFront:
    cards = _read(_cards_of, then or now, blocks[0].version_id)
    plan = _Plan(base_language(blocks[0].version.front.language), blocks, cards)
    shown = plan.fill(_articles(plan, now, then))
    gather_covers(card.article for _block, cards in shown for card in cards if card.article)
    return ShownFront(blocks[0].version, [ShownBlock(block, cards) for block, cards in shown if cards])


def _articles(plan: _Plan, now: Instant, then: datetime | None = None) -> dict[int, Article]:
    """The live articles that the plan may use, newest first; only those that were live already `then`."""
    if then is not None:
        rows = list(_found(plan.ids, plan.sources, plan.total, plan.language, now, then))
    elif isinstance(now, datetime):
        rows = list(_found(plan.ids, plan.sources, plan.total, plan.language, now))
    else:
        rows = compiled_for(_found, plan.ids or [0], plan.sources, plan.total, plan.language, now)
    return {article.pk: article for article in rows}


def _found(
    ids: Any, sources: Sequence[_Source], total: int, language: str, now: Instant, then: datetime | None = None
) -> ArticleQuerySet:
    """The live ones of these articles, and the newest of each source: `total`, as others may be shown already."""
    live = Article.objects.live(now)
    live = live.filter(goes_live_at__lte=then) if then else live
    lists = (_newest(live, source, language).newest_first().values("pk")[:total] for source in sources)
    found = Article.objects.filter(pk__in=in_any(live.filter(pk__in=among(ids)).values("pk"), *lists))
    marks = {_mark(source): _belongs(source) for source in sources if source[0] in (Backfill.TAG, Backfill.RELEASE)}
    return found.annotate(**marks).select_related("channel", "author").defer("body").newest_first()


def _newest(live: ArticleQuerySet, source: _Source, language: str) -> ArticleQuerySet:
    kind, pk = source
    if kind == Backfill.RELEASE:
        return live.filter(pk__in=_released())
    if kind == Backfill.TAG:
        return ArticleFilter(tag=pk).apply(live)
    return ArticleFilter(channel=pk, language=language).apply(live)


def _released() -> QuerySet[Any]:
    """The articles of the most recent release."""
    last = Release.objects.filter(status=Release.Status.PUBLISHED).order_by("-published_at", "-pk").values("pk")[:1]
    return ReleaseMember.objects.filter(release=last, article__isnull=False).values("article")


def _mark(source: _Source) -> str:
    """The name of the annotation that says whether an article belongs to a source."""
    return f"of_{source[0]}_{source[1] or 0}"


def _belongs(source: _Source) -> Exists:
    if source[0] == Backfill.RELEASE:
        return Exists(_released().filter(article=OuterRef("pk")))
    return Exists(Tagging.objects.filter(article=OuterRef("pk"), tag=source[1]))


@dataclass
class _Plan:
    """Which article goes where: cards first, each article once, and then what fills up the blocks."""

    language: str
    blocks: Sequence[Block]
    cards: Sequence[Card]
    used: set[int] = field(default_factory=set)

    @property
    def ids(self) -> list[int]:
        """The articles of cards and sublinks."""
        linked = (int(link["article"]) for card in self.cards for link in card.linked)
        return sorted({*(card.article_id for card in self.cards if card.article_id), *linked})

    @property
    def sources(self) -> tuple[_Source, ...]:
        """What may fill up blocks."""
        return tuple(dict.fromkeys(filter(None, map(_source, self.blocks))))

    @property
    def total(self) -> int:
        """How many cards there are at most."""
        return sum(block.size for block in self.blocks)

    def fill(self, articles: Mapping[int, Article]) -> list[tuple[Block, list[ShownCard]]]:
        """Each block with what is shown in it."""
        shown = [(block, self._chosen(block, articles)) for block in self.blocks]
        for block, cards in shown:
            cards += self._filling(block, articles, _wanted(block, len(cards)))
        return shown

    def _chosen(self, block: Block, articles: Mapping[int, Article]) -> list[ShownCard]:
        chosen: list[ShownCard] = []
        for card in self.cards:
            article = articles.get(card.article_id or 0)
            is_visible = article is not None and article.pk not in self.used if card.article_id else bool(card.url)
            if card.block_id == block.pk and is_visible and len(chosen) < block.size:
                self.used.update([article.pk] if article else [])
                chosen.append(ShownCard(article, card, list(_links(card, articles))))
        return chosen

    def _filling(self, block: Block, articles: Mapping[int, Article], wanted: int) -> list[ShownCard]:
        source = _source(block)
        fitting = (row for row in articles.values() if row.pk not in self.used and source and self._fits(row, source))
        filling = list(islice(fitting, wanted))
        self.used.update(article.pk for article in filling)
        return [ShownCard(article) for article in filling]

    def _fits(self, article: Article, source: _Source) -> bool:
        kind, pk = source
        if kind in (Backfill.TAG, Backfill.RELEASE):
            return bool(getattr(article, _mark(source)))
        return article.language == self.language and pk in (None, article.channel_id)


def _source(block: Block) -> _Source | None:
    """What fills up a block. A lead is not empty, unless the channel or tag that filled it up is deleted."""
    filling = block.filling
    if filling == Backfill.NONE:
        if block.kind != Block.Kind.LEAD or block.backfill != Backfill.NONE:
            return None
        channel = block.version.front.channel_id
        return (Backfill.CHANNEL, channel) if channel else (Backfill.NEWEST, None)
    return filling, {Backfill.CHANNEL: block.channel_id, Backfill.TAG: block.tag_id}.get(filling)


def _wanted(block: Block, shown: int) -> int:
    """How many articles fill up a block that shows so many cards."""
    if block.filling != Backfill.NONE:
        return block.size - shown
    return int(block.kind == Block.Kind.LEAD and not shown)


def _links(card: Card, articles: Mapping[int, Article]) -> Iterator[ShownLink]:
    """The sublinks of a card to live articles and other addresses."""
    for link in card.sublinks:
        article = articles.get(int(link.get("article") or 0))
        if article:
            yield ShownLink(link.get("headline") or article.title, article.get_absolute_url())
        elif link.get("url") and link.get("headline"):
            yield ShownLink(link["headline"], link["url"])
