"""Making due hints ready in Redis: by the script in batches, and one by one (R1.8)."""

from __future__ import annotations

from functools import partial

from bench.measure import Contestant, Figure, Measure, Values
from bench.stand import Servers

HINTS = 10_000
TIME = Figure("time", "ms")


def contestants(servers: Servers) -> list[Contestant]:
    """Both ways."""
    return [Contestant(way, partial(measure, servers, way), rounds=3) for way in ("in batches", "one by one")]


def measure(servers: Servers, way: str, _round: int) -> Values:
    """In a process of its own."""
    return {TIME.name: servers.run("bench.promoting", servers.sized(HINTS), way)}


PROMOTION = Measure(
    "promotion",
    "Promotion of due hints",
    f"Milliseconds until {HINTS:,} due ids in Redis are ready, by a script in batches and by two commands each.",
    [TIME],
    contestants,
)
