"""Calls per second for adding, rescheduling and cancelling, one by one and in bulk."""

from __future__ import annotations

import operator
from functools import partial

from bench.measure import Contestant, Figure, Goal, Measure, Values
from bench.publishers import CELERY_WORKER, DJANGO_TASKS, DRAMATIQ_WORKER, migrate_plain
from bench.stand import CELERY, DRAMATIQ, Servers

DESCRIPTION = """\
Calls a second in one process, or articles a second for `schedule_many` and `reschedule_many`. Headline's tasks are
rows with a record that are durable and in Redis; Celery's and Dramatiq's messages are in Redis alone. A dash is what a
peer cannot do. *Raw inserts* write by hand the rows that `schedule_many` inserts. *Statements* are those of
`Article.save()` of a scheduled article."""

FIGURES = [
    Figure("add one", "/s", more_is_better=True),
    Figure("add many", "/s", more_is_better=True),
    Figure("cancel many", "/s", more_is_better=True),
    Figure("schedule many", "/s", more_is_better=True),
    Figure("reschedule many", "/s", more_is_better=True),
    Figure("statements", "a save"),
]
ONE_BY_ONE, MANY = 200, 5000
OURS, RAW = "Headline", "raw inserts"
PEERS = {
    "Celery": (CELERY_WORKER, "bench.peers.celery_calls"),
    "Dramatiq": (DRAMATIQ_WORKER, "bench.peers.dramatiq_calls"),
    "django-tasks-db": (DJANGO_TASKS, "bench.peers.django_tasks_calls"),
}


def contestants(servers: Servers) -> list[Contestant]:
    """Headline and its peers."""
    migrate_plain(servers)
    counts = servers.sized(ONE_BY_ONE), servers.sized(MANY)
    return [
        Contestant(OURS, partial(headline, servers, *counts)),
        Contestant(RAW, lambda _round: servers.run("bench.raw_inserts", counts[1])),
        *(Contestant(name, partial(peer, servers, name, *counts)) for name in PEERS),
    ]


def headline(servers: Servers, ones: int, many: int, _round: int) -> Values:
    """In a process of its own."""
    values: Values = servers.run("bench.calls", ones, many)
    return values


def peer(servers: Servers, name: str, ones: int, many: int, _round: int) -> Values:
    """In a process of its own, with empty queues."""
    publisher, module = PEERS[name]
    for database in (CELERY, DRAMATIQ):
        servers.client(database).flushdb()
    values: Values = servers.run_peer(module, ones, many, env=publisher.env)
    return values


WRITING = Measure(
    "writing",
    "Adding, rescheduling and cancelling",
    DESCRIPTION,
    FIGURES,
    contestants,
    [
        Goal("add many", OURS, operator.ge, 20_000),
        Goal("schedule many", OURS, operator.ge, 10_000),
        Goal("schedule many", OURS, operator.ge, 0.2, RAW),
        Goal("reschedule many", OURS, operator.ge, 5_000),
        Goal("statements", OURS, operator.le, 12),
    ],
)
