"""Word diffs between two texts, for display.

Paragraphs and line breaks become lines; other markup, such as a link, is shown as source.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from operator import attrgetter

from articles.text.sanitize import join_blocks
from articles.text.sequences import Block, Budget, blocks

_CJK = r"\u2e80-\u9fff\uf900-\ufaff"
_LETTER = rf"[^\W{_CJK}][\u0300-\u036f\u200d\ufe0f]*"  # with the accents that follow it
WORD = re.compile(
    rf"<[^<>]*>|[{_CJK}]|{_LETTER}(?:[.,:'’‑-]?{_LETTER})*|\s+|.",
    re.DOTALL,
)
"""An HTML tag, a Chinese or Japanese character, a word, white space, or any other character.

Hyphens, apostrophes, points and the like inside a word or number belong to it.
"""

_SIGNIFICANT = re.compile(rf"<[^<>]*>|{_LETTER}|[{_CJK}][^{_CJK}]*[{_CJK}]")
"""What is worth showing as unchanged between two changes: a tag, a word or two Chinese characters."""

PARAGRAPH = re.compile(r"(?<=\n)(?!\n)|(?<=</li>)|(?<=</h[1-6]>)|(?<=</blockquote>)", re.IGNORECASE)

LINES = (
    (re.compile(r"<br ?/?>\n?", re.IGNORECASE), "\n"),
    (re.compile(r"(?<!\s)\s*</p>\s*", re.IGNORECASE), "\n\n"),
    (re.compile(r"<p>", re.IGNORECASE), ""),
    (re.compile(r"(?<!\s)\s*(</(?:h[1-6]|li|tr|table|[ou]l|blockquote|figure)>)", re.IGNORECASE), r"\1\n"),
)
"""Markup that ends a line, and its replacement."""


class Change(StrEnum):
    """The change of a piece of text; `KEPT` is unchanged."""

    KEPT = "kept"
    ADDED = "added"
    REMOVED = "removed"


@dataclass(frozen=True)
class Piece:
    """Text that is unchanged, added or removed."""

    change: Change
    text: str

    @property
    def is_added(self) -> bool:
        """Whether it is only in the new text."""
        return self.change is Change.ADDED


@dataclass(frozen=True)
class Passage:
    """Paragraphs that are unchanged, or that replace others."""

    pieces: Sequence[Piece]

    @property
    def is_kept(self) -> bool:
        """Whether it is unchanged."""
        return all(piece.change is Change.KEPT for piece in self.pieces)

    @property
    def old(self) -> list[Piece]:
        """The pieces of the old text."""
        return [piece for piece in self.pieces if piece.change is not Change.ADDED]

    @property
    def new(self) -> list[Piece]:
        """The pieces of the new text."""
        return [piece for piece in self.pieces if piece.change is not Change.REMOVED]


def words(old: str, new: str) -> list[Piece]:
    """The inline diff of two texts."""
    return joined([piece for passage in passages(old, new) for piece in passage.pieces])


def passages(old: str, new: str, budget: Budget | None = None) -> list[Passage]:
    """The diff by paragraphs, for showing both texts side by side.

    Paragraphs and words that a budget does not last for count as replaced.
    """
    budget = budget or Budget()
    pairs = _side_by_side(PARAGRAPH.split(old), PARAGRAPH.split(new), budget)
    return [Passage(joined(_compared("".join(before), "".join(after), budget))) for before, after in pairs]


def readable(body: str) -> str:
    """A body with paragraphs and line breaks as lines."""
    body = join_blocks(body)
    for markup, lines in LINES:
        body = markup.sub(lines, body)
    return body.rstrip()


def _compared(old: str, new: str, budget: Budget) -> list[Piece]:
    if old == new:
        return [Piece(Change.KEPT, old)]
    left, right = WORD.findall(old), WORD.findall(new)
    return _without_fragments(joined(list(_pieces(left, right, blocks(left, right, budget)))))


def _without_fragments(pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces, with what happens to be equal between two changes, such as a space, as part of one change.

    In each change, what was removed comes before what was added.
    """
    found: list[Piece] = []
    for at, piece in enumerate(pieces):
        is_between = 0 < at < len(pieces) - 1
        if piece.change is Change.KEPT and is_between and not _SIGNIFICANT.search(piece.text):
            found += [Piece(Change.REMOVED, piece.text), Piece(Change.ADDED, piece.text)]
        else:
            found.append(piece)
    runs = groupby(found, key=lambda piece: piece.change is Change.KEPT)
    return joined([piece for _is_kept, run in runs for piece in sorted(run, key=attrgetter("is_added"))])


def _side_by_side(
    old: Sequence[str], new: Sequence[str], budget: Budget
) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """Pairs of matching paragraphs, so that words are compared only within changed ones."""
    for block in blocks(old, new, budget):
        yield old[block.start : block.end], new[block.new_start : block.new_end]


def _pieces(left: Sequence[str], right: Sequence[str], found: Iterable[Block]) -> Iterator[Piece]:
    for is_equal, start, end, new_start, new_end in found:
        if is_equal:
            yield Piece(Change.KEPT, "".join(left[start:end]))
        else:
            yield Piece(Change.REMOVED, "".join(left[start:end]))
            yield Piece(Change.ADDED, "".join(right[new_start:new_end]))


def joined(pieces: Sequence[Piece]) -> list[Piece]:
    """Pieces with adjacent ones of the same change joined, without empty ones."""
    runs = groupby((piece for piece in pieces if piece.text), key=attrgetter("change"))
    return [Piece(change, "".join(piece.text for piece in run)) for change, run in runs]
