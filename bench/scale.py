"""Cost of a million pending tasks compared with a thousand: `python -m bench.scale`.

Two databases on one durable MariaDB, one with few and one with many pending tasks due from an hour to years ahead,
are measured in turn, so that whatever else the machine does hits both alike.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from bench.figures import table
from bench.rows import multiply
from bench.stand import machine, save, stand
from tests.harness import Process, Stand, base_dir, connect

YEARS = 4 * 365 * 24 * 3600  # seconds over which the pending tasks spread
TYPES = ("articles.publish", "articles.unpublish", "bench.cost", "bench.outside")
ARTICLES = 5  # pending tasks for each article

_COMMON = "task_id, task_type, priority, execute_time, parameters, `key`, version, attempts, created_at, promised_at"
_VALUES = (
    "seq, ELT(1 + seq %% 4, %s, %s, %s, %s), 0, UTC_TIMESTAMP(6) + INTERVAL 1 HOUR + INTERVAL seq * %s SECOND,"
    " '{{}}', CONCAT('far ', seq), 1, 0, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6)"
)


def main() -> None:
    """Load, measure in turn, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--few", type=int, default=1000)
    parser.add_argument("--many", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--repetitions", type=int, default=100, help="calls in each round")
    parser.add_argument("--idle", type=float, default=30.0, help="seconds of watching an idle worker")
    options = parser.parse_args()
    print(f"{options.few} and {options.many} pending tasks on {machine()}.\n")
    with stand() as servers:
        sizes = {size: database(servers, number, size) for number, size in enumerate((options.few, options.many))}
        costs = measure(servers, sizes, options.rounds, options.repetitions)
        idle = {size: idle_worker(servers, env, options.idle) for size, env in sizes.items()}
        plans = servers.run("bench.plans", env=sizes[options.many])
    figures = {"costs": costs, "idle": idle, "plans": plans}
    print(report(figures, options.few, options.many))
    print(f"Saved in {save('scale', figures).relative_to(base_dir)}")


def database(servers: Stand, number: int, size: int) -> dict[str, str]:
    """A database with so many pending tasks; returns the environment of processes that work on it."""
    name = f"scale_{number}"
    servers.rows(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
    env = {
        "DATABASE_URL": servers.mariadb.url.rpartition("/")[0] + f"/{name}",
        "REDIS_URL": f"{servers.redis.url}/{2 + 2 * number}",
        "REDIS_CACHE_URL": f"{servers.redis.url}/{3 + 2 * number}",
    }
    servers.call("manage.py", "migrate", "--verbosity", "0", env=env)
    servers.call("manage.py", "shell", "-c", _ARTICLE, env=env)
    load(env["DATABASE_URL"], size)
    return env


_ARTICLE = "from articles.models import Article; Article.objects.create(title='News')"


def load(url: str, size: int) -> None:
    """Write the rows, by one statement for each table."""
    values, spread = _VALUES.format(), [*TYPES, YEARS // size]
    connection = connect(url)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO taskinfo ({_COMMON}, lease_token) SELECT {values}, '' FROM seq_1_to_{size}", spread
        )
        cursor.execute(
            f"INSERT INTO taskinfo_logs ({_COMMON}, status, worker, error, updated_at)"
            f" SELECT {values}, 0, '', '', UTC_TIMESTAMP(6) FROM seq_1_to_{size}",
            spread,
        )
        ahead = f"UTC_TIMESTAMP(6) + INTERVAL 1 HOUR + INTERVAL seq * {YEARS // size * ARTICLES} SECOND"
        status = "ELT(1 + seq % 3, 8, 4, 9)"
        written = "UTC_TIMESTAMP(6) - INTERVAL 1 DAY"
        multiply(cursor, "articles_article", size // ARTICLES, status=status, publish_at=ahead, updated_at=written)
        cursor.execute("ANALYZE TABLE taskinfo, taskinfo_logs, articles_article")
    connection.close()


def measure(servers: Stand, sizes: dict[int, dict[str, str]], rounds: int, repetitions: int) -> dict[int, Any]:
    """Medians of each call's cost in milliseconds, by size of the table."""
    samples: dict[int, defaultdict[str, list[float]]] = {size: defaultdict(list) for size in sizes}
    for _ in range(rounds):
        for size, env in sizes.items():
            for name, costs in servers.run("bench.engine_costs", repetitions, env=env).items():
                samples[size][name] += costs
    return {
        size: {name: round(statistics.median(costs), 3) for name, costs in named.items()}
        for size, named in samples.items()
    }


def idle_worker(servers: Stand, env: dict[str, str], seconds: float) -> float:
    """CPU usage of an idle worker, in per cent of one core."""
    with servers.start("manage.py", "poll", "--forever", env=env) as worker:
        worker.wait_for(" runs ")
        time.sleep(5)
        before, began = cpu_seconds(worker), time.monotonic()
        time.sleep(seconds)
        return round(100 * (cpu_seconds(worker) - before) / (time.monotonic() - began), 2)


def cpu_seconds(process: Process) -> float:
    """User and system time so far."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def report(figures: dict[str, Any], few: int, many: int) -> str:
    """Tables of the costs, the idle worker and the plans."""
    costs = figures["costs"]
    compared = [
        (name, costs[few][name], costs[many][name], f"{100 * (costs[many][name] / costs[few][name] - 1):+.0f} %")
        for name in costs[few]
    ]
    compared.append(("idle worker, % of a core", figures["idle"][few], figures["idle"][many], ""))
    plans = [
        (plan["work"], plan["table"], plan["type"], plan["key"], plan["rows"], "BAD" if plan["bad"] else "")
        for plan in figures["plans"]
    ]
    bad = [plan for plan in figures["plans"] if plan["bad"]]
    return "\n".join(
        [
            table(compared, ("median ms", str(few), str(many), "change")), "",
            f"Plans at {many}", table(plans, ("work", "table", "type", "key", "rows", "")), "",
            *(f"BAD: {plan['work']}: {plan['statement']} ({plan['extra']})" for plan in bad),
            "No plan walks over many rows." if not bad else "", "",
        ]
    )  # fmt: skip


if __name__ == "__main__":
    main()
