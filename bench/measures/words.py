"""Matching many sensitive words in an article."""

from __future__ import annotations

import operator
from functools import partial

from bench.measure import Contestant, Goal, Measure, Values
from bench.stand import Servers

DESCRIPTION = """\
Milliseconds to match 50,000 sensitive words in an article of 10,000 characters. The library alone finds plain words in
plain text; the ratio is the price of seeing through disguises and naming places."""

WAYS = ("Headline", "library")
TEXTS = ("as it comes", "with 100 words")


def contestants(servers: Servers) -> list[Contestant]:
    """The review's matcher and the library."""
    return [Contestant(way, partial(measure, servers, way), rounds=3) for way in WAYS]


def measure(servers: Servers, way: str, _round: int) -> Values:
    """In a process of its own."""
    values: Values = servers.run("bench.words", way)
    return values


MATCHING = Measure(
    "words",
    "Sensitive words",
    DESCRIPTION,
    [],
    contestants,
    [Goal(text, WAYS[0], operator.le, 20) for text in TEXTS],
)
