"""Three-way merge of article bodies by block."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

_BLOCKS = re.compile(r"(?<=</p>)|(?<=</h[2-4]>)|(?<=</li>)|(?<=</figure>)|(?<=</tr>)|(?<=</pre>)|(?<=</blockquote>)")

_LONGEST = 500
"""Blocks on one side; a longer passage counts as replaced, because comparing takes quadratic time."""

Change = tuple[int, int, Sequence[str]]
"""Start and end of a range of blocks, and its replacement."""


def merged(base: str, one: str, other: str) -> str | None:
    """`base` with the changes of both versions, `one` and `other`; None if they conflict.

    All three are HTML as the editor writes it. Versions conflict if they change the same block, or if one inserts where
    the other changes something, because the order is unknown.
    """
    blocks = _BLOCKS.split(base)
    ours, theirs = list(_changes(blocks, _BLOCKS.split(one))), list(_changes(blocks, _BLOCKS.split(other)))
    if any(_touch(mine, other_change) for mine in ours for other_change in theirs):
        return None
    for start, end, replacement in sorted([*ours, *theirs], key=lambda change: change[:2], reverse=True):
        blocks[start:end] = replacement
    return "".join(blocks)


def _changes(old: Sequence[str], new: Sequence[str]) -> Iterator[Change]:
    head = _common_prefix(old, new)
    tail = _common_prefix(old[head:][::-1], new[head:][::-1])
    old_middle, new_middle = old[head : len(old) - tail], new[head : len(new) - tail]
    if max(len(old_middle), len(new_middle)) > _LONGEST:
        yield head, head + len(old_middle), new_middle
        return
    compared = SequenceMatcher(None, old_middle, new_middle, autojunk=False)
    for verb, start, end, new_start, new_end in compared.get_opcodes():
        if verb != "equal":
            yield head + start, head + end, new_middle[new_start:new_end]


def _common_prefix(one: Sequence[str], other: Sequence[str]) -> int:
    """The number of equal blocks at the start."""
    pairs = zip(one, other, strict=False)
    return next((index for index, (mine, others) in enumerate(pairs) if mine != others), min(len(one), len(other)))


def _touch(one: Change, other: Change) -> bool:
    """Whether two changes overlap, or one inserts at the edge of the other."""
    inserts = one[0] == one[1] or other[0] == other[1]
    if inserts:
        return one[0] <= other[1] and other[0] <= one[1]
    return one[0] < other[1] and other[0] < one[1]
