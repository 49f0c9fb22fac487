"""Cost of a calendar page with 10,000 articles in its month: `python -m bench.calendar`.

Two newsrooms on one MariaDB, one with few and one with many scheduled articles in a month, are asked in turn, so that
whatever else the machine does hits both alike.
"""

from __future__ import annotations

import argparse
import statistics
from collections import defaultdict
from typing import Any

from bench.figures import table
from bench.stand import machine, save, stand
from tests.harness import Stand, base_dir

LIMIT = 200.0  # milliseconds of server time for a page, on an idle machine


def main() -> None:
    """Load, measure in turn, print; fails if a page exceeds the limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--few", type=int, default=100)
    parser.add_argument("--many", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repetitions", type=int, default=10, help="pages in each round")
    options = parser.parse_args()
    print(f"{options.few} and {options.many} articles scheduled in a month, on {machine()}.\n")
    with stand() as servers:
        sizes = {size: newsroom(servers, number) for number, size in enumerate((options.few, options.many))}
        costs = measure(servers, sizes, options.rounds, options.repetitions)
    print(report(costs, options.few, options.many))
    print(f"Saved in {save('calendar', costs).relative_to(base_dir)}")
    slow = {name: cost["fastest"] for name, cost in costs[options.many].items() if name != FEED}
    slow = {name: cost for name, cost in slow.items() if cost > LIMIT}
    if slow:
        raise SystemExit(f"slower than {LIMIT} ms: {slow}")


FEED = "feed"


def newsroom(servers: Stand, number: int) -> dict[str, str]:
    """Create a database; returns the environment of its processes."""
    name = f"calendar_{number}"
    servers.rows(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
    env = {
        "DATABASE_URL": servers.mariadb.url.rpartition("/")[0] + f"/{name}",
        "REDIS_URL": f"{servers.redis.url}/{2 + 2 * number}",
        "REDIS_CACHE_URL": f"{servers.redis.url}/{3 + 2 * number}",
    }
    servers.call("manage.py", "migrate", "--verbosity", "0", env=env)
    return env


def measure(servers: Stand, sizes: dict[int, dict[str, str]], rounds: int, repetitions: int) -> dict[int, Any]:
    """Each page's cost in milliseconds, by number of articles."""
    samples: dict[int, defaultdict[str, list[float]]] = {size: defaultdict(list) for size in sizes}
    for _ in range(rounds):
        for size, env in sizes.items():
            for name, costs in servers.run("bench.calendar_pages", size, repetitions, env=env).items():
                samples[size][name] += costs
    return {
        size: {
            name: {"median": round(statistics.median(costs), 1), "fastest": round(min(costs), 1)}
            for name, costs in named.items()
        }
        for size, named in samples.items()
    }


def report(costs: dict[int, dict[str, Any]], few: int, many: int) -> str:
    """A table of both newsrooms."""
    rows = []
    for name in costs[few]:
        one, other = costs[few][name], costs[many][name]
        ratio = f"{other['median'] / one['median']:.1f}"
        rows.append((name, one["median"], other["median"], ratio, one["fastest"], other["fastest"]))
    headings = ("ms", f"median, {few}", str(many), "ratio", f"fastest, {few}", str(many))
    return table(rows, headings) + "\n"


if __name__ == "__main__":
    main()
