"""Fixtures for tests with real servers, processes and browsers; the servers come from `tests.harness.plugin`."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
import redis
from django.conf import settings
from django.core.cache import caches
from django.db import connection
from django.utils import timezone, translation
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
from pytest_django import DjangoDbBlocker

from articles.cache import backend, versions
from headline import env
from headline.media_probe import media_is_writable
from scheduling.incidents import incidents
from scheduling.queues import get_queue
from tests.harness import PATIENCE, Process, PythonProcess, free_port, run_python
from tests.harness.emptying import remember_state
from tests.harness.schema import shared_schema

CHROMIUM = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium"))), "")
"""The same browser; the shell, which has no windows, takes a third less of the processor."""
CHROMIUM_OPTIONS = ("--no-sandbox", "--disable-gpu", "--renderer-process-limit=1")
"""One process draws all pages of a context: to start another for each takes a third of the processor's time."""
PROCESSES = {"manage", "site", "stand", "start_manage"}
"""Fixtures that start processes."""
STARTERS = {
    "Process", "PythonProcess", "Server", "Stand", "serving", "subprocess",
    "start_mariadb", "start_redis", "start_varnish",
}  # fmt: skip
"""Names by which a test module starts processes or servers itself."""

OF_OTHER_TARGETS = (
    "chaos",
    "recovery",
    "overload",
    "mutants",
    "screens",
    "replay",
    "bare",
    "alerts",
    "databases",
    "clusters",
    "model",
    "upgrades",
    "attacks",
    "thorough",
)
"""Markers of tests that `make test` leaves out."""

SLOW = frozenset(Path(__file__).with_name("slow.txt").read_text(encoding="utf-8").split())
"""Tests that take longer than a tenth of a second, as `pytest --durations=0 --durations-min=0.1` names them."""

expect.set_options(timeout=PATIENCE * 1000)

Manage = Callable[..., "subprocess.CompletedProcess[str]"]
StartManage = Callable[..., Process]


@dataclass(frozen=True)
class Site:
    """A running web server on the test database."""

    url: str
    process: Process


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None, None, None]:
    """Set the markers `slow` and, by `cases`, `thorough`; of the shuffled tests, start long ones first."""
    _leave_cases_to_thorough(items)
    if config.getoption("in_short"):
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("thorough")])
        items[:] = [item for item in items if not item.get_closest_marker("thorough")]
    for item in items:
        if _is_slow(item):
            item.add_marker("slow")
    yield
    items.sort(key=_place)


def _leave_cases_to_thorough(items: list[pytest.Item]) -> None:
    """Of a test with the marker `cases`, `make test` takes so many, drawn by their names: the same in each run."""
    tests = defaultdict[str, list[pytest.Item]](list)
    for item in items:
        if item.get_closest_marker("cases") and not item.get_closest_marker("thorough"):
            tests[item.nodeid.partition("[")[0]].append(item)
    for cases in tests.values():
        marker = cases[0].get_closest_marker("cases")
        assert marker is not None
        for item in sorted(cases, key=lambda item: crc32(item.nodeid.encode()))[marker.args[0] :]:
            item.add_marker("thorough")


def _is_slow(item: pytest.Item) -> bool:
    if item.nodeid.partition("[")[0] in SLOW:
        return True
    if {"browser", *PROCESSES} & _fixtures(item) or any(map(item.get_closest_marker, ("long", *OF_OTHER_TARGETS))):
        return True
    return isinstance(item, pytest.Function) and not STARTERS.isdisjoint(vars(item.module))


def _place(item: pytest.Item) -> int:
    """First the marked ones, then those with browsers, processes or much to do, so that no worker ends with one."""
    is_slow = item.get_closest_marker("slow")
    kinds = [item.get_closest_marker("long"), "browser" in _fixtures(item), PROCESSES & _fixtures(item), is_slow, True]
    return [bool(kind) for kind in kinds].index(True)


def _fixtures(item: pytest.Item) -> set[str]:
    return set(getattr(item, "fixturenames", ()))


@pytest.fixture(scope="session")
def django_db_keepdb() -> bool:
    """Start from the copied tables; the databases end with their server."""
    return True


@pytest.fixture(scope="session")
def new_database(django_db_modify_db_settings_parallel_suffix: None) -> Iterator[Callable[[], None]]:
    """Holds the other workers back until it is called, if this one migrates for all."""
    database = settings.DATABASES["default"]
    name = f"test_{database['NAME']}"
    if database["ENGINE"].endswith("sqlite3"):
        name = str(Path(settings.DATA_DIR) / "test.sqlite3")  # a file, so that other processes can open it
        database["TEST"]["NAME"] = name
    else:  # a busy machine may take longer between two statements of a test's transaction than a server waits
        database["OPTIONS"]["init_command"] += " /*M!100300 , idle_transaction_timeout=0 */"
    with shared_schema(database, database["TEST"].get("NAME") or name) as share:
        yield share


@pytest.fixture(scope="session")
def django_db_modify_db_settings(new_database: Callable[[], None]) -> None:
    """Called by pytest-django before it creates the database."""


@pytest.fixture(scope="session")
def django_db_setup(
    django_db_setup: None, new_database: Callable[[], None], django_db_blocker: DjangoDbBlocker
) -> None:
    """The new database, and what it begins with."""
    with django_db_blocker.unblock():
        remember_state()
        connection.close()
    new_database()


@pytest.fixture(scope="session")
def queue_redis() -> Iterator[redis.Redis | None]:
    """A client for this worker's Redis database, None without Redis."""
    url = os.environ.get("REDIS_URL")
    if not url:
        yield None
        return
    with redis.Redis.from_url(url) as client:
        yield client


@pytest.fixture(autouse=True)
def _empty_stores(queue_redis: redis.Redis | None) -> None:
    """Each test starts with an empty queue and cache, no file, no incident and no copy of cron's environment."""
    incidents.clear()
    media_is_writable.forget()
    get_queue().close()  # it forgets that it listened for wake-ups, and so knows of no topics but those it asks for
    if queue_redis is not None:
        queue_redis.flushdb()
    for cache in caches.all(initialized_only=False):
        cache.clear()
    _trust_the_cache()
    shutil.rmtree(settings.MEDIA_ROOT, ignore_errors=True)
    settings.CRON_COPY.unlink(missing_ok=True)


def _trust_the_cache() -> None:
    """As in a new process: an earlier test may have taken the cache away, and what it could not purge is not ours."""
    vars(backend.reachable).update(vars(backend.Reachable()))
    versions._failed._tags.clear()
    versions._latest.time = 0
    versions._generation.forget()


@pytest.fixture(autouse=True)
def _patience(settings: Any) -> None:
    """A busy machine is no dead Redis, and a task that waited for it no suspect; tests of these set their own times."""
    settings.SCHEDULING_PUSH_TIMEOUT, settings.SCHEDULING_POP_TIMEOUT = 10.0, 10.0
    settings.SCHEDULING_SUSPECT_AFTER = 50.0


@pytest.fixture(autouse=True)
def _own_variables() -> Iterator[None]:
    """Variables that a test has read, such as a password, are no secrets that the log lines of later ones hide."""
    used, before = env._used, dict(env._used)
    yield
    used.clear()
    used.update(before)


@pytest.fixture(autouse=True)
def _own_language_and_zone() -> None:
    """Each test begins in the site's language and zone, not in those of the last request before it."""
    translation.activate(settings.LANGUAGE_CODE)
    timezone.deactivate()


def database_environment() -> dict[str, str]:
    """The environment in which another process works on this worker's test database."""
    name = str(connection.settings_dict["NAME"])
    if connection.vendor == "sqlite":
        url = f"sqlite:///{name}"
    else:
        url = os.environ["DATABASE_URL"].rpartition("/")[0] + f"/{name}"
    return {**os.environ, "DATABASE_URL": url}


@pytest.fixture
def manage(transactional_db: None) -> Manage:
    """`manage("refresh")` runs manage.py as a real process; `env=` overrides variables."""

    def run(*args: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return run_python("manage.py", *args, env={**database_environment(), **(env or {})})

    return run


@pytest.fixture
def start_manage(transactional_db: None) -> Iterator[StartManage]:
    """`start_manage("poll", "--forever")` starts manage.py and returns the `Process`; killed after the test."""
    with ExitStack() as stack:

        def start(*args: str, env: dict[str, str] | None = None) -> Process:
            process = PythonProcess(["manage.py", *args], env={**database_environment(), **(env or {})})
            return stack.enter_context(process)

        yield start


@contextmanager
def serving(*options: str, port: int | None = None, env: dict[str, str] | None = None) -> Iterator[Site]:
    """A web server (gunicorn, as in production) on the test database while the block lasts."""
    port = port or free_port()
    url = f"http://127.0.0.1:{port}"
    options = ("--bind", f"127.0.0.1:{port}", "--threads", "4", "--no-control-socket", "--preload", *options)
    command = ["-m", "gunicorn", "tests.harness.warm_wsgi", *options]
    with PythonProcess(command, env={**database_environment(), "SITE_URL": url, **(env or {})}) as process:
        process.wait_for("Booting worker")
        yield Site(url, process)


@pytest.fixture(scope="session")
def server(django_db_setup: None) -> Iterator[Site]:
    """A web server for all tests."""
    with serving() as started:
        yield started


@pytest.fixture
def site(server: Site, transactional_db: None) -> Iterator[Site]:
    """The web server; it serves each test from a new process, which begins as a copy of the one that imported all."""
    yield server
    server.process.kill_children()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_OPTIONS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def shared_context(browser: Browser, server: Site) -> Iterator[BrowserContext]:
    """The browser context of all `page`s: its cached files and compiled scripts save a quarter of their time."""
    with browser.new_context(base_url=server.url, locale="en-US", timezone_id="UTC") as context:
        context.set_default_timeout(PATIENCE * 1000)
        context.new_page()  # stays open, and forgets what others have stored
        yield context


@pytest.fixture
def page(shared_context: BrowserContext, site: Site) -> Iterator[Page]:
    """A fresh browser window, without cookies or stored data, whose relative addresses are those of `site`."""
    yield shared_context.new_page()
    first, *others = shared_context.pages
    for other in others:
        other.close()  # before it is emptied, as a page may store something at its end
    stored = {"origin": site.url, "storageTypes": "local_storage,indexeddb,service_workers"}
    shared_context.new_cdp_session(first).send("Storage.clearDataForOrigin", stored)
    shared_context.clear_cookies()
