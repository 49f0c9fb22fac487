"""Cost of the newsroom's pages with few and many articles of one instant, before and after it."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence

from bench.measure import Goal
from bench.measures.sizes import Environment, by_size
from bench.stand import Servers

FEW, MANY = "100 articles", "10,000 articles"
REPETITIONS = 5
FIRST_DATABASE = 12
PAGES = (
    "dashboard", "articles", "scheduled articles", "published articles", "overdue articles",
    "calendar, month", "calendar, week", "calendar, day", "board", "notifications", "pending tasks",
)  # fmt: skip

DESCRIPTION = """\
Server time of the newsroom's pages by the number of articles that are scheduled for one instant: half an hour before
it, and five minutes after it while no worker runs. A test counts their statements and rows."""


def load(servers: Servers, number: int, size: int) -> Environment:
    """An empty newsroom, which the child fills in the first round."""
    return servers.newsroom(f"one_instant_{size}", FIRST_DATABASE + number) | {"REDIS_CACHE_URL": ""}


def run(servers: Servers, env: Environment, size: int) -> Mapping[str, Sequence[float]]:
    """Milliseconds of each page."""
    costs: Mapping[str, Sequence[float]] = servers.run("bench.one_instant_pages", size, REPETITIONS, env=env)
    return costs


ONE_INSTANT = by_size(
    "one-instant",
    "The newsroom with 10,000 articles of one instant",
    DESCRIPTION,
    sizes={FEW: 100, MANY: 10_000},
    load=load,
    run=run,
    goals=[Goal(f"{page}, {when}", MANY, operator.le, 2, FEW) for page in PAGES for when in ("before", "after")],
)
