"""Cost of the calendar's pages and feed with few and many articles in their period."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence

from bench.measure import Goal
from bench.measures.sizes import Environment, by_size
from bench.stand import Servers

FEW, MANY = "100 articles", "10,000 articles"
REPETITIONS = 5
FIRST_DATABASE = 10

DESCRIPTION = """\
Server time of the newsroom's calendar and of its iCalendar feed, by the number of scheduled articles in the period
shown."""


def load(servers: Servers, number: int, size: int) -> Environment:
    """An empty newsroom, which the child fills in the first round."""
    return servers.newsroom(f"calendar_{size}", FIRST_DATABASE + number)


def run(servers: Servers, env: Environment, size: int) -> Mapping[str, Sequence[float]]:
    """Milliseconds of each page."""
    costs: Mapping[str, Sequence[float]] = servers.run("bench.calendar_pages", size, REPETITIONS, env=env)
    return costs


CALENDAR = by_size(
    "calendar",
    "The newsroom's calendar",
    DESCRIPTION,
    sizes={FEW: 100, MANY: 10_000},
    load=load,
    run=run,
    goals=[Goal(page, MANY, operator.le, 2, FEW) for page in ("month", "week", "day", "feed")],
)
