"""Measures that compare a newsroom with few rows to one with many: the same calls, timed in a process of its own."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from bench.measure import Contestant, Goal, Measure, Values
from bench.stand import Servers

ROUNDS = 3
Environment = Mapping[str, str]


def by_size(
    name: str,
    title: str,
    description: str,
    *,
    sizes: Mapping[str, int],
    load: Callable[[Servers, int, int], Environment],
    run: Callable[[Servers, Environment, int], Mapping[str, Sequence[float]]],
    goals: Sequence[Goal] = (),
    least: int = 10,
    is_large: bool = False,
) -> Measure:
    """A measure with a contestant for each size, by its name.

    `load` makes a database from its number and size, and `run` returns the milliseconds of all repetitions by call.
    A quick look has at least `least` rows.
    """

    def contestants(servers: Servers) -> list[Contestant]:
        scaled = [max(servers.sized(size), least) for size in sizes.values()]
        environments = [
            servers.once(f"{name} {size}", partial(load, servers, number, size)) for number, size in enumerate(scaled)
        ]
        return [
            Contestant(named, partial(_medians, servers, run, env, size), rounds=ROUNDS)
            for named, env, size in zip(sizes, environments, scaled, strict=True)
        ]

    return Measure(name, title, description, [], contestants, goals, is_large)


def _medians(
    servers: Servers,
    run: Callable[[Servers, Environment, int], Mapping[str, Sequence[float]]],
    env: Environment,
    size: int,
    _round: int,
) -> Values:
    return {name: statistics.median(costs) for name, costs in run(servers, env, size).items()}


def print_walks(plans: Sequence[Mapping[str, Any]]) -> None:
    """Print the statements that walk over many rows."""
    for plan in plans:
        if plan["bad"]:
            print(f"  walks over {plan['rows']} rows: {plan['work']}: {plan['statement']} ({plan['extra']})")
