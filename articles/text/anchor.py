"""Finding a quoted passage again in a text that was edited since.

The quote is a text quote selector of the W3C: the exact passage, with some text before and after it. White space is
ignored, because editors and browsers differ in it. The text has no marks for it: an approved text stays as it is, and
exports have nothing to remove.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

CONTEXT = 32
"""Characters before and after a passage that are searched."""

_SIZES = (CONTEXT, 16, 8)  # of the texts beside an edge that are searched, longest first
_DISTINCT = 16  # characters that are unlikely to stand elsewhere by accident
_PLACES = 20  # occurrences of one text that are considered
_COMPARED = 100_000  # characters of likely passages that are compared for all selectors together
_SAME = 0.6  # similarity of two passages of which one was edited, from 0 to 1


@dataclass(frozen=True)
class Selector:
    """A quoted passage, and the text around it: empty at the beginning or end of the whole text."""

    quote: str
    prefix: str = ""
    suffix: str = ""

    @property
    def dense(self) -> Selector:
        """Without white space."""
        return Selector(*(re.sub(r"\s+", "", text) for text in (self.quote, self.prefix, self.suffix)))


@dataclass(frozen=True)
class SearchedText:
    """A plain text in which passages are searched."""

    text: str

    def find(self, selector: Selector) -> Selector | None:
        """The passage as it is now, with the text around it; None if it was deleted.

        It is the quote itself, where the text around it fits best; or else what stands between the texts before and
        after it; or else a similar passage at one of these or at the beginning or end of the quote.
        """
        wanted = selector.dense
        if not wanted.quote:
            return None
        span = self._exact(wanted) or self._edited(wanted)
        if span is None:
            return None
        start, end = self._places[span[0]], self._places[span[1] - 1] + 1
        return Selector(
            self.text[start:end], self.text[max(0, start - CONTEXT) : start], self.text[end : end + CONTEXT]
        )

    @cached_property
    def _places(self) -> list[int]:
        """Where each character stands that is no white space."""
        return [place for place, character in enumerate(self.text) if not character.isspace()]

    @cached_property
    def _dense(self) -> str:
        return "".join(self.text.split())

    def _exact(self, wanted: Selector) -> tuple[int, int] | None:
        size = len(wanted.quote)

        def fit(start: int) -> int:
            return _common(wanted.prefix[::-1], self._before(start)) + _common(wanted.suffix, self._after(start + size))

        starts = list(self._occurrences(wanted.quote))
        return (best := max(starts, key=fit), best + size) if starts else None

    def _edited(self, wanted: Selector) -> tuple[int, int] | None:
        if self._left[0] < 0:  # nothing more will be compared
            return None
        # Between neighbours of a passage that was deleted there is nothing.
        spans = dict.fromkeys(span for span in self._spans(wanted) if span[0] < span[1])
        if not spans or not self._may_compare(len(wanted.quote)):
            return None
        best, most = None, 0.0
        quote = _Parts.of(wanted.quote, of=wanted.quote)
        for start, end in spans:
            # One that is much longer or shorter is not counted, as it cannot be the most similar one.
            possible = quote.likeness_at_most(end - start)
            if possible + 1 <= most or (possible <= most and not self._is_between(wanted, start, end)):
                continue
            if not self._may_compare(end - start):
                break
            likeness = quote.likeness(_Parts.of(self._dense[start:end], of=wanted.quote))
            likeness += self._is_between(wanted, start, end)
            if likeness > most:
                best, most = (start, end), likeness
        return best if most >= _SAME else None

    @cached_property
    def _left(self) -> list[int]:
        """How many characters may still be compared."""
        return [_COMPARED]

    def _may_compare(self, characters: int) -> bool:
        self._left[0] -= characters
        return self._left[0] >= 0

    def _is_between(self, wanted: Selector, start: int, end: int) -> bool:
        """Whether the very texts stand around a passage that stood around the quote: it counts more than any other."""
        is_after = _is_beside(wanted.prefix[::-1], self._before(start))
        return is_after and _is_beside(wanted.suffix, self._after(end))

    def _before(self, place: int) -> str:
        """The text before a place, read away from it."""
        return self._dense[max(0, place - CONTEXT) : place][::-1]

    def _after(self, place: int) -> str:
        return self._dense[place : place + CONTEXT]

    def _spans(self, wanted: Selector) -> Iterator[tuple[int, int]]:
        """The places where the edited passage may be."""
        size = len(wanted.quote)
        starts, ends = set(self._starts(wanted)), set(self._ends(wanted))
        for start in starts:
            yield from ((start, end) for end in ends if start < end <= start + 3 * size + CONTEXT)
            yield start, min(start + size, len(self._dense))
        yield from ((max(0, end - size), end) for end in ends)

    def _starts(self, wanted: Selector) -> Iterator[int]:
        if not wanted.prefix:
            yield 0
        for size in _SIZES:
            yield from (place + min(size, len(wanted.prefix)) for place in self._occurrences(wanted.prefix[-size:]))
            yield from self._occurrences(wanted.quote[: min(size, _half(wanted.quote))])

    def _ends(self, wanted: Selector) -> Iterator[int]:
        if not wanted.suffix:
            yield len(self._dense)
        for size in _SIZES:
            yield from self._occurrences(wanted.suffix[:size])
            size = min(size, _half(wanted.quote))
            yield from (place + size for place in self._occurrences(wanted.quote[-size:]))

    def _occurrences(self, part: str) -> Iterator[int]:
        place = self._dense.find(part) if part else -1
        for _number in range(_PLACES):
            if place < 0:
                return
            yield place
            place = self._dense.find(part, place + 1)


def _half(quote: str) -> int:
    return max(1, len(quote) // 2)


def _is_beside(expected: str, found: str) -> bool:
    """Whether the text next to an edge, read away from it, is the expected one."""
    return found.startswith(expected[:_DISTINCT]) if expected else not found


def _common(one: str, other: str) -> int:
    """How many characters both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((number for number, (left, right) in pairs if left != right), min(len(one), len(other)))


@dataclass(frozen=True)
class _Parts:
    """The sequences of characters of a passage, for its likeness to others.

    Long texts of a language share most pairs of letters, so longer sequences are compared.
    """

    size: int
    counts: Counter[str]
    total: int

    @classmethod
    def of(cls, passage: str, *, of: str) -> _Parts:
        """Those of a passage that is compared with a quote."""
        size = 2 if len(of) <= CONTEXT else 5
        counts = Counter([passage[at : at + size] for at in range(len(passage) - size + 1)])
        return cls(size, counts, counts.total())

    def likeness(self, other: _Parts) -> float:
        """The share of sequences that both have (Sørensen–Dice coefficient)."""
        total = self.total + other.total
        both = [*(self.counts.keys() & other.counts.keys())]
        shared = sum(map(min, map(self.counts.__getitem__, both), map(other.counts.__getitem__, both)))
        return 2 * shared / total if total else 0.0

    def likeness_at_most(self, length: int) -> float:
        """To a passage of this length, whatever it says."""
        other = max(0, length - self.size + 1)
        return 2 * min(self.total, other) / (self.total + other) if self.total + other else 0.0
