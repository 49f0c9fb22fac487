"""Readers who ask for pages in the second in which a hundred articles go live."""

from __future__ import annotations

import operator
import statistics
import time
from collections.abc import Mapping
from functools import partial

from bench.measure import Contestant, Figure, Goal, Measure, Values
from bench.measures.readers import serve
from bench.stand import Servers

DESCRIPTION = """\
{requests} requests for the front page, a channel, the API and a feed arrive within a second, over 16 connections. In
the middle of it {articles} articles of the channel go live, published by one worker, or none. Milliseconds from the
moment at which a request is to be sent until its response is complete. *Outdated* counts responses to requests after
that instant that lack a new article."""

REQUESTS, ARTICLES = 2000, 100
DATABASE = 12
LEAD = 5.0  # seconds until the articles are due, in which they are stored and the readers start
MEDIAN, P99 = Figure("median", "ms"), Figure("p99", "ms")
FAILED, OUTDATED = Figure("failed", ""), Figure("outdated", "")
LIVE, QUIET = f"{ARTICLES} articles go live", "none goes live"
ADDRESSES = ("/", "/channel/harbour/", "/api/v1/articles/?channel=harbour", "/channel/harbour/feed/")

_CHANNEL = "from articles.models import Channel; Channel.objects.create(name='Harbour', slug='harbour')"


def contestants(servers: Servers) -> list[Contestant]:
    """A site with a worker, in a database of its own."""
    env = servers.newsroom("crowd", DATABASE)
    servers.call("manage.py", "shell", "-c", _CHANNEL, env=env)
    url = serve(servers.start, "headline.wsgi", env)
    servers.start("manage.py", "poll", "--forever", env=env).wait_for(" runs ")
    return [
        Contestant(LIVE, partial(with_publication, servers, env, url)),
        Contestant(QUIET, lambda _round: ask(servers, url, time.time() + LEAD)),
    ]


def store(servers: Servers, env: Mapping[str, str], due: float) -> int:
    """Store the articles; returns the id of the last."""
    first = servers.run("bench.load_articles", due, f"{ARTICLES}:0", "--channel", "harbour", env=env)
    return int(first) + ARTICLES - 1


def with_publication(servers: Servers, env: Mapping[str, str], url: str, _round: int) -> Values:
    """Let articles go live at the same time."""
    due = time.time() + LEAD
    last = store(servers, env, due)
    assert time.time() + 1 < due, "the articles were not stored in time"
    return ask(servers, url, due, f"/article/{last}/")


def ask(servers: Servers, url: str, at: float, text: str = "") -> Values:
    """Ask for pages around this instant, from which on they contain this text."""
    seen = servers.run("bench.crowd", url, text, at, servers.sized(REQUESTS), *ADDRESSES)
    costs = seen["milliseconds"]
    values = {MEDIAN.name: statistics.median(costs), P99.name: statistics.quantiles(costs, n=100)[98]}
    return values | {FAILED.name: seen["failed"], OUTDATED.name: seen["outdated"]}


CROWD = Measure(
    "crowd",
    "Readers while articles go live",
    DESCRIPTION.format(requests=f"{REQUESTS:,}", articles=ARTICLES),
    [MEDIAN, P99, FAILED, OUTDATED],
    contestants,
    [Goal(FAILED.name, LIVE, operator.le, 0), Goal(OUTDATED.name, LIVE, operator.le, 0)],
)
