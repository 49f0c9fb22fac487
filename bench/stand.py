"""The servers of a benchmark run, and the processes of Headline and of its peers on them."""

from __future__ import annotations

import json
import os
import subprocess
import timeit
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import redis

from tests.harness import Process, Stand, base_dir

PEER_PYTHON = base_dir / ".venv-bench" / "bin" / "python"
"""The peers have a virtual environment of their own, with `requirements-bench.txt`."""

QUEUE, CELERY, DRAMATIQ, WAGTAIL = 0, 10, 11, 12
"""Numbers of Redis databases; Headline's cache has 1."""

_MARIADB = ("--innodb-buffer-pool-size=1G", "--innodb-log-file-size=512M", "--innodb-autoinc-lock-mode=2")
_REDIS = ("--appendonly", "yes")


class Servers(Stand):
    """One MariaDB and one Redis for all contestants.

    Durable as in production: MariaDB flushes at each commit, Redis once a second. `scale` multiplies all counts, for a
    quick look.
    """

    def __init__(self, scale: float = 1.0) -> None:
        super().__init__(settings="headline.settings", mariadb=_MARIADB, redis=_REDIS)
        self.scale = scale
        self._prepared: dict[str, Any] = {}

    def __enter__(self) -> Servers:
        super().__enter__()
        self.environment |= {
            "PYTHONPATH": str(base_dir),
            "CELERY_BROKER_URL": f"{self.redis.url}/{CELERY}",
            "DRAMATIQ_BROKER_URL": f"{self.redis.url}/{DRAMATIQ}",
            "WAGTAIL_CACHE_URL": f"{self.redis.url}/{WAGTAIL}",
        }
        return self

    def sized(self, count: int) -> int:
        """The count at this scale."""
        return max(int(count * self.scale), 10)

    def once(self, name: str, prepare: Callable[[], Any]) -> Any:
        """What `prepare` returned at the first call with this name: several measures may need the same."""
        if name not in self._prepared:
            self._prepared[name] = prepare()
        return self._prepared[name]

    def start_peer(self, *command: str, env: Mapping[str, str] | None = None, cwd: Path = base_dir) -> Process:
        """A process of the peers' Python; `cwd` matters to programs that look for settings there."""
        process = Process([str(PEER_PYTHON), "-u", *command], env=self._of_peers(env), cwd=cwd)
        return self._resources.enter_context(process)

    def call_peer(self, *command: object, env: Mapping[str, str] | None = None) -> str:
        """Run a process of the peers' Python to its end and return what it prints; an error if it fails."""
        done = subprocess.run(
            [PEER_PYTHON, *map(str, command)],
            env=self._of_peers(env), cwd=base_dir, check=True, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        return done.stdout

    def _of_peers(self, env: Mapping[str, str] | None) -> dict[str, str]:
        """Without Headline's settings, which Celery, for one, would load."""
        return {name: value for name, value in self.environment.items() if not name.startswith("DJANGO")} | {
            **(env or {})
        }

    def run_peer(self, module: str, *arguments: object, env: Mapping[str, str] | None = None) -> Any:
        """Run a module with the peers' Python and return its last line of output, read as JSON."""
        return json.loads(self.call_peer("-m", module, *arguments, env=env).splitlines()[-1])

    def database(self, name: str) -> str:
        """The URL of a new, empty database."""
        self.rows(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
        return self.mariadb.url.rpartition("/")[0] + f"/{name}"

    def newsroom(self, name: str, number: int) -> dict[str, str]:
        """Another database with Headline's tables; returns the environment of processes that work on it."""
        first = 20 + 2 * number
        env = {
            "DATABASE_URL": self.database(name),
            "REDIS_URL": f"{self.redis.url}/{first}",
            "REDIS_CACHE_URL": f"{self.redis.url}/{first + 1}",
        }
        self.call("manage.py", "migrate", "--verbosity", "0", env=env)
        return env

    def client(self, database: int) -> redis.Redis:
        """A client for a database of Redis."""
        return redis.Redis.from_url(f"{self.redis.url}/{database}")

    def redis_bytes(self) -> int:
        """Bytes of all keys and values in the databases of the queues."""
        clients = [self.client(database) for database in (QUEUE, CELERY, DRAMATIQ)]
        return sum(int(client.memory_usage(key, samples=0) or 0) for client in clients for key in client.scan_iter())


def memory_of(processes: Sequence[Process]) -> float:
    """Resident megabytes of the largest of the processes and their children."""
    pids = [process.pid for process in processes] + [pid for process in processes for pid in process.children()]
    return max(_resident(pid) for pid in pids) / 2**20


def _resident(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def machine() -> str:
    """One line on what the figures were measured with."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{os.cpu_count()} cores that each add {_millions_a_second():.0f} million numbers a second in Python, "
        f"{memory:.0f} GiB, everything on one machine over loopback"
    )


def _millions_a_second() -> float:
    """How fast Python is here: a shared machine is half as fast at times, and goals in milliseconds depend on it."""
    return 1 / median(timeit.repeat("sum(range(1_000_000))", number=1, repeat=50))
