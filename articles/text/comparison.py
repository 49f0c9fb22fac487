"""Compare two bodies as readers see them: block by block, in words, formats, links and media, never as HTML.

Blocks with the same text belong together, then moved ones, then similar ones; words are compared within these pairs.
All steps are taken from one budget, so the result is the same on every machine, and may be stored.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise, product
from typing import NamedTuple

from django.db.models import TextChoices

from articles.text import blocks as html
from articles.text.blocks import TextBlock
from articles.text.diff import CHINESE, WORD, Change, Piece, joined, words
from articles.text.inline import MEDIA, Span, spans, text_of
from articles.text.sequences import Budget, Opcode, matching_ranges

FORMAT = 1
"""Of stored results: a change of what is found needs another."""

_ALIKE = 0.35
"""The share of words that two blocks have in common if one is a new version of the other."""

_MOVED_ALIKE = 0.6
_MOVED_LENGTH = 8
"""Characters from which the same text elsewhere is no coincidence."""

_WORTH_READING = 0.2
"""The share of unchanged text below which words one by one say less than both texts."""

_AT_ONCE = 30
"""Blocks on each side that are compared with each other."""

_SAYS_SOMETHING = re.compile(r"[^\W\u2e80-\U0003ffff]")
"""A letter or digit of a script in which one says something: a Chinese character is in most texts."""

_CELL_STEPS = 5
"""What comparing two blocks costs at least, in steps of the budget."""

MOST_ROWS = 1_000
"""Changed blocks, or rows of one table, after which the rest is left out."""

_KEPT_ROWS = 6
"""Unchanged rows of a table that are shown whole."""

_MOST_NAMED = 5_000
"""Changed blocks whose text is compared apart from its formats."""

_READ = 20_000
"""Characters of a block that tell what it is like."""

_COLSPAN = re.compile(r'\bcolspan="(\d{1,2})"')


class RowChange(TextChoices):
    """What happened to a block."""

    KEPT = "kept"
    CHANGED = "changed"
    REPLACED = "replaced"  #: by one with other words
    ADDED = "added"
    REMOVED = "removed"
    MOVED = "moved"  #: here, and perhaps changed
    MOVED_AWAY = "moved_away"  #: from here
    OMITTED = "omitted"  #: what comes after very many changes


class Shape(NamedTuple):
    """What a block is."""

    tag: str  #: such as `p`, `h2` or `li`
    around: tuple[str, ...] = ()  #: its containers, such as `ul`
    ordinal: int = 1  #: in its container


class Cell(NamedTuple):
    """A cell of a table."""

    change: Change | None  #: None for one that is in both tables
    pieces: tuple[Piece, ...]
    tag: str
    colspan: int


@dataclass(frozen=True)
class TableRow:
    """A row of a table, or its caption."""

    change: RowChange
    cells: tuple[Cell, ...]  #: none of several unchanged or omitted rows
    count: int = 1


@dataclass(frozen=True)
class Row:
    """A block of the old text, of the new one, or of both; or several that are unchanged."""

    change: RowChange
    old: int | None = None  #: its place in the old text, from 0; of one that moved away, `new` says where to
    new: int | None = None
    count: int = 1
    was: Shape | None = None
    shape: Shape | None = None
    pieces: tuple[Piece, ...] = ()
    table: tuple[TableRow, ...] = ()


def compare_bodies(old: Sequence[TextBlock], new: Sequence[TextBlock], budget: Budget | None = None) -> list[Row]:
    """How the blocks of a body changed, in the order of the new text."""
    return [*_Comparison(old, new, budget or Budget()).rows()]


def changes(old: Sequence[TextBlock], new: Sequence[TextBlock], budget: Budget) -> Iterator[tuple[int, int, int, int]]:
    """What differs in any way, block by block: a range of the old text and the one of the new text that replaces it.

    Each range has one block at most, except that several may be added in one place.
    """
    return _Comparison(old, new, budget, finds_moved=False).changes()


def unchanged(block: TextBlock) -> Row:
    """A block by itself, to show it."""
    is_table = block.tag == "table"
    pieces, table = ((), _table(block, Change.KEPT)) if is_table else (kept(spans(block.html)), ())
    return Row(RowChange.KEPT, was=shape_of(block), shape=shape_of(block), pieces=pieces, table=table)


def shape_of(block: TextBlock) -> Shape:
    """What a block is."""
    return Shape(block.tag, block.around, block.ordinal)


def kept(found: Sequence[Span], change: Change = Change.KEPT) -> tuple[Piece, ...]:
    """A text as pieces of one change."""
    return tuple(Piece(change, span.text, span.look, media=span.media) for span in found)


class _Unit:
    """A block with what is compared of it; its texts are found when they are needed."""

    def __init__(self, block: TextBlock) -> None:
        self.block = block
        self.source = f"{''.join(block.path)}{block.plain}"  # the same for equal blocks

    @cached_property
    def spans(self) -> list[Span]:
        return spans(self.block.html)

    @cached_property
    def text(self) -> str:
        return text_of(self.spans)

    @cached_property
    def name(self) -> str:
        """The same for blocks that belong together for certain."""
        media = " ".join(f"{span.media.address} {span.media.alt}" for span in self.spans if span.media)
        return f"{self.text}{media}" or self.block.tag

    @cached_property
    def words(self) -> frozenset[str]:
        """Its words; Chinese ones as pairs of characters."""
        found = [word for word in WORD.findall(self.text[:_READ]) if not word.isspace()]
        pairs = [one + other for one, other in pairwise(found) if CHINESE.fullmatch(one + other)]
        return frozenset([*pairs, *(word for word in found if _SAYS_SOMETHING.search(word))])

    def looks_like(self, other: _Unit) -> bool:
        """Whether there is no difference but the number before it."""
        return self.source == other.source


Pair = tuple[int | None, int | None]


class _Comparison:
    """Of the blocks of a body, or of the rows of a table."""

    def __init__(
        self, old: Sequence[TextBlock], new: Sequence[TextBlock], budget: Budget, *, finds_moved: bool = True
    ) -> None:
        self._finds_moved = finds_moved
        self._old, self._new = [*map(_Unit, old)], [*map(_Unit, new)]
        self._budget = budget
        self._moved: dict[int, int] = {}  # new place by old place

    def rows(self) -> Iterator[Row]:
        """All rows; unchanged blocks in a row are one."""
        pairs = [*self._pairs()]
        came = {new: old for old, new in self._moved.items()}
        done = changed = 0
        for is_equal, run in groupby(pairs, key=self._is_kept):
            found = [*run]
            if is_equal:
                yield Row(RowChange.KEPT, *found[0], count=len(found))
            elif changed + len(found) > MOST_ROWS:
                rest = found[: MOST_ROWS - changed]
                yield from self._changed(rest, came)
                yield Row(RowChange.OMITTED, count=len(pairs) - done - len(rest))
                return
            else:
                yield from self._changed(found, came)
                changed += len(found)
            done += len(found)

    def _changed(self, pairs: Sequence[Pair], came: dict[int, int]) -> Iterator[Row]:
        for is_pair, run in groupby(pairs, key=lambda pair: None not in pair):
            found = [*run]
            yield from (map(self._row, found) if is_pair else self._unpaired(found, came))

    def changes(self) -> Iterator[tuple[int, int, int, int]]:
        """See `changes`."""
        place = new_place = 0
        for is_pair, run in groupby([*self._pairs()], key=lambda pair: None not in pair):
            found = [*run]
            old, new = ([pair[side] for pair in found if pair[side] is not None] for side in (0, 1))
            both = min(len(old), len(new))
            for _both in range(both):
                before, after = self._old[place], self._new[new_place]
                if not (is_pair and before.looks_like(after)):
                    yield place, place + 1, new_place, new_place + 1
                place, new_place = place + 1, new_place + 1
            for _rest in old[both:]:
                yield place, place + 1, new_place, new_place
                place += 1
            if rest := len(new) - both:
                yield place, place, new_place, new_place + rest
                new_place += rest

    def table_rows(self) -> Iterator[TableRow]:
        """The rows of a table in both versions."""
        pairs, done, changed = [*self._pairs()], 0, 0
        for is_equal, run in groupby(pairs, key=self._is_kept):
            found = [*run]
            if is_equal:
                yield from _rows([self._new[new or 0].block for _old, new in found], Change.KEPT)
            else:
                rest = found[: MOST_ROWS - changed]
                yield from map(self._table_row, rest)
                if len(rest) < len(found):
                    yield TableRow(RowChange.OMITTED, (), len(pairs) - done - len(rest))
                    return
                changed += len(found)
            done += len(found)

    def _table_row(self, pair: Pair) -> TableRow:
        old, new = pair
        if old is not None and new is not None:
            cells = _cells(html.cells(self._old[old].block), html.cells(self._new[new].block), self._budget)
            return TableRow(RowChange.CHANGED, tuple(cells))
        unit, change = (self._new[new], Change.ADDED) if new is not None else (self._old[old or 0], Change.REMOVED)
        return _table_row(unit.block, change)

    def _is_kept(self, pair: Pair) -> bool:
        old, new = pair
        return old is not None and new is not None and self._old[old].looks_like(self._new[new])

    def _pairs(self) -> Iterator[Pair]:
        """Old and new places in order: of blocks in both texts, in one, and of moved ones in each."""
        found = [*self._equal()]
        gaps = [block for block in found if not block.is_equal]
        alone = [place for gap in gaps for place in range(gap.start, gap.end)]
        new_alone = [place for gap in gaps for place in range(gap.new_start, gap.new_end)]
        if self._finds_moved:
            self._find_moved(alone, new_alone)
        alike: dict[int, int] = {}
        there = {*self._moved.values()}
        for gap in gaps:
            here = [place for place in range(gap.start, gap.end) if place not in self._moved]
            alike |= self._alike(here, [place for place in range(gap.new_start, gap.new_end) if place not in there])
        if self._finds_moved:
            self._find_rewritten(alone, new_alone, alike)
        for gap in found:
            if gap.is_equal:
                yield from zip(range(gap.start, gap.end), range(gap.new_start, gap.new_end), strict=True)
            else:
                yield from _merged(range(gap.start, gap.end), range(gap.new_start, gap.new_end), alike)

    def _equal(self) -> Iterator[Opcode]:
        """Where both have the same blocks, then, where they differ, the same texts."""
        sources, new_sources = ([unit.source for unit in units] for units in (self._old, self._new))
        for block in matching_ranges(sources, new_sources, self._budget):
            start, new_start = block.start, block.new_start
            if block.is_equal or block.end - start + block.new_end - new_start > _MOST_NAMED:
                yield block
                continue
            old = [unit.name for unit in self._old[start : block.end]]
            new = [unit.name for unit in self._new[new_start : block.new_end]]
            for is_equal, first, last, new_first, new_last in matching_ranges(old, new, self._budget):
                yield Opcode(is_equal, start + first, start + last, new_start + new_first, new_start + new_last)

    def _find_moved(self, old: Sequence[int], new: Sequence[int]) -> None:
        """Blocks whose text is elsewhere, once."""
        if len(old) + len(new) > _MOST_NAMED:
            return
        names = Counter(self._old[place].name for place in old)
        new_names = Counter(self._new[place].name for place in new)
        places = {self._new[place].name: place for place in new}
        for place in old:
            name = self._old[place].name
            if names[name] == new_names[name] == 1 and len(name) >= _MOVED_LENGTH:
                self._moved[place] = places[name]

    def _find_rewritten(self, old: Sequence[int], new: Sequence[int], alike: dict[int, int]) -> None:
        """Moved blocks that were changed, too."""
        taken = {*alike.values(), *self._moved.values()}
        left = [place for place in old if place not in alike and place not in self._moved][:_AT_ONCE]
        others = [place for place in new if place not in taken][:_AT_ONCE]
        scores = ((self._likeness(place, other), place, other) for place, other in product(left, others))
        for score, place, other in sorted(scores, key=lambda found: (-found[0], found)):
            if score < _MOVED_ALIKE:
                break
            if place not in self._moved and other not in taken and len(self._old[place].text) >= _MOVED_LENGTH:
                self._moved[place] = other
                taken.add(other)

    def _alike(self, old: Sequence[int], new: Sequence[int]) -> dict[int, int]:
        """Pairs in order with the most in common."""
        found: dict[int, int] = {}
        for begin in range(0, min(len(old), len(new)), _AT_ONCE):
            if self._budget.steps <= 0:
                break
            found |= self._most_alike(old[begin : begin + _AT_ONCE], new[begin : begin + _AT_ONCE])
        return found

    def _most_alike(self, old: Sequence[int], new: Sequence[int]) -> dict[int, int]:
        scores = [[self._likeness(place, other) for other in new] for place in old]
        best = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]  # of the rest from these places on
        for i, j in product(range(len(old) - 1, -1, -1), range(len(new) - 1, -1, -1)):
            score = scores[i][j] if scores[i][j] >= _ALIKE else -1.0
            best[i][j] = max(best[i + 1][j], best[i][j + 1], best[i + 1][j + 1] + score)
        found, i, j = {}, 0, 0
        while i < len(old) and j < len(new) and best[i][j] > 0:
            if best[i][j] == best[i + 1][j]:
                i += 1
            elif best[i][j] == best[i][j + 1]:
                j += 1
            else:
                found[old[i]] = new[j]
                i, j = i + 1, j + 1
        return found

    def _likeness(self, old: int, new: int) -> float:
        """The share of words in common; 0 if the budget is used up."""
        one, other = self._old[old], self._new[new]
        self._budget.steps -= _CELL_STEPS
        if self._budget.steps <= 0:
            return 0.0
        if (one.block.tag == "table") != (other.block.tag == "table"):
            return 0.0
        if not one.words or not other.words:
            return float(MEDIA in one.text and MEDIA in other.text)
        self._budget.steps -= min(len(one.words), len(other.words)) // 8
        return 2 * len(one.words & other.words) / (len(one.words) + len(other.words))

    def _unpaired(self, pairs: Sequence[Pair], came: dict[int, int]) -> Iterator[Row]:
        """What was removed stands beside what was added, so that the columns stay in step."""
        old = [place for place, _new in pairs if place is not None][::-1]
        new = [place for _old, place in pairs if place is not None][::-1]
        while old or new:
            if old and old[-1] in self._moved:
                place = old.pop()
                yield self._alone(RowChange.MOVED_AWAY, place, self._moved[place])
            elif new and new[-1] in came:
                yield self._row((came[new[-1]], new.pop()), RowChange.MOVED)
            elif old and new:
                yield self._row((old.pop(), new.pop()), RowChange.REPLACED)
            elif old:
                yield self._alone(RowChange.REMOVED, old.pop(), None)
            else:
                yield self._alone(RowChange.ADDED, None, new.pop())

    def _alone(self, change: RowChange, old: int | None, new: int | None) -> Row:
        """A row that shows one text."""
        is_added = change is RowChange.ADDED
        unit = self._new[new] if is_added and new is not None else self._old[old or 0]
        how = {RowChange.ADDED: Change.ADDED, RowChange.REMOVED: Change.REMOVED}.get(change, Change.KEPT)
        shape = shape_of(unit.block)
        is_table = unit.block.tag == "table"
        return Row(
            change,
            old,
            new,
            was=None if is_added else shape,
            shape=shape if is_added else None,
            pieces=() if is_table else kept(unit.spans, how),
            table=_table(unit.block, how) if is_table else (),
        )

    def _row(self, pair: Pair, change: RowChange = RowChange.CHANGED) -> Row:
        """A row that shows both texts."""
        old, new = pair
        one, other = self._old[old or 0], self._new[new or 0]
        pieces: Iterable[Piece] = ()
        table: Iterable[TableRow] = ()
        if one.block.tag == other.block.tag == "table":
            tables = html.rows(one.block.html), html.rows(other.block.html)
            table = _Comparison(*tables, self._budget, finds_moved=False).table_rows()
        elif change is RowChange.REPLACED:
            pieces = [*kept(one.spans, Change.REMOVED), *kept(other.spans, Change.ADDED)]
        else:
            pieces = compare_spans(one.spans, other.spans, self._budget)
        was, shape = shape_of(one.block), shape_of(other.block)
        return Row(change, old, new, was=was, shape=shape, pieces=tuple(pieces), table=tuple(table))


def _merged(old: Sequence[int], new: Sequence[int], alike: dict[int, int]) -> Iterator[Pair]:
    """The places of a gap in order, pairs together."""
    rest = iter(new)
    for place in old:
        if place in alike:
            for other in rest:
                if other == alike[place]:
                    break
                yield None, other
            yield place, alike[place]
        else:
            yield place, None
    yield from ((None, other) for other in rest)


def compare_spans(old: Sequence[Span], new: Sequence[Span], budget: Budget) -> list[Piece]:
    """How words, looks and media changed."""
    before, after = text_of(old), text_of(new)
    pieces = words(before, after, budget)
    unchanged = sum(len(piece.text) for piece in pieces if piece.change is Change.KEPT)
    if unchanged < _WORTH_READING * min(len(before), len(after)):
        return [*kept(old, Change.REMOVED), *kept(new, Change.ADDED)]
    return joined(_looks(pieces, _Cutter(old), _Cutter(new)))


class _Cutter:
    """Takes a text from its start, and says how it looks."""

    def __init__(self, found: Sequence[Span]) -> None:
        self._spans = [*reversed(found)]
        self._place = 0

    def left(self) -> int:
        """The characters that look like the next one."""
        return len(self._spans[-1].text) - self._place

    def take(self, size: int) -> Span:
        """The next characters, all of one look."""
        span = self._spans[-1]
        text = span.text[self._place : self._place + size]
        self._place += size
        if self._place == len(span.text):
            self._spans.pop()
            self._place = 0
        return span._replace(text=text)


def _looks(pieces: Sequence[Piece], old: _Cutter, new: _Cutter) -> Iterator[Piece]:
    """The same pieces with the looks of both texts."""
    for piece in pieces:
        left = len(piece.text)
        sides = {Change.KEPT: (old, new), Change.REMOVED: (old,), Change.ADDED: (new,)}[piece.change]
        while left:
            size = min(left, *(side.left() for side in sides))
            taken = [side.take(size) for side in sides]
            left -= size
            yield from _compared(taken) if piece.change is Change.KEPT else kept(taken, piece.change)


def _compared(taken: Sequence[Span]) -> Iterator[Piece]:
    """The same text in both versions."""
    before, after = taken
    if before.media != after.media:
        yield from (*kept([before], Change.REMOVED), *kept([after], Change.ADDED))
    else:
        is_changed = before.look != after.look and not after.text.isspace()
        yield Piece(Change.KEPT, after.text, after.look, before.look if is_changed else None, after.media)


def _table(block: TextBlock, change: Change) -> tuple[TableRow, ...]:
    """The rows of one table."""
    return tuple(_rows(html.rows(block.html), change))


def _rows(found: Sequence[TextBlock], change: Change) -> Iterator[TableRow]:
    """These rows; of many unchanged ones, the first and the last, which say what the columns are and where one is."""
    if change is Change.KEPT and len(found) > _KEPT_ROWS:
        yield _table_row(found[0], change)
        yield TableRow(RowChange.KEPT, (), len(found) - 2)
        yield _table_row(found[-1], change)
        return
    yield from (_table_row(row, change) for row in found[:MOST_ROWS])
    if len(found) > MOST_ROWS:
        yield TableRow(RowChange.OMITTED, (), len(found) - MOST_ROWS)


def _table_row(row: TextBlock, change: Change) -> TableRow:
    return TableRow(RowChange(change), tuple(_cell(cell, kept(spans(cell.html), change)) for cell in html.cells(row)))


def _cell(block: TextBlock, pieces: Iterable[Piece], change: Change | None = None) -> Cell:
    found = _COLSPAN.search(block.html[: block.html.index(">")])
    return Cell(change, tuple(pieces), block.tag, int(found[1]) if found else 1)


def _cells(old: Sequence[TextBlock], new: Sequence[TextBlock], budget: Budget) -> Iterator[Cell]:
    """The cells of a changed row: those in the same place belong together, unless there is a column more or less."""
    is_same = len(old) == len(new)
    names, new_names = ([text_of(spans(cell.html)) for cell in row] for row in (old, new))
    found = (
        [(0, len(old), 0, len(new))] if is_same else [block[1:] for block in matching_ranges(names, new_names, budget)]
    )
    for start, end, new_start, new_end in found:
        both = min(end - start, new_end - new_start)
        for one, other in zip(old[start : start + both], new[new_start : new_start + both], strict=True):
            yield _cell(other, compare_spans(spans(one.html), spans(other.html), budget))
        for one in old[start + both : end]:
            yield _cell(one, kept(spans(one.html), Change.REMOVED), Change.REMOVED)
        for one in new[new_start + both : new_end]:
            yield _cell(one, kept(spans(one.html), Change.ADDED), Change.ADDED)
