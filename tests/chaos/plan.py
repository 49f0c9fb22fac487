"""The plan of a proof: which faults begin when and how long they last, drawn by a seed."""

from __future__ import annotations

import math
import random
from collections.abc import Collection
from dataclasses import dataclass

from tests.chaos.faults import KINDS

SHORTEST, LONGEST = 0.05, 45.0  # seconds: the longest is beyond every lease, lock wait and timeout
RATE = 0.35  # faults that begin in a second
_CALM = 0.2  # of the time, in which no fault begins
_PERIOD = 10.0  # seconds in which the calm comes once
_MOMENT = 0.1  # seconds that a fault which does not last is counted as


@dataclass(frozen=True)
class Planned:
    """A fault of the plan, in seconds from the beginning."""

    kind: str
    at: float
    duration: float
    seed: int


def draw(seed: int, seconds: float, *, kinds: Collection[str] = tuple(KINDS), rate: float = RATE) -> list[Planned]:
    """The faults of a run. Faults of different things overlap; those of the same thing follow one another."""
    choose = random.Random(seed)
    names = [name for name in KINDS if name in kinds]
    weights = [KINDS[name].weight for name in names]
    free_at: dict[str, float] = {}
    plan, at = [], 0.5
    while names and (at := at + choose.expovariate(rate)) < seconds:
        name = choose.choices(names, weights)[0]
        kind = KINDS[name]
        longest = min(LONGEST, seconds / 6, seconds - at)
        duration = (
            math.exp(choose.uniform(math.log(SHORTEST), math.log(max(longest, 2 * SHORTEST)))) if kind.lasts else 0.0
        )
        is_calm = at % _PERIOD > (1 - _CALM) * _PERIOD
        if not is_calm and free_at.get(kind.of, 0.0) <= at:
            plan.append(Planned(name, at, duration, choose.getrandbits(32)))
            free_at[kind.of] = at + duration + _MOMENT
    return plan
