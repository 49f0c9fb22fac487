"""Three-way merge of article bodies, block by block. Where both versions changed one block, a person decides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from articles.text.blocks import TextBlock, join, split_html
from articles.text.comparison import changes
from articles.text.sequences import Budget

MINE, THEIRS, BOTH = "mine", "theirs", "both"

_Change = tuple[int, int, tuple[TextBlock, ...]]
"""Start and end of a range of blocks, and its replacement."""


@dataclass(frozen=True)
class Conflict:
    """Blocks that both versions changed."""

    start: int  #: the place of the first one in the base
    base: Sequence[TextBlock]
    mine: Sequence[TextBlock]
    theirs: Sequence[TextBlock]

    @property
    def key(self) -> str:
        """Names the question: what the other version makes of which blocks. Mine may still be edited."""
        asked = f"{self.start} {join(self.base)}\n{join(self.theirs)}"
        return sha256(asked.encode()).hexdigest()[:16]

    def resolved(self, choice: str) -> list[TextBlock]:
        """The blocks by this choice; mine unless it is a choice."""
        mine = [] if choice == THEIRS else [*self.mine]
        return [*mine, *(self.theirs if choice in (THEIRS, BOTH) else ())]


@dataclass(frozen=True)
class MergedBody:
    """A body with the changes of both versions."""

    parts: Sequence[Sequence[TextBlock] | Conflict]

    @property
    def conflicts(self) -> list[Conflict]:
        """What both changed, in order."""
        return [part for part in self.parts if isinstance(part, Conflict)]

    def body(self, choices: Mapping[str, str]) -> str:
        """The HTML with these choices by key; mine where there is none."""
        found: list[TextBlock] = []
        for part in self.parts:
            found += part.resolved(choices.get(part.key, MINE)) if isinstance(part, Conflict) else part
        return join(found)


def merge_bodies(base: str | None, mine: str, theirs: str) -> MergedBody:
    """Both versions of `base` in one; if that is unknown, every difference is a conflict.

    All three are HTML as the editor writes it. Blocks conflict if both versions changed the same one, or added some in
    the same place. What one of them added beside it belongs to the conflict, because it may be a part of the block.
    """
    blocks, budget = split_html(theirs if base is None else base), Budget()
    ours, others = ([*_changes(blocks, version, budget)] for version in (mine, theirs))
    parts: list[Sequence[TextBlock] | Conflict] = []
    place = 0
    for own, other in _clusters(ours, others):
        if own == other or not (base is None or _collide(own, other)):
            found: Sequence[tuple[int, int, Sequence[TextBlock] | Conflict]] = sorted(
                {*own, *other}, key=lambda change: change[:2]
            )
        else:
            start = min(change[0] for change in (*own, *other))
            end = max(change[1] for change in (*own, *other))
            versions = (_applied(blocks, start, end, version) for version in (own, other))
            found = [(start, end, Conflict(start, blocks[start:end], *versions))]
        for start, end, replacement in found:
            parts += [blocks[place:start], replacement]
            place = end
    return MergedBody([*parts, blocks[place:]])


def _changes(blocks: Sequence[TextBlock], version: str, budget: Budget) -> Iterator[_Change]:
    new = split_html(version)
    for start, end, new_start, new_end in changes(blocks, new, budget):
        yield start, end, tuple(new[new_start:new_end])


def _place(change: _Change) -> tuple[int, int]:
    return change[:2]


def _clusters(ours: Sequence[_Change], others: Sequence[_Change]) -> Iterator[tuple[list[_Change], list[_Change]]]:
    """Changes of both versions, each with those of the other that it touches, in order."""
    sides = [{_place(change): change for change in changed} for changed in (ours, others)]
    seen: set[tuple[int, tuple[int, int]]] = set()
    for first in sorted([(side, place) for side in (0, 1) for place in sides[side]], key=lambda found: found[::-1]):
        cluster: tuple[list[_Change], list[_Change]] = ([], [])
        waiting = [first]
        while waiting:
            side, place = found = waiting.pop()
            if found not in seen and place in sides[side]:
                seen.add(found)
                cluster[side].append(sides[side][place])
                waiting += [(1 - side, near) for near in _near(*place)]
        if any(cluster):
            yield sorted(cluster[0], key=_place), sorted(cluster[1], key=_place)


def _near(start: int, end: int) -> list[tuple[int, int]]:
    """The places of changes that overlap this one, or of which one inserts at the edge of the other."""
    if start == end:
        return [(start, start), (start, start + 1), (start - 1, start)]
    return [(start, end), (start, start), (end, end)]


def _collide(ours: Sequence[_Change], others: Sequence[_Change]) -> bool:
    """Whether both change the same block, or insert in the same place, in different ways."""
    found = {_place(change): change for change in ours}
    return any(found.get(_place(change), change) != change for change in others)


def _applied(blocks: Sequence[TextBlock], start: int, end: int, found: Sequence[_Change]) -> list[TextBlock]:
    """The blocks of a range after these changes."""
    parts: list[TextBlock] = []
    for first, last, replacement in found:
        parts += [*blocks[start:first], *replacement]
        start = last
    return [*parts, *blocks[start:end]]
