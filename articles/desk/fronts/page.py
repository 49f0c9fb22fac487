"""Context of the editor of a front: the version as readers would see it, with what the newsroom needs to know."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy, pgettext

from articles.desk.articles.changelist import BADGES
from articles.desk.following import Following, next_change, version_of
from articles.desk.fronts.buttons import button
from articles.desk.fronts.forms import FrontReleaseForm, FrontTimeForm
from articles.desk.fronts.recurring import recurring_context, repeat_form
from articles.desk.parse import instant
from articles.fronts import CardMark, OperationKind, ShownCard, ShownFront, compose, preflight
from articles.images import gather_covers
from articles.models import (
    Article,
    Block,
    Card,
    Front,
    FrontSeries,
    FrontVersion,
    FrontVersionQuerySet,
    Image,
    ReaderState,
    Release,
    State,
    load_releases,
    state_at,
    with_releases,
)
from articles.permissions import PUBLISH, allows
from articles.releases import RIGHT, as_due
from articles.review import needs_second_person, waits
from articles.text import base_language, format_time_briefly, format_time_exactly
from scheduling.database import at_instant, read_database_clock

POLL = 2_000
"""Milliseconds after which an open front looks for what others have done to it."""

FOUND = 20
"""Articles in a list beside the front."""

PAST = 50
"""Versions in the history."""

VERSION_BADGES = {
    FrontVersion.State.DRAFT: "default",
    FrontVersion.State.SCHEDULED: "primary",
    FrontVersion.State.IN_RELEASE: "primary",
    FrontVersion.State.LIVE: "success",
    FrontVersion.State.PAST: "default",
}
"""Badge colour by state."""

LISTS = {
    "published": gettext_lazy("Published"),
    "scheduled": gettext_lazy("Scheduled next"),
    "approved": gettext_lazy("Approved"),
}
"""The lists of articles beside the front."""


@dataclass(frozen=True)
class Shown:
    """A card in the editor, or an article that fills up a block (`card` is None then)."""

    card: Card | None
    article: Article | None
    headline: str
    kicker: str
    summary: str
    images: Sequence[Image]
    links: Sequence[str]
    is_seen: bool  #: by readers, at the instant of the version
    found: ReaderState | None
    marks: Sequence[CardMark] = ()
    up: str = ""
    down: str = ""
    elsewhere: Sequence[tuple[str, str]] = ()  #: other blocks, and the value of the button
    pin: str = ""  #: what makes a card of an article that fills up

    @property
    def size(self) -> str:
        """How much room it takes."""
        return self.card.size if self.card else Card.Size.NORMAL

    @property
    def remove(self) -> str:
        """The value of the button that removes it."""
        return button(OperationKind.REMOVE_CARD, self.card.uuid) if self.card else ""

    @property
    def state(self) -> str:
        """What readers see of its article, unless that is live."""
        if self.found is None or self.found.state is State.LIVE:
            return ""
        since = format_time_briefly(self.found.since) if self.found.since else ""
        return " · ".join(filter(None, (str(self.found.label), since)))

    @property
    def badge(self) -> str:
        """The colour of its state."""
        return BADGES[self.found.status] if self.found else "default"

    @property
    def window(self) -> str:
        """When it is shown, if that is limited."""
        if self.card is None or not (self.card.shows_from or self.card.shows_until):
            return ""
        times = (format_time_briefly(at) if at else "" for at in (self.card.shows_from, self.card.shows_until))
        return " – ".join(times)


@dataclass(frozen=True)
class ShownPart:
    """A block in the editor."""

    block: Block
    rows: Sequence[Shown]
    marks: Sequence[CardMark] = ()
    up: str = ""
    down: str = ""
    filling: str = ""

    @property
    def name(self) -> str:
        """Its title, or its kind."""
        return name_of(self.block)

    @property
    def remove(self) -> str:
        """The value of the button that removes it."""
        return button(OperationKind.REMOVE_BLOCK, self.block.uuid)


@dataclass
class Editor:
    """The editor of one version, or of a front that has none."""

    request: HttpRequest
    front: Front
    version: FrontVersion | None
    now: datetime = field(default_factory=read_database_clock)

    @property
    def moment(self) -> datetime:
        """The instant that the page shows: that of the version, or of the article put there, if it is to come."""
        return max(self.suggested() or self.now, self.now)

    def context(self, **more: Any) -> dict[str, Any]:
        """The template context."""
        version, rows = self.version, versions_of(self.front, self.now)
        may = allows(PUBLISH, self.request.user)
        is_waiting = bool(version) and waits(version)  # type: ignore[arg-type]
        editable = may and version is not None and self.is_editable(version)
        return {
            "title": str(self.front),
            "original": self.front,
            "front": self.front,
            "version": version,
            "badge": VERSION_BADGES[version.state] if version else "default",
            "may": may,
            "editable": editable,
            "is_waiting": is_waiting,
            "now": self.now,
            "tabs": [row for row in rows if row.state != FrontVersion.State.PAST],
            "history": [(row, archive_address(row, rows, self.now)) for row in rows],
            "parts": list(self.parts()) if version else [],
            "lists": self.lists() if editable else None,
            "release_form": self.release_form() if editable else None,
            "time_form": FrontTimeForm(initial={"live_from": self.suggested()}),
            "repeat_form": repeat_form(version),
            **recurring_context(version, self.now),
            "follow": following_of(self.request, self.front, version, self.now).as_json(),
            "moment": format_time_exactly(self.moment) if self.moment > self.now else "",
            "new_blocks": self.new_blocks(),
            **more,
        }

    def is_editable(self, version: FrontVersion) -> bool:
        """Whether its cards can be changed."""
        if version.status == FrontVersion.Status.DRAFT:
            return True
        at = version.live_from if version.repeats else instant_of(version, self.now)
        return (at is None or at > self.now + timedelta(seconds=2)) and not needs_second_person()

    def release_form(self) -> FrontReleaseForm | None:
        """The choice of a release, for users who may change releases."""
        is_draft = self.version is not None and self.version.status == FrontVersion.Status.DRAFT
        form = FrontReleaseForm() if is_draft and allows(RIGHT, self.request.user) else None
        return form if form and form.has_choices else None

    def suggested(self) -> datetime | None:
        """The instant that is offered: its own, or that of the article from which the user came."""
        given = instant(self.request.GET.get("at", ""))
        is_live = self.version is not None and self.version.state == FrontVersion.State.LIVE
        own = instant_of(self.version, self.now) if self.version and not is_live else None
        return own or (given if given and given > self.now else None)

    def parts(self) -> Iterator[ShownPart]:
        """The blocks."""
        assert self.version is not None  # noqa: S101 (the caller has checked)
        blocks = list(self.version.blocks.select_related("channel", "tag").order_by("position", "pk"))
        found = Card.objects.filter(block__version=self.version).order_by("position", "pk")
        cards = list(found.select_related("block", "image", "article__channel").defer("article__body"))
        articles = [card.article for card in cards if card.article]
        load_releases(articles)
        gather_covers(articles)
        names = dict(_linked(cards))
        composed = composed_at(self.version, self.moment)
        seen = {shown.card.pk for block in composed.blocks for shown in block.cards if shown.card}
        fill = {block.block.pk: [shown for shown in block.cards if not shown.card] for block in composed.blocks}
        marks: dict[UUID, list[CardMark]] = {}
        for mark in preflight(self.version, at=self.moment) if self.version.state != FrontVersion.State.PAST else []:
            marks.setdefault(mark.uuid, []).append(mark)
        for place, block in enumerate(blocks):
            own = [card for card in cards if card.block_id == block.pk]
            rows = [self._row(card, own, blocks, cards, card.pk in seen, marks, names) for card in own]
            rows += [_filling(shown, block, own) for shown in fill.get(block.pk, [])]
            yield ShownPart(
                block,
                rows,
                marks.get(block.uuid, []),
                up=_moved(OperationKind.MOVE_BLOCK, block, blocks, place - 1) if place else "",
                down=_moved(OperationKind.MOVE_BLOCK, block, blocks, place + 1) if place + 1 < len(blocks) else "",
                filling=_filled_with(block),
            )

    def _row(
        self,
        card: Card,
        own: Sequence[Card],
        blocks: Sequence[Block],
        cards: Sequence[Card],
        is_seen: bool,
        marks: Mapping[UUID, Sequence[CardMark]],
        names: Mapping[int, str],
    ) -> Shown:
        article, shown, place = card.article, ShownCard(card.article, card), own.index(card)
        return Shown(
            card,
            article,
            shown.headline or card.title,
            shown.kicker or str((article and article.channel) or ""),
            shown.summary,
            shown.images,
            [str(link.get("headline") or names.get(link.get("article") or 0, "")) for link in card.sublinks],
            is_seen,
            state_at(article, self.now) if article else None,
            marks.get(card.uuid, []),
            up=_moved(OperationKind.MOVE_CARD, card, own, place - 1) if place else "",
            down=_moved(OperationKind.MOVE_CARD, card, own, place + 1) if place + 1 < len(own) else "",
            elsewhere=[
                (name_of(block), button(OperationKind.MOVE_CARD, card.uuid, block.uuid, _last(block, cards)))
                for block in blocks
                if block.pk != card.block_id
            ],
        )

    def new_blocks(self) -> list[tuple[str, str]]:
        """The kinds of blocks that can be added, and the values of the buttons."""
        if self.version is None:
            return []
        last = self.version.blocks.order_by("-position").values_list("uuid", flat=True).first()
        return [(str(label), button(OperationKind.ADD_BLOCK, None, last, kind)) for kind, label in Block.Kind.choices]

    def lists(self) -> dict[str, Any]:
        """The articles beside the front: those of a list, or those that a search finds."""
        assert self.version is not None  # noqa: S101 (the caller has checked)
        query = self.request.GET.get("q", "").strip()
        chosen = self.request.GET.get("list", "published")
        chosen = chosen if chosen in LISTS else "published"
        blocks = list(self.version.blocks.order_by("position", "pk"))
        cards = list(Card.objects.filter(block__version=self.version).order_by("position", "pk"))
        present = {card.article_id for card in cards}
        found = self._searched(query) if query else self._listed(chosen)
        return {
            "query": query,
            "chosen": "" if query else chosen,
            "names": LISTS.items(),
            "rows": [self._candidate(article, blocks, cards, article.pk in present) for article in found],
        }

    def _searched(self, query: str) -> list[Article]:
        screen = admin.site.get_model_admin(Article)
        articles = with_releases(Article.objects.select_related("channel").defer("body"))
        found, _is_doubled = screen.get_search_results(self.request, articles, query)
        return list(found.order_by("-updated_at")[:FOUND])

    def _listed(self, chosen: str) -> list[Article]:
        own = Article.objects.filter(language=base_language(self.front.language))
        rows = own.filter(channel=self.front.channel_id) if self.front.channel_id else own
        approved = Q(status__in=Article.Status.waiting())
        rows = {
            "published": lambda: rows.live(self.now).newest_first(),
            "scheduled": lambda: rows.filter(approved, goes_live_at__gt=self.now).order_by("goes_live_at", "pk"),
            "approved": lambda: rows.filter(approved, publish_at=None).order_by("-updated_at", "-pk"),
        }[chosen]()
        return list(with_releases(rows.select_related("channel").defer("body"))[:FOUND])

    def _candidate(
        self, article: Article, blocks: Sequence[Block], cards: Sequence[Card], is_present: bool
    ) -> dict[str, Any]:
        found = state_at(article, self.now)
        lead = next((block for block in blocks if block.kind == Block.Kind.LEAD), blocks[0] if blocks else None)
        return {
            "article": article,
            "state": found.label,
            "badge": BADGES[found.status],
            "since": format_time_briefly(found.since) if found.since else "",
            "is_present": is_present,
            "lead": button(OperationKind.ADD_CARD, None, lead.uuid, None, article.pk) if lead else "",
            "blocks": [
                (name_of(block), button(OperationKind.ADD_CARD, None, block.uuid, _last(block, cards), article.pk))
                for block in blocks
            ],
        }


def archive_address(version: FrontVersion, rows: Iterable[FrontVersion], now: datetime) -> str:
    """Where the site keeps what readers got of a version, at its first whole minute; empty if there is none."""
    begun = [row.live_from for row in rows if row.live_from and row.is_live_at(now)]
    begins = version.live_from
    if begins is None or begins not in begun or version.front.channel_id:
        return ""
    first = begins.replace(second=0, microsecond=0)
    first += timedelta(minutes=1) if first < begins else timedelta()
    if first >= min(filter(None, [now, version.live_until, *(other for other in begun if other > begins)])):
        return ""
    wall = timezone.localtime(first, timezone.get_default_timezone())
    address = reverse("front-archive", args=[wall.year, wall.month, wall.day, f"{wall:%H:%M}"])
    return f"{address}?{urlencode({'language': version.front.language})}"


def instant_of(version: FrontVersion, now: datetime) -> datetime | None:
    """From when readers get it: its own instant, its next one if it recurs, or that of its release."""
    if version.repeats is not None:
        coming = version.series.all().first_after(now, limit=1)
        return coming[0].at if coming else version.live_from
    if version.status != FrontVersion.Status.IN_RELEASE:
        return version.live_from
    release = version.release
    return release.publish_at if release and release.status == Release.Status.SCHEDULED else None


def composed_at(version: FrontVersion, moment: datetime) -> ShownFront:
    """What readers would get of a version at an instant, with the releases and updates that are due by then."""
    with at_instant(moment), as_due():
        return compose(version, moment)


def versions_of(front: Front, now: datetime) -> list[FrontVersion]:
    """The last versions of a front, newest first."""
    rows = front.versions.with_states(now).select_related("author", "based_on", "release")
    return list(rows.order_by("-number")[:PAST]) if front.pk else []


def chosen_version(front: Front, number: int, now: datetime) -> FrontVersion | None:
    """The version with this number; or else the newest draft, the next one, the live one."""
    rows = front.versions.with_states(now).select_related("author", "based_on", "front__channel", "release")
    if number:
        return rows.filter(number=number).first()
    draft = rows.filter(status=FrontVersion.Status.DRAFT).order_by("-number").first()
    timed = rows.filter(status=FrontVersion.Status.SCHEDULED)
    held = rows.filter(status=FrontVersion.Status.IN_RELEASE).order_by("-number").first()
    newest = timed.filter(repeats__isnull=True).order_by("-live_from")
    return draft or coming_version(timed, now) or held or rows.live(now).first() or newest.first()


def coming_version(rows: FrontVersionQuerySet, now: datetime) -> FrontVersion | None:
    """The one of these versions, read `with_states`, that readers get next."""
    once = rows.filter(live_from__gt=now, repeats__isnull=True).order_by("live_from")[:1]
    found = [*once, *rows.to_come(now).filter(repeats__isnull=False)]
    return min(found, key=lambda version: version.next_from or now, default=None)


def following_of(request: HttpRequest, front: Front, version: FrontVersion | None, now: datetime) -> Following:
    """When the open page asks again, and for what."""
    columns = ("pk", "status", "live_from", "edits", "live_until", "repeats", "release__status", "release__publish_at")
    versions = front.versions.order_by("pk").values_list(*columns)
    times = [at for row in versions for at in (row[2], row[-1])]
    recurring = FrontSeries.objects.filter(front=front.pk or 0).first_after(now, limit=1)
    chosen = version.pk if version else 0
    cards = Card.objects.filter(block__version=chosen)
    windows = [at for pair in cards.values_list("shows_from", "shows_until") for at in pair]
    articles = Article.objects.filter(pk__in=cards.values("article")).order_by("pk")
    states = list(articles.values_list("pk", "status", "goes_live_at", "unpublish_at", "title"))
    of_articles = [at for _pk, _status, *both, _title in states for at in both]
    past = [at is not None and at <= now for at in (*times, *windows, *of_articles)]
    is_waiting = version is not None and waits(version)
    address = reverse("admin:articles_front_change", args=[front.pk])
    asked = {name: request.GET[name] for name in ("list", "q", "at") if name in request.GET}
    query = urlencode({**({"version": version.number} if version else {}), **asked})
    return Following(
        url=f"{address}?{query}",
        version=version_of(request.user.pk, chosen, is_waiting, list(versions), states, past, recurring),
        next=next_change(now, [*times, *windows, *of_articles, *(one.at for one in recurring)]),
        poll=POLL,
    )


def name_of(block: Block) -> str:
    """Its title, or its kind."""
    return block.title or str(block.get_kind_display())


def _linked(cards: Iterable[Card]) -> Iterator[tuple[int, str]]:
    ids = {link["article"] for card in cards for link in card.linked}
    yield from Article.objects.filter(pk__in=ids).values_list("pk", "title") if ids else ()


def _moved(op: str, row: Card | Block, rows: Sequence[Any], place: int) -> str:
    """The value of the button that moves a card or block to another place among its own."""
    others = [one for one in rows if one is not row]
    after = others[place - 1].uuid if place else None
    where = (row.block.uuid,) if isinstance(row, Card) else ()
    return button(op, row.uuid, *where, after)


def _last(block: Block, cards: Iterable[Card]) -> UUID | None:
    own = [card.uuid for card in cards if card.block_id == block.pk]
    return own[-1] if own else None


def _filling(shown: ShownCard, block: Block, own: Sequence[Card]) -> Shown:
    article = shown.article
    assert article is not None  # noqa: S101 (only articles fill up)
    last = own[-1].uuid if own else None
    pin = button(OperationKind.ADD_CARD, None, block.uuid, last, article.pk)
    kicker = str(article.channel or "")
    return Shown(None, article, article.title, kicker, article.summary, shown.images, (), True, None, pin=pin)


def _filled_with(block: Block) -> str:
    """What fills it up, in words."""
    if block.filling == Block.Backfill.NONE:
        return pgettext("block of a front", "Nothing fills it up")
    what = str(block.get_backfill_display())
    named = block.channel if block.backfill == Block.Backfill.CHANNEL else block.tag
    if block.backfill in (Block.Backfill.CHANNEL, Block.Backfill.TAG) and named:
        what = f"{what}: {named}"
    return _("Fills up with: %(what)s") % {"what": what}
