"""What differs between two versions of a front, card by card, as text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from articles.fronts.operations import BLOCK_VALUES, CARD_VALUES, as_text
from articles.fronts.shown import ShownCard
from articles.models import Block, Card, FrontVersion


@dataclass(frozen=True)
class FrontChange:
    """A difference: what it is about, and both sides as text; one is empty for what was added or removed."""

    name: str
    label: str
    old: str
    new: str


def compare_versions(old: FrontVersion, new: FrontVersion) -> list[FrontChange]:
    """The differences in the order of the new version, then what it lacks. Both are of one front."""
    before, after = dict(_parts(old)), dict(_parts(new))
    changes = [change for uuid, part in after.items() for change in _changed(before.get(uuid), part)]
    gone = [part for uuid, part in before.items() if uuid not in after]
    return [*changes, *(FrontChange(part.name, _("removed"), part.place, "") for part in gone)]


@dataclass(frozen=True)
class _Part:
    """A block or card with its place."""

    row: Block | Card
    name: str
    place: str


def _parts(version: FrontVersion) -> Iterator[tuple[UUID, _Part]]:
    blocks = version.blocks.select_related("channel", "tag").order_by("position", "pk")
    found = Card.objects.filter(block__version=version).select_related("article").defer("article__body")
    cards = list(found.order_by("position", "pk"))
    for number, block in enumerate(blocks, start=1):
        yield block.uuid, _Part(block, str(block), str(number))
        own = (card for card in cards if card.block_id == block.pk)
        for place, card in enumerate(own, start=1):
            name = ShownCard(card.article, card).headline or card.title
            yield card.uuid, _Part(card, name, f"{block} {place}")


def _changed(old: _Part | None, new: _Part) -> Iterator[FrontChange]:
    if old is None:
        yield FrontChange(new.name, _("added"), "", new.place)
        return
    if old.place != new.place:
        yield FrontChange(new.name, _("place"), old.place, new.place)
    for name in BLOCK_VALUES if isinstance(new.row, Block) else CARD_VALUES:
        sides = [as_text(name, _value(part.row, name)) for part in (old, new)]
        if sides[0] != sides[1]:
            label: Any = new.row._meta.get_field(name)
            yield FrontChange(new.name, str(label.verbose_name), *sides)


def _value(row: Block | Card, name: str) -> Any:
    return getattr(row, f"{name}_id" if name in ("article", "image", "channel", "tag") else name)
