"""Word diffs between two texts, for display.

Paragraphs and line breaks become lines; other markup, such as a link, is shown as source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import groupby
from operator import attrgetter
from typing import Any

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
LONGEST = 4_000
"""Words on one side; a longer passage is shown as replaced, without a word diff."""

LINES = (
    (re.compile(r"(?<=>)\s*\n\s*(?=<)"), ""),  # between blocks, where editors differ
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


def passages(old: str, new: str) -> list[Passage]:
    """The diff by paragraphs, for showing both texts side by side."""
    pairs = _side_by_side(PARAGRAPH.split(old), PARAGRAPH.split(new))
    return [Passage(joined(_compared("".join(before), "".join(after)))) for before, after in pairs]


def readable(body: str) -> str:
    """A body with paragraphs and line breaks as lines."""
    for markup, lines in LINES:
        body = markup.sub(lines, body)
    return body.rstrip()


def _compared(old: str, new: str) -> list[Piece]:
    if old == new:
        return [Piece(Change.KEPT, old)]
    left, right = WORD.findall(old), WORD.findall(new)
    if max(len(left), len(right)) > LONGEST:
        return list(_pieces(left, right, [("replace", 0, len(left), 0, len(right))]))
    opcodes = SequenceMatcher(None, left, right, autojunk=False).get_opcodes()
    return _without_fragments(joined(list(_pieces(left, right, opcodes))))


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


def _side_by_side(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """Pairs of matching paragraphs, so that words are compared only within changed ones."""
    for _verb, start, end, new_start, new_end in SequenceMatcher(None, old, new).get_opcodes():
        yield old[start:end], new[new_start:new_end]


def _pieces(left: Sequence[str], right: Sequence[str], opcodes: Any) -> Iterator[Piece]:
    for verb, start, end, new_start, new_end in opcodes:
        if verb == "equal":
            yield Piece(Change.KEPT, "".join(left[start:end]))
        else:
            yield Piece(Change.REMOVED, "".join(left[start:end]))
            yield Piece(Change.ADDED, "".join(right[new_start:new_end]))


def joined(pieces: Sequence[Piece]) -> list[Piece]:
    """Pieces with adjacent ones of the same change joined, without empty ones."""
    joined: list[Piece] = []
    for piece in pieces:
        if piece.text and joined and joined[-1].change is piece.change:
            joined[-1] = Piece(piece.change, joined[-1].text + piece.text)
        elif piece.text:
            joined.append(piece)
    return joined
