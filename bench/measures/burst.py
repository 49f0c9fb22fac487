"""Throughput and memory when many articles are due at one instant."""

from __future__ import annotations

import operator
from functools import partial

from bench import publishers, wagtail
from bench.measure import Contestant, Figure, Goal, Measure, Values
from bench.publishers import CELERY_WORKER, DJANGO_TASKS, DRAMATIQ_WORKER, LOOP, Batch, Publisher, headline, raw_sql
from bench.stand import Servers, memory_of

DESCRIPTION = """\
{count} articles are due at one instant; *rate* is their number by the time until another process sees the last one
published. django-tasks-db, the loop and `publish_scheduled` get fewer ({few}), since they would take minutes. *Redis*
is what a waiting task takes there, *worker* the resident memory of the largest process afterwards. Raw SQL writes the
same rows as Headline; the peers' tasks are one `UPDATE`, `publish_scheduled` publishes Wagtail's pages."""

RATE, REDIS, WORKER = Figure("rate", "/s", more_is_better=True), Figure("Redis", "B a task"), Figure("worker", "MB")
FLATNESS = Figure("second half", "× first half", more_is_better=True)
TIMEOUT = 120
MANY, VERY_MANY = 10_000, 100_000
FEW = {DJANGO_TASKS.name: 1000, LOOP.name: 2000, wagtail.SCHEDULED: 200}
HEADLINE = headline(1), headline(2), headline(4)


def measure(servers: Servers, publisher: Publisher, count: int, _round: int) -> Values:
    """Let all be published."""
    count = servers.sized(count)
    with publishers.working(servers, publisher) as processes:
        empty = servers.redis_bytes()
        batch = publishers.fill(servers, publisher, [(count, 0.0)])
        full = servers.redis_bytes()
        (last,) = publishers.watch(servers, batch, "--last", "--timeout", TIMEOUT)
        assert last is not None, f"not all were published within {TIMEOUT} s"
        values = {RATE.name: count / last * 1000, WORKER.name: memory_of(processes)}
        if publisher.uses_redis:
            values[REDIS.name] = (full - empty) / count
        if publisher.has_tasks and count > MANY:
            values[FLATNESS.name] = flatness(servers, batch)
    return values


def flatness(servers: Servers, batch: Batch) -> float:
    """The rate of the second half of the articles by that of the first half, by the records of their tasks."""
    sql = (
        "SELECT lateness FROM taskinfo_logs WHERE task_type = 'articles.publish' AND lateness IS NOT NULL"
        " AND CAST(`key` AS UNSIGNED) >= %s AND CAST(`key` AS UNSIGNED) < %s ORDER BY lateness LIMIT 1 OFFSET %s"
    )
    middle, end = (
        servers.rows(sql, batch.first, batch.first + batch.count, number - 1)[0][0]
        for number in (batch.count // 2, batch.count)
    )
    return float(middle) / float(end - middle)


def scheduled_pages(servers: Servers, _round: int) -> Values:
    """Let Wagtail publish pages."""
    count = servers.sized(FEW[wagtail.SCHEDULED])
    return {RATE.name: count / wagtail.publish_scheduled(servers, count)}


def contestants(servers: Servers) -> list[Contestant]:
    """All that publish; those in fewer rounds are far behind, or in no goal."""
    rounds: dict[Publisher, int | None] = {
        **dict.fromkeys([*HEADLINE[:2], CELERY_WORKER, raw_sql(2)]),
        **dict.fromkeys([HEADLINE[2], raw_sql(1)], 3),
        **dict.fromkeys([DRAMATIQ_WORKER, DJANGO_TASKS, LOOP], 1),
    }
    return [
        *(
            Contestant(one.name, partial(measure, servers, one, FEW.get(one.name, MANY)), number)
            for one, number in rounds.items()
        ),
        Contestant(wagtail.SCHEDULED, partial(scheduled_pages, servers), rounds=1),
    ]


def very_many(servers: Servers) -> list[Contestant]:
    """Headline and raw SQL."""
    return [
        Contestant(one.name, partial(measure, servers, one, VERY_MANY)) for one in (*HEADLINE, raw_sql(1), raw_sql(2))
    ]


BURST = Measure(
    "burst",
    f"A burst of {MANY:,}",
    DESCRIPTION.format(count=f"{MANY:,}", few=", ".join(f"{count:,}" for count in FEW.values())),
    [RATE, REDIS, WORKER],
    contestants,
    [
        Goal(RATE.name, HEADLINE[0].name, operator.ge, 10, CELERY_WORKER.name),
        Goal(RATE.name, HEADLINE[1].name, operator.ge, 0.6, raw_sql(2).name),
        Goal(REDIS.name, HEADLINE[0].name, operator.le, 120),
        Goal(WORKER.name, HEADLINE[0].name, operator.le, 80),
    ],
)
LARGE_BURST = Measure(
    "burst-100k",
    f"A burst of {VERY_MANY:,}",
    f"As above with {VERY_MANY:,} articles; *second half* is the rate of the later half of them.",
    [RATE, FLATNESS, REDIS, WORKER],
    very_many,
    [
        *(Goal(FLATNESS.name, one.name, operator.ge, 0.8) for one in HEADLINE[:2]),
        Goal(WORKER.name, HEADLINE[0].name, operator.le, 80),
    ],
    is_large=True,
)
