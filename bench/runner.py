"""Runs measures: contestants take turns in each round, so that other load on the machine affects all alike."""

from __future__ import annotations

import time
import traceback
from collections.abc import Sequence

from bench.figures import short
from bench.measure import Contestant, Measure, Results, Values
from bench.stand import Servers


def run(measure: Measure, servers: Servers, rounds: int) -> Results:
    """Prepare the contestants and run them in turn; one that fails has fewer rounds."""
    print(f"\n{measure.title}", flush=True)
    contestants = prepared(measure, servers)
    results: dict[str, list[Values]] = {contestant.name: [] for contestant in contestants}
    for number in range(rounds):
        for contestant in in_turn(contestants, number):
            if contestant.rounds is None or number < contestant.rounds:
                results[contestant.name] += attempt(contestant, number)
    return results


def prepared(measure: Measure, servers: Servers) -> Sequence[Contestant]:
    """The contestants, none if their preparation fails."""
    try:
        return measure.contestants(servers)
    except Exception:
        print(f"  the preparation failed\n{traceback.format_exc()}", flush=True)
        return []


def in_turn(contestants: Sequence[Contestant], number: int) -> Sequence[Contestant]:
    """Every other round goes backwards: a machine that becomes slower favours none."""
    return contestants[::-1] if number % 2 else contestants


def attempt(contestant: Contestant, number: int) -> list[Values]:
    """One run, as a list; an empty one if it fails."""
    began = time.monotonic()
    try:
        values = contestant.run(number)
    except Exception:
        print(f"  round {number + 1}, {contestant.name}: failed\n{traceback.format_exc()}", flush=True)
        return []
    shown = ", ".join(f"{name} {short(value)}" for name, value in values.items())
    print(f"  round {number + 1}, {contestant.name}: {shown} [{time.monotonic() - began:.0f} s]", flush=True)
    return [values]
