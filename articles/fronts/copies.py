"""Copies of blocks and cards, which keep their uuids, so that versions of a front can be compared."""

from __future__ import annotations

from collections.abc import Iterable

from articles.models import Block, Card, FrontVersion


def copy_blocks(like: FrontVersion, version: FrontVersion) -> None:
    """Store the blocks and cards of a version as those of a new one; they keep their uuids."""
    blocks = [(block, list(block.cards.order_by("position", "pk"))) for block in like.blocks.order_by("position", "pk")]
    store_blocks(version, blocks)


def store_blocks(version: FrontVersion, blocks: Iterable[tuple[Block, list[Card]]]) -> None:
    """Store blocks and cards as those of a new version."""
    for position, (block, cards) in enumerate(blocks):
        block.pk, block._state.adding = None, True
        block.version, block.position, block.edited, block.moved = version, position, 0, 0
        block.save()
        for place, card in enumerate(cards):
            card.pk, card.block, card.position, card.edited, card.moved = None, block, place, 0, 0
            card._state.adding = True
        Card.objects.bulk_create(cards)
