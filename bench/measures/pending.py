"""Costs of calls of the engine, and of an idle worker, with few and with very many pending tasks."""

from __future__ import annotations

import operator
import os
import statistics
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from bench.measure import Contestant, Figure, Goal, Measure, Values
from bench.rows import multiply
from bench.stand import Servers, memory_of
from tests.harness import Process, connect

DESCRIPTION = """\
Milliseconds of a call (medians of a round), with pending tasks due from an hour to four years ahead; *idle worker* is
what it takes of a core, *worker* its resident memory after its first refresh. *Plans* counts statements of the engine
that walk over more than a thousand rows."""

YEARS = 4 * 365 * 24 * 3600  # seconds over which the pending tasks spread
TYPES = ("articles.publish", "articles.unpublish", "bench.cost", "bench.outside")
ARTICLES = 5  # pending tasks for each article
REPETITIONS = 50
IDLE_SECONDS = 3.0
CALLS = (
    "add_task",
    "cancel_task",
    "run_due of one",
    "poll of one",
    "poll, empty",
    "sweep, nothing overdue",
    "refresh, a pass",
)
IDLE, WORKER, PLANS = Figure("idle worker", "%"), Figure("worker", "MB"), Figure("plans", "")
FIGURES = [*(Figure(call, "ms") for call in CALLS), IDLE, WORKER, PLANS]
SIZES, LARGE_SIZES = (1_000, 100_000), (1_000, 1_000_000, 10_000_000)

_COMMON = "task_id, task_type, priority, execute_time, parameters, `key`, version, attempts, created_at, promised_at"
_VALUES = (
    "seq, ELT(1 + seq %% 4, %s, %s, %s, %s), 0, UTC_TIMESTAMP(6) + INTERVAL 1 HOUR + INTERVAL seq * %s SECOND,"
    " '{}', CONCAT('far ', seq), 1, 0, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6)"
)
_ARTICLE = "from articles.models import Article; Article.objects.create(title='News')"


def pending(name: str, title: str, sizes: Sequence[int], *, is_large: bool) -> Measure:
    """A measure of some sizes; the first is the one that others are compared with."""

    def contestants(servers: Servers) -> list[Contestant]:
        scaled = [max(int(size * servers.scale), 1000) for size in sizes]
        databases = [newsroom(servers, number, size) for number, size in enumerate(scaled)]
        return [
            Contestant(named(size), partial(measure, servers, env), rounds=3)
            for size, env in zip(sizes, databases, strict=True)
        ]

    calls = ("add_task", "cancel_task", "poll of one")
    goals = [Goal(call, named(size), operator.le, 1.1, named(sizes[0])) for size in sizes[1:] for call in calls]
    goals.append(Goal("poll, empty", named(sizes[-1]), operator.le, 1.0))
    goals.append(Goal(WORKER.name, named(sizes[-1]), operator.le, 80))
    return Measure(name, title, DESCRIPTION, FIGURES, contestants, goals, is_large)


def named(size: int) -> str:
    """A contestant's name."""
    return f"{size:,} pending"


def newsroom(servers: Servers, number: int, size: int) -> dict[str, str]:
    """A database with so many pending tasks; returns the environment of processes that work on it."""
    name = f"pending_{size}"

    def create() -> dict[str, str]:
        env = servers.newsroom(name, 1 + number)
        servers.call("manage.py", "shell", "-c", _ARTICLE, env=env)
        load(env["DATABASE_URL"], size)
        return env

    env: dict[str, str] = servers.once(name, create)
    return env


def load(url: str, size: int) -> None:
    """Write the rows, by one statement for each table."""
    spread = [*TYPES, YEARS // size]
    connection = connect(url)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO taskinfo ({_COMMON}, lease_token) SELECT {_VALUES}, '' FROM seq_1_to_{size}", spread
        )
        cursor.execute(
            f"INSERT INTO taskinfo_logs ({_COMMON}, status, worker, error, updated_at)"
            f" SELECT {_VALUES}, 0, '', '', UTC_TIMESTAMP(6) FROM seq_1_to_{size}",
            spread,
        )
        ahead = f"UTC_TIMESTAMP(6) + INTERVAL 1 HOUR + INTERVAL seq * {YEARS // size * ARTICLES} SECOND"
        status = "ELT(1 + seq % 3, 8, 4, 9)"
        written = "UTC_TIMESTAMP(6) - INTERVAL 1 DAY"
        multiply(cursor, "articles_article", size // ARTICLES, status=status, publish_at=ahead, updated_at=written)
        cursor.execute("TRUNCATE TABLE articles_pendingchange")  # as some refreshes after an import
        cursor.execute("ANALYZE TABLE taskinfo, taskinfo_logs, articles_article")
    connection.close()


def measure(servers: Servers, env: dict[str, str], number: int) -> Values:
    """Medians of the calls; plans do not change, so they are counted in the first round."""
    costs = servers.run("bench.engine_costs", servers.sized(REPETITIONS), env=env)
    values = {call: statistics.median(costs[call]) for call in CALLS} | idle_worker(servers, env)
    if not number:
        values[PLANS.name] = sum(plan["bad"] for plan in servers.run("bench.plans", env=env))
    return values


def idle_worker(servers: Servers, env: dict[str, str]) -> dict[str, float]:
    """Processor time of an idle worker, in per cent of one core, and its memory."""
    with servers.start("manage.py", "poll", "--forever", env=env) as worker:
        worker.wait_for(" runs ")
        time.sleep(2)  # its first refresh
        before, began = cpu_seconds(worker), time.monotonic()
        time.sleep(IDLE_SECONDS)
        share = 100 * (cpu_seconds(worker) - before) / (time.monotonic() - began)
        return {IDLE.name: share, WORKER.name: memory_of([worker])}


def cpu_seconds(process: Process) -> float:
    """User and system time so far of a process and its children."""
    pids = [process.pid, *process.children()]
    fields = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids]
    return sum(int(one[11]) + int(one[12]) for one in fields) / os.sysconf("SC_CLK_TCK")


PENDING = pending("pending", "Few and many pending tasks", SIZES, is_large=False)
LARGE_PENDING = pending("pending-large", "A thousand and ten million pending tasks", LARGE_SIZES, is_large=True)
