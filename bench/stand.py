"""Where the benchmarks run: a durable MariaDB and a Redis of their own, with Headline's tables, gone afterwards."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, cast
from urllib.parse import urlsplit

import MySQLdb
import redis

from tests.harness import Process, Workspace, base_dir, python, start_mariadb, start_redis

RESULTS = base_dir / "var" / "bench"


class Stand:
    """The servers, and the processes started on them; a context manager."""

    def __init__(self) -> None:
        self._resources = ExitStack()

    def __enter__(self) -> Stand:
        directory = self._resources.enter_context(Workspace()).path
        # Both write ahead to disk, as in production: MariaDB at each commit, Redis once a second.
        self.mariadb = start_mariadb(directory / "mariadb", "--innodb-buffer-pool-size=1G")
        self._resources.callback(self.mariadb.kill)
        self.redis = start_redis(directory / "redis", "--appendonly", "yes")
        self._resources.callback(self.redis.kill)
        self.environment = {
            **os.environ,
            "DATABASE_URL": self.mariadb.url,
            "REDIS_URL": f"{self.redis.url}/0",
            "DATA_DIR": str(directory / "data"),
            "DJANGO_DEBUG": "off",
            "DJANGO_SECRET_KEY": "a-key-that-guards-nothing-in-a-benchmark-but-has-to-be-long",
            "DJANGO_SETTINGS_MODULE": "headline.settings",
        }
        subprocess.run(
            [python, "manage.py", "migrate", "--verbosity", "0"], env=self.environment, cwd=base_dir, check=True
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._resources.close()

    def start(self, *command: str, env: Mapping[str, str] | None = None) -> Process:
        """A Python process on these servers, such as `start("manage.py", "poll", "--forever")`."""
        return self._resources.enter_context(Process([python, "-u", *command], env={**self.environment, **(env or {})}))

    def run(self, module: str, *arguments: object) -> Any:
        """Run a module as a process of its own and return what it prints as its last line, read as JSON."""
        command = [python, "-m", module, *map(str, arguments)]
        done = subprocess.run(
            command, env=self.environment, cwd=base_dir, check=True, stdout=subprocess.PIPE, text=True
        )
        return json.loads(done.stdout.splitlines()[-1])

    def connect(self) -> Any:
        """An autocommitting connection to MariaDB that owes nothing to Django."""
        return connect(self.mariadb.url)

    def queue(self) -> redis.Redis:
        """A client for the queue's Redis."""
        return redis.Redis.from_url(self.environment["REDIS_URL"])


def connect(database_url: str) -> Any:
    """An autocommitting MySQLdb connection to a database given by its URL."""
    url = urlsplit(database_url)
    return MySQLdb.connect(
        host=url.hostname, port=url.port, user=url.username, password=url.password, database=url.path[1:],
        charset="utf8mb4", autocommit=True,
    )  # fmt: skip


def keep(name: str, figures: object) -> Path:
    """Write the figures to `var/bench/<name>.json`."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(figures, indent=2, default=str) + "\n")
    return path


def machine() -> str:
    """One line on what the figures were measured with."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores, {memory:.0f} GiB, everything on one machine over loopback"


def value(connection: Any, sql: str, *arguments: object) -> Any:
    """The first column of the first row."""
    return cast(Any, rows(connection, sql, *arguments))[0][0]


def rows(connection: Any, sql: str, *arguments: object) -> list[tuple[Any, ...]]:
    """All rows."""
    cursor = connection.cursor()
    try:
        cursor.execute(sql, arguments)
        return list(cursor.fetchall())
    finally:
        cursor.close()
