"""Webhooks: what they cost a publication, and how fast they are sent."""

from __future__ import annotations

import operator
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from bench import publishers
from bench.measure import Contestant, Figure, Goal, Measure, Values
from bench.publishers import CELERY_WORKER, Publisher, headline
from bench.receiver import came
from bench.stand import Servers

DESCRIPTION = """\
10,000 articles are due at one instant, for two processes, without and with three webhooks. *published* is their rate by
the time until another process sees the last one, *delivered* that of the requests by the time from then on until the
last one came, *first* the time from the instant to the first request. Celery sends as many requests of the same size,
without signatures or a log, and reads nothing again."""

PUBLISHED = Figure("published", "/s", more_is_better=True)
DELIVERED = Figure("delivered", "/s", more_is_better=True)
FIRST = Figure("first", "ms")
MANY, ENDPOINTS, TIMEOUT = 10_000, 3, 300
_STARTING = 30.0  # seconds for the webhooks, and for the observer
_ALLOWED = {"WEBHOOK_ALLOWED_HOSTS": "127.0.0.1"}
WITHOUT = replace(headline(2), name="Headline, no webhook", env=_ALLOWED)
WITH = replace(headline(2), name="Headline, 3 webhooks", env=_ALLOWED)
CELERY = replace(CELERY_WORKER, commands=[[*CELERY_WORKER.commands[0], "-I", "bench.peers.celery_webhooks"]])


@contextmanager
def receiving(servers: Servers, pause: float = 0.0) -> Iterator[str]:
    """The URL of a receiver that takes so many seconds to answer."""
    with servers.start("-m", "bench.receiver", str(pause)) as receiver:
        receiver.wait_for("ready", 60)
        yield f"http://127.0.0.1:{receiver.output.split()[1]}/hook"


def all_came(url: str, count: int) -> tuple[float, float]:
    """When the first and the last of so many requests came; an error if they do not come."""
    ends = time.monotonic() + TIMEOUT
    while (now := came(url))[0] < count:
        assert time.monotonic() < ends, f"{now[0]} of {count} requests came"
        time.sleep(0.1)
    return now[1], now[2]


def measure(servers: Servers, publisher: Publisher, endpoints: int, _round: int) -> Values:
    """Let articles be published, and what is to be sent be sent."""
    count = servers.sized(MANY)
    with receiving(servers) as url, publishers.working(servers, publisher):
        # Then those that were stored too late, and are stored again, are no event for a webhook.
        batch = publishers.fill(servers, publisher, [(count, 0.0)], starting=_STARTING)
        servers.run("bench.endpoints", url, endpoints)
        assert time.time() < batch.due, "the webhooks were stored too late"
        (last,) = publishers.watch(servers, batch, "--last", "--timeout", TIMEOUT)
        assert last is not None, f"not all were published within {TIMEOUT} s"
        values = {PUBLISHED.name: count / last * 1000}
        if endpoints:
            first, end = all_came(url, endpoints * count)
            sending = max(end - batch.due - last / 1000, 0.001)
            values |= {DELIVERED.name: endpoints * count / sending, FIRST.name: (first - batch.due) * 1000}
    return values


def by_celery(servers: Servers, _round: int) -> Values:
    """Let Celery send requests that wait in its queue when its processes start."""
    count = ENDPOINTS * servers.sized(MANY)
    publishers.prepare(servers, CELERY)
    with receiving(servers) as url:
        servers.run_peer("bench.peers.celery_webhooks", url, count)
        with publishers.working_on(servers, CELERY):
            first, end = all_came(url, count)
    return {DELIVERED.name: count / (end - first)}


def contestants(servers: Servers) -> list[Contestant]:
    """Headline without and with webhooks, and Celery."""
    return [
        Contestant(WITHOUT.name, partial(measure, servers, WITHOUT, 0), rounds=3),
        Contestant(WITH.name, partial(measure, servers, WITH, ENDPOINTS), rounds=3),
        Contestant(CELERY.name, partial(by_celery, servers), rounds=3),
    ]


WEBHOOKS = Measure(
    "webhooks",
    "Webhooks",
    DESCRIPTION,
    [PUBLISHED, DELIVERED, FIRST],
    contestants,
    [
        Goal(PUBLISHED.name, WITH.name, operator.ge, 0.9, WITHOUT.name),
        Goal(DELIVERED.name, WITH.name, operator.ge, 1_000),
        Goal(DELIVERED.name, WITH.name, operator.ge, 1.0, CELERY.name),
        Goal(FIRST.name, WITH.name, operator.le, 250),
    ],
)
