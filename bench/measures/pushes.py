"""Pushes: how fast an alert reaches all who want to hear of it."""

from __future__ import annotations

import operator
from dataclasses import replace
from functools import partial
from urllib.parse import urlsplit

from bench import publishers
from bench.browsers import PUSH_KEY
from bench.measure import Contestant, Figure, Goal, Measure, Values
from bench.measures.webhooks import all_came, receiving
from bench.publishers import CELERY_WORKER, headline
from bench.receiver import came
from bench.stand import Servers, memory_of
from tests.harness import eventually

DESCRIPTION = """\
10,000 browsers, each with its own key, at one push service on this machine, hear of an alert whose article goes live,
with two processes. *all* is the time from that instant until the service has accepted the last one, *first* until the
first one, *grown* what the larger process takes more of memory then: the first push loads code. Each is accepted once.
Real services take 50 ms to answer. Celery sends as many, which wait in its queue when its processes start, with
pywebpush and without a ledger."""

ALL = Figure("all", "s")
RATE = Figure("accepted", "/s", more_is_better=True)
FIRST = Figure("first", "ms")
GROWN = Figure("grown", "MB")
MANY = 10_000
_LEAD = 5.0  # seconds from the stored alert to its article's time
HEADLINE, SLOW = headline(2), "Headline, answers after 50 ms"
CELERY = replace(CELERY_WORKER, commands=[[*CELERY_WORKER.commands[0], "-I", "bench.peers.celery_pushes"]])


def measure(servers: Servers, pause: float, _round: int) -> Values:
    """Let an article go live, and its alert be pushed to a service that takes so many seconds to answer."""
    count = servers.sized(MANY)
    with receiving(servers, pause) as url:
        env = {"PUSH_HOSTS": urlsplit(url).netloc, "PUSH_KEY": PUSH_KEY, "PUSH_QUIET_HOURS": "never"}
        with publishers.working(servers, replace(HEADLINE, env=env)) as processes:
            due = servers.run("bench.subscriptions", url, count, _LEAD, env=env)
            before = memory_of(processes)
            first, last = all_came(url, count)
            after = memory_of(processes)
            eventually(lambda: servers.rows("SELECT accepted FROM articles_push WHERE state = 'sent'") == [(count,)])
            number, _first, _last, distinct = came(url)
            assert number == distinct == count, f"{number} came, {distinct} of them for different browsers"
    return {
        ALL.name: last - due, RATE.name: count / (last - due), FIRST.name: (first - due) * 1000,
        GROWN.name: after - before,
    }  # fmt: skip


def by_celery(servers: Servers, _round: int) -> Values:
    """Let Celery send pushes that wait in its queue when its processes start."""
    count = servers.sized(MANY)
    publishers.prepare(servers, CELERY)
    with receiving(servers) as url:
        servers.run_peer("bench.peers.celery_pushes", url, count)
        with publishers.working_on(servers, CELERY):
            first, last = all_came(url, count)
    return {ALL.name: last - first, RATE.name: count / (last - first)}


def contestants(servers: Servers) -> list[Contestant]:
    """Headline at a quick and at a slow service, and Celery at a quick one."""
    return [
        Contestant(HEADLINE.name, partial(measure, servers, 0.0), rounds=3),
        Contestant(SLOW, partial(measure, servers, 0.05), rounds=3),
        Contestant(CELERY.name, partial(by_celery, servers), rounds=1),
    ]


PUSHES = Measure(
    "pushes",
    "Pushes",
    DESCRIPTION,
    [ALL, RATE, FIRST, GROWN],
    contestants,
    [
        Goal(ALL.name, HEADLINE.name, operator.le, 30),
        Goal(ALL.name, SLOW, operator.le, 30),
        Goal(RATE.name, HEADLINE.name, operator.ge, 1.0, CELERY.name),
        Goal(FIRST.name, HEADLINE.name, operator.le, 500),
        Goal(GROWN.name, HEADLINE.name, operator.le, 16),
    ],
)
