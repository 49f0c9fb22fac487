"""Texts that repeat a unit, and whether the time that they take grows faster than their size.

Of each function some are tried; GROWTH_INPUTS=20000 says how many, as `make growth` does.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import nlargest
from itertools import product
from random import Random
from time import thread_time
from typing import NamedTuple

INPUTS = int(os.environ.get("GROWTH_INPUTS", "50"))

LONGEST = 3
"""Tokens in a unit."""

SIZES = (10_000, 20_000, 40_000)
"""Characters of the texts whose times are compared."""

_SMALLER = (1_250, 2_500, 5_000)  # at which cubic time shows: with more it would take minutes

_FIRST_SIZES = (24, 1_000)  # what takes exponential time would not end at more
_CERTAIN = 0.2  # seconds: neither noise nor anything linear takes so long
_MOST_GROWTH = 3  # for twice the text: linear time is 2 times as long, quadratic time 4 times
_NOISE = 0.002
_SUSPECTS = 3
_ATTEMPTS = 3


class Repeated(NamedTuple):
    """A text of any size: the unit repeated after a start and before an end."""

    unit: str
    start: str = ""
    end: str = ""

    def text(self, size: int) -> str:
        """About `size` characters."""
        return f"{self.start}{self.unit * (size // len(self.unit))}{self.end}"


def repeated(tokens: Sequence[str], starts: Sequence[str] = ("",), *, most: int = INPUTS) -> Iterator[Repeated]:
    """Texts of all units of one token, then two, then three, after each start; where that is too many, some of them.

    They are drawn at random, but the same each time. Each text ends unlike the unit.
    """
    random = Random(0)
    for length in range(1, LONGEST + 1):
        count = len(starts) * len(tokens) ** length
        drawn: Iterable[tuple[str, ...]] = product(starts, *[tokens] * length)
        if count > most:
            drawn = ((random.choice(starts), *random.choices(tokens, k=length)) for _number in range(most))
        yield from (Repeated("".join(unit), start, "\0") for start, *unit in drawn)
        most = max(0, most - count)


def growing(run: Callable[[str], object], inputs: Iterable[Repeated], known: Sequence[Repeated] = ()) -> str:
    """The first input found for which `run` takes more than linear time, with its times; "" if there is none.

    All are tried with short texts; the slowest of them, and the known ones, with long ones.
    """
    run("")  # what is loaded once does not count
    times: list[tuple[float, Repeated]] = []
    for one in inputs:
        taken = _first(run, one)
        if taken > _CERTAIN:
            return _shown(one, [taken])
        times.append((taken, one))
    for one in (*known, *(one for _taken, one in nlargest(_SUSPECTS, times))):
        if found := _compared(run, one):
            return _shown(one, found)
    return ""


def _first(run: Callable[[str], object], one: Repeated) -> float:
    """The time for a short text."""
    taken = 0.0
    for size in _FIRST_SIZES:
        text = one.text(max(size, len(one.unit)))
        taken = seconds(run, text)
        if taken > _CERTAIN and (taken := seconds(run, text)) > _CERTAIN:  # once it may be the garbage collector
            break
    return taken


def _compared(run: Callable[[str], object], one: Repeated) -> list[float]:
    """The times for long texts if they grow too fast; else nothing."""
    best = dict.fromkeys((*_SMALLER, *SIZES), float("inf"))
    for _attempt in range(_ATTEMPTS):
        for size in best:
            best[size] = min(best[size], seconds(run, one.text(size)))
            if best[size] > max(_CERTAIN, _MOST_GROWTH * best.get(size // 2, float("inf"))):
                break
        else:
            if best[SIZES[-1]] <= _MOST_GROWTH**2 * best[SIZES[0]] + _NOISE:
                return []
    return [taken for taken in best.values() if taken < float("inf")]


def seconds(run: Callable[[str], object], text: str) -> float:
    """Of the processor, by this thread: other programs do not count."""
    begun = thread_time()
    run(text)
    return thread_time() - begun


def _shown(one: Repeated, times: Sequence[float]) -> str:
    return f"{one!r} takes {', '.join(f'{time:.4f}' for time in times)} s"
