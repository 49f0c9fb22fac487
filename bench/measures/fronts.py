"""Composed fronts beside the automatic one, and beside another instant of the same front."""

from __future__ import annotations

import operator
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from urllib.parse import urlencode

from bench.measure import Contestant, Goal, Measure, Values
from bench.measures.readers import COLD, SECONDS, WARM, cold, get, serve, warm
from bench.rows import multiply
from bench.stand import Servers
from tests.harness import connect

ARTICLES, OLD_ARTICLES, VERSIONS, COMING = 20, 10_000, 200, 10
FIRST_DATABASE = 20

DESCRIPTION = f"""\
The front page behind gunicorn as in *Readers' pages*. The *automatic* front is that of {ARTICLES} articles. The
*composed* one has {VERSIONS} versions, {OLD_ARTICLES:,} older articles and {COMING} to come beside it; *at* shows it to
the newsroom as it will be in an hour."""

AUTOMATIC, COMPOSED, AT = "automatic", "composed", "composed, at"


def contestants(servers: Servers) -> list[Contestant]:
    """Load and start both sites."""
    automatic, empty_automatic, _none = _site(servers, 0)
    composed, empty_cache, session = _site(servers, 1)
    later = urlencode({"at": (datetime.now(UTC) + timedelta(hours=1)).isoformat(timespec="seconds")})
    cookie = {"Cookie": f"sessionid={session}"}
    at = f"{composed}?{later}"
    assert b"reading-bar" in get(at, cookie)
    return [
        Contestant(AUTOMATIC, partial(_measure, servers, automatic, empty_automatic)),
        Contestant(COMPOSED, partial(_measure, servers, composed, empty_cache)),
        Contestant(AT, lambda _round: {COLD.name: cold(at, empty_cache, cookie)}),
    ]


def _site(servers: Servers, composed: int) -> tuple[str, Callable[[], object], str]:
    """The address of the front page, what empties the cache, and the session of an editor."""
    env = servers.newsroom(f"fronts_{composed}", FIRST_DATABASE + composed)
    servers.run("bench.reader_pages", "load", ARTICLES, env=env)
    session = ""
    if composed:
        connection = connect(env["DATABASE_URL"])
        with connection.cursor() as cursor:
            ago = "UTC_TIMESTAMP(6) - INTERVAL seq HOUR - INTERVAL 1 DAY"
            multiply(cursor, "articles_article", OLD_ARTICLES, publish_at=ago, updated_at=ago, text_changed_at=ago)
        connection.close()
        session = servers.run("bench.reader_pages", "compose", VERSIONS, env=env)["session"]
    url = f"{serve(servers.start, 'headline.wsgi', env)}/en/"
    get(url)
    return url, servers.client(int(env["REDIS_CACHE_URL"].rpartition("/")[2])).flushdb, session


def _measure(servers: Servers, url: str, empty_cache: Callable[[], object], _round: int) -> Values:
    return {
        WARM.name: warm(url, max(round(SECONDS * servers.scale), 1)),
        COLD.name: cold(url, empty_cache),
    }


FRONTS = Measure(
    "fronts",
    "Composed fronts",
    DESCRIPTION,
    [WARM, COLD],
    contestants,
    [
        Goal(WARM.name, COMPOSED, operator.ge, 0.95, AUTOMATIC),
        Goal(COLD.name, COMPOSED, operator.le, 1.3, AUTOMATIC),
        Goal(COLD.name, AT, operator.le, 2, COMPOSED),
    ],
)
