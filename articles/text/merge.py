"""Two bodies that grew from one: put together where they differ in different paragraphs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

_BLOCKS = re.compile(r"(?<=</p>)|(?<=</h[2-4]>)|(?<=</li>)|(?<=</figure>)|(?<=</tr>)|(?<=</pre>)|(?<=</blockquote>)")

_LONGEST = 500
"""Blocks on one side; a longer passage counts as changed whole, since comparing it costs the square of its length."""

Change = tuple[int, int, Sequence[str]]
"""Blocks from the first number up to the second become these."""


def merged(base: str, one: str, other: str) -> str | None:
    """`base` with the changes that `one` and `other` made to it; None if both touched the same paragraph.

    All three are HTML as the editor writes it. An insertion where the other changed something counts as the same
    paragraph, since nobody knows which comes first.
    """
    blocks = _BLOCKS.split(base)
    ours, theirs = list(_changes(blocks, _BLOCKS.split(one))), list(_changes(blocks, _BLOCKS.split(other)))
    if any(_touch(mine, other_change) for mine in ours for other_change in theirs):
        return None
    for start, end, replacement in sorted([*ours, *theirs], key=lambda change: change[:2], reverse=True):
        blocks[start:end] = replacement
    return "".join(blocks)


def _changes(old: Sequence[str], new: Sequence[str]) -> Iterator[Change]:
    head = _alike(old, new)
    tail = _alike(old[head:][::-1], new[head:][::-1])
    old_middle, new_middle = old[head : len(old) - tail], new[head : len(new) - tail]
    if max(len(old_middle), len(new_middle)) > _LONGEST:
        yield head, head + len(old_middle), new_middle
        return
    compared = SequenceMatcher(None, old_middle, new_middle, autojunk=False)
    for verb, start, end, new_start, new_end in compared.get_opcodes():
        if verb != "equal":
            yield head + start, head + end, new_middle[new_start:new_end]


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """How many blocks are the same from the beginning."""
    pairs = zip(one, other, strict=False)
    return next((place for place, (mine, others) in enumerate(pairs) if mine != others), min(len(one), len(other)))


def _touch(one: Change, other: Change) -> bool:
    """Whether they change the same blocks, or one inserts something where the other changes."""
    inserts = one[0] == one[1] or other[0] == other[1]
    if inserts:
        return one[0] <= other[1] and other[0] <= one[1]
    return one[0] < other[1] and other[0] < one[1]
