"""Readers' pages, cached and built: Headline, Wagtail with wagtail-cache, and a bare Django view."""

from __future__ import annotations

import operator
import re
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from bench import wagtail
from bench.measure import Contestant, Figure, Goal, Measure, Values
from bench.stand import WAGTAIL, Servers
from tests.harness import Process, base_dir, free_port

DESCRIPTION = """\
All behind gunicorn with two processes of four threads. *Warm* is how many requests for a cached page wrk completes in
a second, over 16 connections, *busy* the same while another process keeps a core busy; *cold* is the median time of a
request after the cache was emptied. Headline's front page has {articles} articles with covers and the newsroom's
sections, Wagtail's a list of as many without images."""

ARTICLES = 20
SECONDS = 4
COLD_REQUESTS = 20
_GUNICORN = ("--workers", "2", "--threads", "4", "--worker-connections", "12", "--no-control-socket")
_WRK = ("--threads", "1", "--connections", "16", "--latency")  # as many: else one process may get nearly all of them
_PEERS_FOLDER = base_dir / "bench" / "peers"  # gunicorn would read Headline's gunicorn.conf.py elsewhere
OURS, OUR_ARTICLE = "Headline, front page", "Headline, article"
THEIRS, THEIR_ARTICLE = "Wagtail, front page", "Wagtail, article"
BARE = "bare Django view"
WARM, COLD = Figure("warm", "/s", more_is_better=True), Figure("cold", "ms")
BUSY = Figure("busy", "/s", more_is_better=True)


@dataclass(frozen=True)
class Page:
    """A page, and how its site's cache is emptied."""

    url: str
    empty_cache: Callable[[], object] | None = None


def contestants(servers: Servers) -> list[Contestant]:
    """Load and start the sites, and warm up their pages."""
    pages = headline(servers) | wagtail_site(servers) | {BARE: bare_view(servers)}
    for page in pages.values():
        get(page.url)
    return [Contestant(name, partial(measure, servers, page)) for name, page in pages.items()]


def headline(servers: Servers) -> dict[str, Page]:
    """Headline with a database of its own."""
    env = servers.newsroom("readers", 0)
    addresses = servers.run("bench.reader_pages", "load", ARTICLES, env=env)
    url = serve(servers.start, "headline.wsgi", env)
    cache = servers.client(int(env["REDIS_CACHE_URL"].rpartition("/")[2]))
    return {
        OURS: Page(url + addresses["front page"], cache.flushdb),
        OUR_ARTICLE: Page(url + addresses["article"], cache.flushdb),
    }


def wagtail_site(servers: Servers) -> dict[str, Page]:
    """Wagtail with as many articles."""
    env = wagtail.environment(servers)
    servers.call_peer("-m", wagtail.PAGES, "live", ARTICLES, env=env)
    url = serve(partial(servers.start_peer, cwd=_PEERS_FOLDER), "bench.peers.wagtail_site.wsgi", env)
    cache = servers.client(WAGTAIL)
    return {
        THEIRS: Page(f"{url}/", cache.flushdb),
        THEIR_ARTICLE: Page(f"{url}/live-{ARTICLES - 1}/", cache.flushdb),
    }


def bare_view(servers: Servers) -> Page:
    """A view without middleware, run by Headline's Python."""
    return Page(serve(servers.start, "bench.bare_view", {}) + "/")


def serve(start: Callable[..., Process], application: str, env: Mapping[str, str]) -> str:
    """Start gunicorn; returns its URL, which is the one that Headline's cache knows."""
    address = f"127.0.0.1:{free_port()}"
    site = {"SITE_URL": f"http://{address}"}
    process = start("-m", "gunicorn", application, "--bind", address, *_GUNICORN, env={**env, **site})
    process.wait_for("Booting worker", 60)
    return site["SITE_URL"]


def measure(servers: Servers, page: Page, _round: int) -> Values:
    """Requests a second from the cache, and the time of a request without it."""
    seconds = max(round(SECONDS * servers.scale), 1)
    values = {WARM.name: warm(page.url, seconds)}
    with busy_core():
        values[BUSY.name] = warm(page.url, seconds)
    return values | ({COLD.name: cold(page.url, page.empty_cache)} if page.empty_cache else {})


@contextmanager
def busy_core() -> Iterator[None]:
    """Another process that counts for ever."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        try:
            yield
        finally:
            process.kill()


def warm(url: str, seconds: int) -> float:
    """Requests a second that wrk completes."""
    get(url)
    command = ["wrk", *_WRK, "--duration", str(seconds), url]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = re.search(r"Requests/sec:\s+([\d.]+)", output)
    assert found, output
    assert "Non-2xx" not in output, output
    return float(found[1])


def cold(url: str, empty_cache: Callable[[], object], headers: Mapping[str, str] | None = None) -> float:
    """Milliseconds of a request that finds nothing in the cache."""
    taken = []
    for _ in range(COLD_REQUESTS):
        empty_cache()
        began = time.perf_counter()
        get(url, headers)
        taken.append((time.perf_counter() - began) * 1000)
    return statistics.median(taken)


def get(url: str, headers: Mapping[str, str] | None = None) -> bytes:
    """The body; raises unless the page is there."""
    with urllib.request.urlopen(urllib.request.Request(url, headers=dict(headers or {})), timeout=60) as response:
        content: bytes = response.read()
    return content


READERS = Measure(
    "readers",
    "Readers' pages",
    DESCRIPTION.format(articles=ARTICLES),
    [WARM, BUSY, COLD],
    contestants,
    [
        Goal(WARM.name, OURS, operator.ge, 3, THEIRS),
        Goal(WARM.name, OUR_ARTICLE, operator.ge, 3, THEIR_ARTICLE),
        Goal(WARM.name, OURS, operator.ge, 0.75, BARE),
        Goal(BUSY.name, OURS, operator.ge, 0.75, BARE),
        Goal(COLD.name, OURS, operator.le, 12),
        Goal(COLD.name, OURS, operator.le, 1, THEIRS),
    ],
)
