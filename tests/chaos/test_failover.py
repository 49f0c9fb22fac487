"""The database is another server, stricter and of another name, from one moment to the next: a promoted replica."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
import redis

from tests.chaos.faults import STRICTER
from tests.chaos.proxy import Proxy
from tests.harness import (
    Process,
    PythonProcess,
    connect,
    eventually,
    free_port,
    rows,
    run_python,
    start_mariadb,
    start_redis,
)
from tests.harness.schema import load

pytestmark = pytest.mark.django_db  # whose tables the first server gets

_SETTINGS = {
    "SCHEDULING_KEY_PREFIX": "auto",
    "SCHEDULING_IDENTITY_INTERVAL": 0.2,
    "SCHEDULING_HEARTBEAT_INTERVAL": 0.2,
    "SCHEDULING_SWEEP_GRACE": 1000,  # what has no hint does not run
    "SCHEDULING_OVERDUE_ALARM": 1001,
    "SCHEDULING_REFRESH_INTERVAL": 290,
}
_PUBLISH = """
from articles.models import Article
from scheduling.database import read_database_clock
from tests.articles.factories import make_article
now = read_database_clock()
print(make_article("Live", status=Article.Status.PUBLISHED, publish_at=now, published_at=now).pk)
"""
_ADD = """
from datetime import timedelta
from scheduling.database import read_database_clock
from scheduling.services import add_task
add_task("probe.note", execute_time=read_database_clock() + timedelta(seconds=0.5), parameters={})
"""
_COUNT = "SELECT COUNT(*) FROM probe_effect"


class Newsroom:
    """A web server and a worker that run all the time, at an address behind which the database server changes."""

    def __init__(self, directory: Path, started: ExitStack) -> None:
        self._directory = directory
        self.database = start_mariadb(directory / "first")
        started.callback(lambda: self.database.kill())
        load(self.database.url)
        self.forwarder = started.enter_context(Proxy(self.database.port))
        server = start_redis(directory / "redis")
        started.callback(server.kill)
        queue, cache = f"{server.url}/0", f"{server.url}/1"
        self.stores = [started.enter_context(redis.Redis.from_url(url)) for url in (queue, cache)]
        self.url = f"http://127.0.0.1:{free_port()}"
        self.environment = {
            **os.environ,
            "DATABASE_URL": self.database.url.replace(str(self.database.port), str(self.forwarder.port)),
            "DATA_DIR": str(directory / "data"),
            "DJANGO_SETTINGS_MODULE": "tests.settings",
            "REDIS_URL": queue,
            "REDIS_CACHE_URL": cache,
            "SITE_URL": self.url,
            "TEST_SETTINGS": json.dumps(_SETTINGS),
        }
        bind = self.url.removeprefix("http://")
        options = ("--bind", bind, "--threads", "4", "--no-control-socket", "--preload")
        web = ["-m", "gunicorn", "tests.harness.warm_wsgi", *options]
        started.enter_context(PythonProcess(web, env=self.environment)).wait_for("Booting worker")
        self.worker: Process = PythonProcess(["manage.py", "poll", "--forever"], env=self.environment)
        started.enter_context(self.worker).wait_for(" runs ")

    def call(self, code: str) -> str:
        """Run code in a new process; returns what it prints."""
        done = run_python("manage.py", "shell", "--no-imports", "--command", code, env=self.environment)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def get(self, path: str) -> tuple[int, bytes]:
        """Ask the web server."""
        try:
            with urlopen(self.url + path) as response:  # noqa: S310 (our own address)
                return response.status, response.read()
        except HTTPError as error:
            return error.code, error.read()

    def ready(self) -> dict[str, Any]:
        """What `/readyz` says."""
        return dict(json.loads(self.get("/readyz")[1]))

    def fail_over(self, *options: str) -> None:
        """Stop the server, and serve its data by another one."""
        self.database.stop()
        second = start_mariadb(self._directory / "second", *options, copy_of=self.database)
        self.database, self.forwarder.target = second, second.port
        self.forwarder.reset()

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """Over a connection of its own."""
        with connect(self.database.url) as connection:
            return rows(connection, sql)

    @property
    def prefix(self) -> str:
        """That of a new process."""
        return self.call("from scheduling.identity import key_prefix; print(key_prefix())")

    def runs_tasks(self) -> bool:
        """Whether the worker runs a task that a new process adds. The first hint may be lost with a connection."""
        ((before,),) = self.query(_COUNT)
        self.call(_ADD)
        with suppress(AssertionError):
            eventually(lambda: self.query(_COUNT) > [(before,)], 5)
        return self.query(_COUNT) > [(before,)]

    def used_prefixes(self, page: str) -> set[str]:
        """The prefixes of the keys that the web server and the worker write now."""
        self.stores[0].flushall()
        eventually(lambda: self.get(page)[0] == 200 and all(store.dbsize() for store in self.stores))
        names = {key.decode() for store in self.stores for key in store.scan_iter()} - {"sched:installations"}
        return {":".join(name.removeprefix("sched:installation:").split(":")[:2]) for name in names}


@pytest.fixture
def newsroom(tmp_path: Path, django_db_setup: None) -> Iterator[Newsroom]:
    with ExitStack() as started:
        yield Newsroom(tmp_path, started)


@pytest.mark.thorough
def test_all_processes_follow_the_database_to_another_server(newsroom: Newsroom) -> None:
    page = f"/article/{newsroom.call(_PUBLISH)}/"
    assert newsroom.runs_tasks()
    before = newsroom.prefix
    assert newsroom.get(page)[0] == 200
    newsroom.fail_over(*STRICTER)
    eventually(lambda: newsroom.ready()["status"] == "ready")
    eventually(lambda: newsroom.used_prefixes(page) == {newsroom.prefix}, message="two newsrooms in Redis")
    eventually(newsroom.runs_tasks, message="the worker does not run what it hears of")
    assert newsroom.prefix != before
    assert newsroom.ready()["status"] == "ready"
