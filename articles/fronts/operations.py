"""Operations on the draft of a front: add, edit, move and remove cards and blocks, merged with those of others.

Each names the cards and blocks by their uuid, and the edit of the draft that its user saw. What others have done to
other cards and blocks since then stays. What they have done to the same one is a conflict, and nothing is stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from django.core.exceptions import ValidationError
from django.db.models import Model, TextChoices
from django.utils.translation import gettext as _, gettext_lazy

from articles.audit import Action, Actor, record_beside
from articles.exceptions import FrontConflict, NotEditable, TooMany
from articles.fronts.addresses import checked_address
from articles.fronts.locks import locked_draft
from articles.limits import MOST_BLOCKS, MOST_CARDS, MOST_OPERATIONS, MOST_SUBLINKS, TITLE_LENGTH
from articles.models import Article, Block, Card, Channel, FrontVersion, Image, Tag, named
from articles.permissions import PUBLISH, require
from articles.review import discard_changes, refuse_sensitive
from articles.text import format_time_exactly, one_line
from scheduling.database import retried


class OperationKind(TextChoices):
    """What an operation does."""

    ADD_CARD = "add_card", gettext_lazy("Card added")
    EDIT_CARD = "edit_card", gettext_lazy("Card edited")
    MOVE_CARD = "move_card", gettext_lazy("Card moved")
    REMOVE_CARD = "remove_card", gettext_lazy("Card removed")
    ADD_BLOCK = "add_block", gettext_lazy("Block added")
    EDIT_BLOCK = "edit_block", gettext_lazy("Block edited")
    MOVE_BLOCK = "move_block", gettext_lazy("Block moved")
    REMOVE_BLOCK = "remove_block", gettext_lazy("Block removed")


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One change of a card or a block. Related rows are named by their keys in `values`."""

    op: str
    uuid: UUID
    block: UUID | None = None  #: where a card is added or moved
    after: UUID | None = None  #: the card or block before it; None for the first place
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class BothSides:
    """A field of a card or block that two have changed: what is stored, and what was to be stored, as text."""

    uuid: UUID
    name: str  #: of the card or block
    label: str
    theirs: str
    mine: str
    by: str  #: who stored it


CARD_VALUES = (
    "article", "url", "headline", "kicker", "summary", "image", "no_image", "size", "shows_from", "shows_until",
    "sublinks",
)  # fmt: skip
BLOCK_VALUES = ("kind", "title", "backfill", "channel", "tag", "size")
TEXTS = ("headline", "kicker", "summary")
_ROWS: Mapping[str, type[Model]] = {"article": Article, "image": Image, "channel": Channel, "tag": Tag}


@retried
def edit_draft(version: FrontVersion, operations: Sequence[Operation], *, base: int, by: Actor) -> None:
    """Apply all operations, or none. `base` is the number of edits that the user saw.

    Raises `NotAllowed`, `FrontGone`, `FrontLive`, `FrontConflict`, `NotEditable`, `TooMany` and `SensitiveText`. To
    repeat operations that were stored changes nothing. Under the two-person rule, an edit cancels
    the request for approval of the draft.
    """
    require(PUBLISH, by)
    if len(operations) > MOST_OPERATIONS:
        raise TooMany(_("Send %(most)d changes at most at a time.") % {"most": MOST_OPERATIONS})
    locked_draft(version)
    if not 0 <= base <= version.edits:
        raise NotEditable(_("This is not an edit of this draft: open the front again."))
    draft = _Draft(version, base, by)
    for operation in operations:
        draft.apply(operation)
    if not draft.store():
        return
    discard_changes(version)
    done = [_recorded(operation) for operation in operations]
    record_beside(Action.EDIT_FRONT, title=str(version), by=by, front_version=version.pk, operations=done)


@retried
def place_article(version: FrontVersion, article: Article, *, is_lead: bool, by: Actor) -> None:
    """Put an article in front of the first block of a draft, or at its end; one that is there already is moved.

    Raises as `edit_draft` does.
    """
    require(PUBLISH, by)
    locked_draft(version)  # before the cards are read: who asks at the same time does not add it twice
    edit_draft(version, _placed(version, article, is_lead=is_lead), base=version.edits, by=by)


def _placed(draft: FrontVersion, article: Article, *, is_lead: bool) -> list[Operation]:
    """The operations that put an article in front of the first block, or at its end."""
    block = draft.blocks.order_by("position", "pk").first()
    if block is None:
        raise NotEditable(_("The front has no blocks yet."))
    cards = list(Card.objects.filter(block__version=draft).order_by("block__position", "position", "pk"))
    own = [card for card in cards if card.block_id == block.pk]
    present = next((card for card in cards if card.article_id == article.pk), None)
    others = [card for card in own if card is not present]
    after = None if is_lead or not others else others[-1].uuid
    if present:
        return [Operation(op=OperationKind.MOVE_CARD, uuid=present.uuid, block=block.uuid, after=after)]
    values = {"article": article.pk}
    return [Operation(op=OperationKind.ADD_CARD, uuid=uuid4(), block=block.uuid, after=after, values=values)]


class _Draft:
    """The blocks and cards of a locked draft, and what operations make of them."""

    def __init__(self, version: FrontVersion, base: int, by: Actor) -> None:
        self.version, self.base, self.by = version, base, by
        self.blocks = list(version.blocks.select_related("changed_by").order_by("position", "pk"))
        self.order: dict[UUID, list[Card]] = {block.uuid: [] for block in self.blocks}
        uuids = {block.pk: block.uuid for block in self.blocks}
        for card in Card.objects.filter(block__version=version).select_related("changed_by").order_by("position", "pk"):
            self.order[uuids[card.block_id]].append(card)
        self.conflicts: list[BothSides] = []
        self.removed: list[Block | Card] = []
        self.changed: set[UUID] = set()

    @property
    def number(self) -> int:
        """Of this edit."""
        return self.version.edits + 1

    def _is_news(self, mark: int) -> bool:
        """Whether an edit of another, or from another window, is later than what the user saw."""
        return self.base < mark < self.number

    def apply(self, operation: Operation) -> None:
        """Apply one operation in memory."""
        action, _underscore, kind = operation.op.partition("_")
        getattr(self, f"_{action}")(operation, kind)

    def store(self) -> bool:
        """Write what has changed; whether anything has. Raises `FrontConflict` and `TooMany`."""
        if self.conflicts:
            raise FrontConflict(self.conflicts)
        if not (self.changed or self.removed):
            return False
        self._refuse_many()
        Card.objects.filter(pk__in=[row.pk for row in self.removed if isinstance(row, Card)]).delete()
        for position, block in enumerate(self.blocks):
            if block.pk is None or block.uuid in self.changed or block.position != position:
                block.position = position
                block.save()
        self._store_cards()
        # Last: what is still stored in a block would be deleted with it, also a card that has just been moved away.
        self.version.blocks.filter(pk__in=[row.pk for row in self.removed if isinstance(row, Block)]).delete()
        self.version.edits = self.number
        self.version.edited_by = sorted({*self.version.edited_by, self.by.pk})
        self.version.save(update_fields=["edits", "edited_by", "updated_at"])
        return True

    def _store_cards(self) -> None:
        changed: list[Card] = []
        for block in self.blocks:
            for position, card in enumerate(self.order[block.uuid]):
                if card.uuid in self.changed or card.position != position:
                    card.block, card.position = block, position
                    changed.append(card)
        Card.objects.bulk_create(card for card in changed if card.pk is None)
        names = [field.name for field in Card._meta.concrete_fields if not field.primary_key]
        Card.objects.bulk_update([card for card in changed if card.pk is not None], names)

    def _refuse_many(self) -> None:
        cards = sum(map(len, self.order.values()))
        if cards > MOST_CARDS:
            raise TooMany(_("A front has %(most)d cards at most.") % {"most": MOST_CARDS})
        if len(self.blocks) > MOST_BLOCKS:
            raise TooMany(_("A front has %(most)d blocks at most.") % {"most": MOST_BLOCKS})

    def _add(self, operation: Operation, kind: str) -> None:
        if self._find(operation.uuid, kind) is not None:
            return  # it was sent twice
        if any(row.uuid == operation.uuid for row in self.removed):
            raise NotEditable(_("It was removed just before. Add it with another uuid."))
        row: Block | Card = Card(uuid=operation.uuid) if kind == "card" else Block(uuid=operation.uuid)
        self._set(row, operation.values)
        if isinstance(row, Card):
            if not {"article", "url"} & operation.values.keys():
                raise NotEditable(_("A card shows an article or leads to an address."))
            _put(row, self._cards_in(operation.block), operation.after)
        else:
            row.version = self.version
            _put(row, self.blocks, operation.after)
            self.order[row.uuid] = []
        self._stamp(row, "edited", "moved")

    def _edit(self, operation: Operation, kind: str) -> None:
        row = self._find(operation.uuid, kind)
        if row is None:
            return self._note_missing(operation)
        before = {name: getattr(row, _column(name)) for name in operation.values}
        is_stale = self._is_news(row.edited)
        self._set(row, operation.values)
        changed = [name for name in operation.values if getattr(row, _column(name)) != before[name]]
        if is_stale and changed:
            self.conflicts += [self._conflict(row, name, before[name], operation.values[name]) for name in changed]
        elif changed:
            self._stamp(row, "edited")

    def _move(self, operation: Operation, kind: str) -> None:
        row = self._find(operation.uuid, kind)
        if row is None:
            return self._note_missing(operation)
        rows: list[Any] = self.blocks if isinstance(row, Block) else self._holding(row)
        target: list[Any] = self.blocks if isinstance(row, Block) else self._cards_in(operation.block)
        before = _place(row, rows)
        rows.remove(row)
        _put(row, target, operation.after)
        if rows is target and _place(row, target) == before:
            return
        if self._is_news(row.moved):
            theirs, mine = self._described(rows, before), self._described(target, _place(row, target))
            self.conflicts.append(BothSides(row.uuid, str(row), _("place"), theirs, mine, named(row.changed_by)))
        self._stamp(row, "moved")

    def _remove(self, operation: Operation, kind: str) -> None:
        row = self._find(operation.uuid, kind)
        if row is None:
            return  # another user has removed it already
        if self._is_news(row.edited) or self._is_news(row.moved):
            self.conflicts.append(BothSides(row.uuid, str(row), "", str(row), _("removed"), named(row.changed_by)))
        if isinstance(row, Block):
            for card in self.order.pop(row.uuid):
                self._drop(card)
                if self._is_news(card.edited) or self._is_news(card.moved):
                    theirs = named(card.changed_by)
                    self.conflicts.append(BothSides(card.uuid, str(card), "", str(card), _("removed"), theirs))
            self.blocks.remove(row)
        else:
            self._holding(row).remove(row)
        self._drop(row)

    def _drop(self, row: Block | Card) -> None:
        if row.pk is not None:
            self.removed.append(row)

    def _find(self, uuid: UUID, kind: str) -> Block | Card | None:
        rows: Iterable[Any] = self.blocks if kind == "block" else self._cards()
        return next((row for row in rows if row.uuid == uuid), None)

    def _cards(self) -> Iterator[Card]:
        for cards in self.order.values():
            yield from cards

    def _holding(self, card: Card) -> list[Card]:
        return next(cards for cards in self.order.values() if card in cards)

    def _cards_in(self, block: UUID | None) -> list[Card]:
        """Raises `NotEditable` if there is no such block any more."""
        if block is None or block not in self.order:
            raise NotEditable(_("This block is not on the front any more; choose another."))
        return self.order[block]

    def _set(self, row: Block | Card, values: Mapping[str, Any]) -> None:
        """Set checked values. Raises `NotEditable` and `SensitiveText`."""
        known = CARD_VALUES if isinstance(row, Card) else BLOCK_VALUES
        if unknown := sorted(values.keys() - {*known}):
            raise NotEditable(_("There is no such value: %(names)s.") % {"names": ", ".join(unknown)})
        for name, value in values.items():
            setattr(row, _column(name), _checked(name, value))
        try:
            row.clean_fields(exclude={"block", "version", "position", "changed_by", *_ROWS, "sublinks"})
        except ValidationError as error:
            raise NotEditable(" ".join(error.messages)) from error
        refuse_sensitive(*_texts(values))
        if isinstance(row, Card):
            if {"article", "url"} & values.keys() and bool(row.article_id) == bool(row.url):
                raise NotEditable(_("A card shows an article or leads to an address."))
            _refuse_empty_window(row)
            # The headline that was overridden, to see later that the article has another.
            row.title = _title(row.article_id) or row.title

    def _stamp(self, row: Block | Card, *marks: str) -> None:
        for mark in marks:
            setattr(row, mark, self.number)
        row.changed_by_id = self.by.pk
        self.changed.add(row.uuid)

    def _note_missing(self, operation: Operation) -> None:
        mine = ", ".join(str(value) for value in operation.values.values() if value) or _("moved")
        self.conflicts.append(BothSides(operation.uuid, "", "", _("removed"), mine[:TITLE_LENGTH], ""))

    def _conflict(self, row: Block | Card, name: str, theirs: Any, mine: Any) -> BothSides:
        field = row._meta.get_field(name)
        sides = (as_text(name, theirs), as_text(name, mine))
        return BothSides(row.uuid, str(row), str(field.verbose_name), *sides, named(row.changed_by))  # type: ignore[union-attr]

    def _described(self, rows: list[Any], position: int) -> str:
        block = next((block for block in self.blocks if self.order.get(block.uuid) is rows), None)
        return f"{block} {position + 1}" if block else str(position + 1)


def _put(row: Any, rows: list[Any], after: UUID | None) -> None:
    """Behind the row with this uuid; last if that is elsewhere by now."""
    place = next((position + 1 for position, one in enumerate(rows) if one.uuid == after), len(rows))
    rows.insert(0 if after is None else place, row)


def _place(row: Any, rows: Sequence[Any]) -> int:
    return next(position for position, one in enumerate(rows) if one is row)


def _column(name: str) -> str:
    return f"{name}_id" if name in _ROWS else name


def _checked(name: str, value: Any) -> Any:
    """A value as it is stored. Raises `NotEditable`."""
    if name in _ROWS:
        if value is not None and not _ROWS[name]._default_manager.filter(pk=value).exists():
            raise NotEditable(_("There is no such %(name)s.") % {"name": _ROWS[name]._meta.verbose_name})
        return value
    if name == "url":
        return checked_address(value) if value else ""
    if name == "sublinks":
        return _checked_links(value)
    return one_line(value) if name in (*TEXTS, "title") else value


def _checked_links(links: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Sublinks as they are stored: to an article with an optional headline, or to an address with one."""
    if len(links) > MOST_SUBLINKS:
        raise NotEditable(_("A card has %(most)d lines below it at most.") % {"most": MOST_SUBLINKS})
    return [_checked_link(link) for link in links]


def _checked_link(link: Mapping[str, Any]) -> dict[str, Any]:
    headline = one_line(str(link.get("headline") or ""))
    article, url = link.get("article"), link.get("url")
    if len(headline) > TITLE_LENGTH or link.keys() - {"article", "url", "headline"} or bool(article) == bool(url):
        raise NotEditable(_("A line below a card is an article, or an address with a headline."))
    if article:
        return {"article": _checked("article", article), "headline": headline}
    if not headline:
        raise NotEditable(_("A line below a card that leads to an address needs a headline."))
    return {"url": checked_address(str(url)), "headline": headline}


def _refuse_empty_window(card: Card) -> None:
    if card.shows_from and card.shows_until and card.shows_until <= card.shows_from:
        raise NotEditable(_("The card would end before it begins."))


def _title(article: int | None) -> str:
    """The headline of an article."""
    found = Article.objects.filter(pk=article).values_list("title", flat=True).first() if article else ""
    return found or ""


def _texts(values: Mapping[str, Any]) -> Iterator[str]:
    """What readers may read of these values."""
    yield from (str(values[name]) for name in (*TEXTS, "title", "url") if values.get(name))
    yield from (str(link.get(name) or "") for link in values.get("sublinks") or () for name in ("headline", "url"))


def texts_of(version: FrontVersion) -> Iterator[str]:
    """All that readers may read on a version besides what is written in its articles."""
    yield from version.blocks.exclude(title="").values_list("title", flat=True)
    for card in Card.objects.filter(block__version=version).order_by("pk"):
        yield from _texts({name: getattr(card, name) for name in (*TEXTS, "url", "sublinks")})


def as_text(name: str, value: Any) -> str:
    """A value as text, for a person who chooses between two."""
    if name in _ROWS and value is not None:
        return str(_ROWS[name]._default_manager.filter(pk=value).first() or value)
    if isinstance(value, bool):
        return _("Yes") if value else _("No")
    if isinstance(value, datetime):
        return format_time_exactly(value)
    if name == "sublinks":
        return "; ".join(str(link.get("headline") or link.get("article") or link.get("url")) for link in value)
    return "" if value is None else str(value)


def _recorded(operation: Operation) -> dict[str, Any]:
    """An operation as the audit log keeps it."""
    plain = bool, int, list
    values = {name: value if isinstance(value, plain) else str(value or "") for name, value in operation.values.items()}
    places = {name: str(value) for name in ("block", "after") if (value := getattr(operation, name))}
    return {"op": operation.op, "uuid": str(operation.uuid), **places, **({"values": values} if values else {})}
