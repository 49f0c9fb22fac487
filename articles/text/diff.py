"""Word diffs of two texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from os.path import commonprefix

from django.db.models import TextChoices

from articles.text.inline import InlineMedia, Look
from articles.text.sequences import Budget, Opcode, matching_ranges

_CJK = r"\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_ACCENTS = r"\u0300-\u036f\u200d\ufe0f"
_LETTER = rf"[^\W{_CJK}][{_ACCENTS}]*"  # with the accents that follow it
WORD = re.compile(
    rf"[{_CJK}]|{_LETTER}(?:[.,:'’‑-]?{_LETTER})*|\s+|.",
    re.DOTALL,
)
"""A Chinese or Japanese character, a word, white space, or any other character.

Hyphens, apostrophes, points and the like inside a word or number belong to it.
"""

CHINESE = re.compile(rf"[{_CJK}]{{2}}")
"""Two Chinese or Japanese characters."""

_SIGNIFICANT = re.compile(rf"{_LETTER}|[{_CJK}][^{_CJK}]*[{_CJK}]")
"""What is worth showing as unchanged between two changes: a word or two Chinese characters."""


_WORD_START = re.compile(rf"(?:{_LETTER})*")
_WORD_END = re.compile(rf"(?<![^\W{_CJK}])(?<![{_ACCENTS}])(?:{_LETTER})*\Z")
_LONG_WORD = 50

MAX_DIFF_LENGTH = 100_000
"""Characters of both texts that are compared word by word."""


class Change(TextChoices):
    """The change of a piece of text; `KEPT` is unchanged."""

    KEPT = "kept"
    ADDED = "added"
    REMOVED = "removed"


@dataclass(frozen=True)
class Piece:
    """Text that is unchanged, added or removed."""

    change: Change
    text: str
    look: Look = Look()
    was: Look | None = None  #: of unchanged text that looked otherwise
    media: InlineMedia | None = None  #: what `text` stands for, if it is `inline.MEDIA`

    @property
    def is_added(self) -> bool:
        """Whether it is only in the new text."""
        return self.change is Change.ADDED


def words(old: str, new: str, budget: Budget | None = None) -> list[Piece]:
    """The diff of two texts. What a budget does not last for counts as replaced."""
    if old == new:
        return [Piece(Change.KEPT, old)] if old else []
    if len(old) + len(new) > MAX_DIFF_LENGTH:
        return _ends_apart(old, new)
    left, right = WORD.findall(old), WORD.findall(new)
    return _without_fragments(joined([*_pieces(left, right, matching_ranges(left, right, budget or Budget()))]))


def _ends_apart(old: str, new: str) -> list[Piece]:
    """What differs as one change, with whole words."""
    begin = len(commonprefix([old, new]))
    end = len(commonprefix([old[begin:][::-1], new[begin:][::-1]]))
    begin -= _length(_WORD_END.search(old[max(0, begin - _LONG_WORD) : begin]))
    end -= _length(_WORD_START.match(old[len(old) - end :][:_LONG_WORD]))
    changes = [Piece(Change.REMOVED, old[begin : len(old) - end]), Piece(Change.ADDED, new[begin : len(new) - end])]
    return joined([Piece(Change.KEPT, old[:begin]), *changes, Piece(Change.KEPT, old[len(old) - end :])])


def _length(found: re.Match[str] | None) -> int:
    return len(found[0]) if found else 0


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


def _pieces(left: Sequence[str], right: Sequence[str], found: Iterable[Opcode]) -> Iterator[Piece]:
    for is_equal, start, end, new_start, new_end in found:
        if is_equal:
            yield Piece(Change.KEPT, "".join(left[start:end]))
        else:
            yield Piece(Change.REMOVED, "".join(left[start:end]))
            yield Piece(Change.ADDED, "".join(right[new_start:new_end]))


def joined(pieces: Iterable[Piece]) -> list[Piece]:
    """Pieces with adjacent ones of the same change and look joined, without empty ones."""
    runs = groupby((piece for piece in pieces if piece.text), key=attrgetter("change", "look", "was", "media"))
    return [Piece(change, "".join(piece.text for piece in run), *rest) for (change, *rest), run in runs]
