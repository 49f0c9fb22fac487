"""Servers with Headline's tables on them, for chaos tests and benchmarks."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

import MySQLdb
import redis

from tests.harness.processes import Process, PythonProcess, base_dir, python, run_python
from tests.harness.schema import is_dumped, load
from tests.harness.servers import start_mariadb, start_redis
from tests.harness.workspace import Workspace


class Stand:
    """A MariaDB and a Redis of its own, and the processes started on them; a context manager."""

    def __init__(self, *, settings: str, mariadb: Sequence[str] = (), redis: Sequence[str] = ()) -> None:
        """`mariadb` and `redis` are further options of the servers."""
        self._settings = settings
        self._options = mariadb, redis
        self._resources = ExitStack()

    def __enter__(self) -> Stand:
        directory = self._resources.enter_context(Workspace()).path
        for_mariadb, for_redis = self._options
        self.mariadb = start_mariadb(directory / "mariadb", *for_mariadb)
        self._resources.callback(self.mariadb.kill)
        self.redis = start_redis(directory / "redis", *for_redis)
        self._resources.callback(self.redis.kill)
        self.environment = {
            **os.environ,
            "DATABASE_URL": self.mariadb.url,
            "REDIS_URL": f"{self.redis.url}/0",
            "REDIS_CACHE_URL": f"{self.redis.url}/1",
            "DATA_DIR": str(directory / "data"),
            "DJANGO_DEBUG": "off",
            "DJANGO_SECRET_KEY": "a-key-that-guards-nothing-here-but-has-to-be-long-and-mixed-1",
            "DJANGO_SETTINGS_MODULE": self._settings,
        }
        if self._settings == "tests.settings" and is_dumped():
            load(self.mariadb.url)
        else:
            self.call("manage.py", "migrate", "--verbosity", "0")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._resources.close()

    def start(self, *command: str, env: Mapping[str, str] | None = None) -> Process:
        """A Python process on these servers, such as `start("manage.py", "poll", "--forever")`."""
        environment = {**self.environment, **(env or {})}
        if self._settings == "tests.settings":
            return self._resources.enter_context(PythonProcess(command, env=environment))
        return self._resources.enter_context(Process([python, "-u", *command], env=environment))

    def run(self, module: str, *arguments: object, env: Mapping[str, str] | None = None) -> Any:
        """Run a module as a process of its own and return its last line of output, read as JSON."""
        output = self.call("-m", module, *map(str, arguments), env=env)
        return json.loads(output.splitlines()[-1])

    def call(self, *command: str, env: Mapping[str, str] | None = None) -> str:
        """Run a Python process to its end and return what it prints; an error if it fails."""
        environment = {**self.environment, **(env or {})}
        if self._settings == "tests.settings":
            done = run_python(*command, env=environment)
            assert done.returncode == 0, done.stderr
        else:
            full = [python, *command]
            done = subprocess.run(full, env=environment, cwd=base_dir, check=True, stdout=subprocess.PIPE, text=True)
        return done.stdout

    def connect(self, **options: int) -> Any:
        """An autocommitting connection to MariaDB without Django; `options` are those of MySQLdb."""
        return connect(self.mariadb.url, **options)

    def rows(self, sql: str, *arguments: object) -> list[tuple[Any, ...]]:
        """All rows of a query, asked over a connection of its own."""
        connection = self.connect()
        try:
            return rows(connection, sql, *arguments)
        finally:
            connection.close()

    def queue(self) -> redis.Redis:
        """A client for the queue's Redis."""
        return redis.Redis.from_url(self.environment["REDIS_URL"])


def connect(database_url: str, **options: int) -> Any:
    """An autocommitting MySQLdb connection to a database given by its URL."""
    url = urlsplit(database_url)
    return MySQLdb.connect(
        host=url.hostname, port=url.port, user=url.username, password=url.password, database=url.path[1:],
        charset="utf8mb4", autocommit=True, **options,
    )  # fmt: skip


def rows(connection: Any, sql: str, *arguments: object) -> list[tuple[Any, ...]]:
    """All rows of a query."""
    with connection.cursor() as cursor:
        cursor.execute(sql, arguments)
        return list(cursor.fetchall())
