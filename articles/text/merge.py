"""Three-way merge of article bodies by block."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from articles.text.sequences import Budget, blocks

_BLOCKS = re.compile(r"(?<=</p>)|(?<=</h[2-4]>)|(?<=</li>)|(?<=</figure>)|(?<=</tr>)|(?<=</pre>)|(?<=</blockquote>)")

Change = tuple[int, int, Sequence[str]]
"""Start and end of a range of blocks, and its replacement."""


def merged(base: str, one: str, other: str) -> str | None:
    """`base` with the changes of both versions, `one` and `other`; None if they conflict.

    All three are HTML as the editor writes it. Versions conflict if they change the same block, or if one inserts where
    the other changes something, because the order is unknown.
    """
    parts, budget = _BLOCKS.split(base), Budget()
    ours, theirs = ([*_changes(parts, _BLOCKS.split(version), budget)] for version in (one, other))
    if any(_touch(*pair) for pair in _neighbours(ours, theirs)):
        return None
    text, place = [], 0
    for start, end, replacement in sorted([*ours, *theirs], key=_place):
        text += [*parts[place:start], *replacement]
        place = end
    return "".join([*text, *parts[place:]])


def _changes(old: Sequence[str], new: Sequence[str], budget: Budget) -> Iterator[Change]:
    for is_equal, start, end, new_start, new_end in blocks(old, new, budget):
        if not is_equal:
            yield start, end, new[new_start:new_end]


def _place(change: Change) -> tuple[int, int]:
    return change[:2]


def _neighbours(ours: Sequence[Change], theirs: Sequence[Change]) -> Iterator[tuple[Change, Change]]:
    """Each change with the one of the other version before it: no earlier one reaches as far."""
    last: dict[bool, Change] = {}
    both = [
        *((_place(change), True, change) for change in ours),
        *((_place(change), False, change) for change in theirs),
    ]
    for _at, is_ours, change in sorted(both, key=lambda found: found[0]):
        if before := last.get(not is_ours):
            yield before, change
        last[is_ours] = change


def _touch(one: Change, other: Change) -> bool:
    """Whether two changes overlap, or one inserts at the edge of the other."""
    inserts = one[0] == one[1] or other[0] == other[1]
    if inserts:
        return one[0] <= other[1] and other[0] <= one[1]
    return one[0] < other[1] and other[0] < one[1]
