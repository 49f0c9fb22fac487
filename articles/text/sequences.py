"""Compare two sequences in bounded time: unique common parts first, between them an O(ND) algorithm with a limit on D.

Eugene W. Myers, An O(ND) Difference Algorithm and Its Variations, 1986. What is limited is the number of steps, not
the time: so the result is the same on every machine, and may be stored.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

STEPS = 200_000
"""Comparisons for one document, less than a tenth of a second."""


MOST_CHANGES = 400
"""Between two unique common parts. A passage with more counts as replaced."""


class Opcode(NamedTuple):
    """A range of the old sequence and the range of the new one that replaces it, or equals it."""

    is_equal: bool
    start: int
    end: int
    new_start: int
    new_end: int


@dataclass
class Budget:
    """The steps that are left. What would need more counts as replaced."""

    steps: int = STEPS


class _Match(NamedTuple):
    """Where both sequences are equal, and for how long."""

    start: int
    new_start: int
    size: int


def matching_ranges(old: Sequence[str], new: Sequence[str], budget: Budget) -> Iterator[Opcode]:
    """The ranges in which both sequences are equal or differ, in order and without empty ones."""
    place = new_place = 0
    for start, new_start, size in [*_matches(*_numbered(old, new), budget), _Match(len(old), len(new), 0)]:
        if place < start or new_place < new_start:
            yield Opcode(False, place, start, new_place, new_start)
        if size:
            yield Opcode(True, start, start + size, new_start, new_start + size)
        place, new_place = start + size, new_start + size


def _numbered(old: Sequence[str], new: Sequence[str]) -> tuple[list[int], list[int]]:
    """Equal texts as equal numbers: long ones that begin alike would take long to compare, again and again."""
    numbers: dict[str, int] = {}
    first, second = ([numbers.setdefault(text, len(numbers)) for text in texts] for texts in (old, new))
    return first, second


def _matches(old: Sequence[int], new: Sequence[int], budget: Budget) -> Iterator[_Match]:
    """The equal ranges. Between two unique parts only what is there is compared."""
    head = _common_prefix(old, new)
    tail = _common_prefix(old[head:][::-1], new[head:][::-1])
    end, new_end = len(old) - tail, len(new) - tail
    if head:
        yield _Match(0, 0, head)
    place, new_place = head, head
    for anchor, new_anchor in [*_unique(old[head:end], new[head:new_end]), (end - head, new_end - head)]:
        left, right = old[place : head + anchor], new[new_place : head + new_anchor]
        yield from (_Match(place + at, new_place + new_at, size) for at, new_at, size in _shortest(left, right, budget))
        place, new_place = head + anchor + 1, head + new_anchor + 1
        if place <= end:
            yield _Match(place - 1, new_place - 1, 1)
    if tail:
        yield _Match(end, new_end, tail)


def _common_prefix(one: Sequence[int], other: Sequence[int]) -> int:
    """The number of equal parts at the start."""
    pairs = zip(one, other, strict=False)
    return next((index for index, (mine, others) in enumerate(pairs) if mine != others), min(len(one), len(other)))


def _unique(old: Sequence[int], new: Sequence[int]) -> list[tuple[int, int]]:
    """The places of parts that occur once in both: as many as are in the same order (patience sorting)."""
    counts, new_counts = Counter(old), Counter(new)
    places = {part: place for place, part in enumerate(new) if new_counts[part] == counts[part] == 1}
    pairs = [(place, places[part]) for place, part in enumerate(old) if part in places]
    ends: list[int] = []  # the smallest last place of each length
    chosen: list[int] = []
    for _place, new_place in pairs:
        length = bisect_left(ends, new_place)
        ends[length : length + 1] = [new_place]
        chosen.append(length)
    found: list[tuple[int, int]] = []
    wanted = len(ends) - 1
    for pair, length in zip(reversed(pairs), reversed(chosen), strict=True):
        if length == wanted and (not found or pair[1] < found[-1][1]):
            found.append(pair)
            wanted -= 1
    return found[::-1]


def _shortest(left: Sequence[int], right: Sequence[int], budget: Budget) -> list[_Match]:
    """The matches of a shortest sequence of changes; none if the budget does not last for it."""
    if set(left).isdisjoint(right):
        return []
    edges = _edges(left, right, budget)
    return [*_backwards(edges, len(left), len(right))][::-1] if edges else []


def _edges(left: Sequence[int], right: Sequence[int], budget: Budget) -> list[list[int]]:
    """How far in `left` each number of changes leads, by diagonal; empty if they are too many to reach the end.

    With n changes there are n + 1 diagonals; diagonal i has the places (x, x + n - 2 * i).
    """
    edges: list[list[int]] = []
    for changes in range(min(len(left) + len(right), MOST_CHANGES) + 1):
        found: list[int] = []
        for diagonal in range(changes + 1):
            start = _start(edges, changes, diagonal)
            end = _end(left, right, start, start + changes - 2 * diagonal)
            budget.steps -= 1 + end - start
            found.append(end)
            if end >= len(left) and end + changes - 2 * diagonal >= len(right):
                return [*edges, found]
        if budget.steps <= 0:
            break
        edges.append(found)
    return []


def _start(edges: Sequence[Sequence[int]], changes: int, diagonal: int) -> int:
    """The place in the old sequence after the last change."""
    if changes == 0:
        return 0
    before = edges[changes - 1]
    return before[diagonal] if _is_addition(before, diagonal) else before[diagonal - 1] + 1


def _is_addition(before: Sequence[int], diagonal: int) -> bool:
    """Whether the last change adds a part, and does not remove one."""
    return diagonal == 0 or (diagonal < len(before) and before[diagonal - 1] < before[diagonal])


def _end(left: Sequence[int], right: Sequence[int], start: int, new_start: int) -> int:
    """How far both are equal from these places on."""
    place, shift = start, new_start - start
    most = min(len(left), len(right) - shift)
    while place < most and left[place] == right[place + shift]:
        place += 1
    return place


def _backwards(edges: Sequence[Sequence[int]], place: int, new_place: int) -> Iterator[_Match]:
    """The matches on the path to these places, the last first."""
    for changes in range(len(edges) - 1, -1, -1):
        diagonal = (place - new_place + changes) // 2
        start = _start(edges, changes, diagonal)
        if place > start:
            yield _Match(start, start - place + new_place, place - start)
        new_place -= place - start
        place = start
        if changes and _is_addition(edges[changes - 1], diagonal):
            new_place -= 1
        else:
            place -= 1
