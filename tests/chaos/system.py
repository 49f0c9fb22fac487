"""The system under test: web server and workers as in production, behind proxies, with clocks that can be set."""

from __future__ import annotations

import os
import signal
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.chaos.clocks import Clocks
from tests.chaos.proxy import Proxy
from tests.harness import Process, PythonProcess, Stand, base_dir, eventually, free_port, python

WEB_PROCESSES = 2
WORKER_PROCESSES = 2


class System:
    """MariaDB, Redis, a proxy in front of each, gunicorn and supervised workers; a context manager."""

    def __init__(
        self,
        stand: Stand,
        directory: Path,
        *,
        outside: Mapping[str, str],
        source: Path = base_dir,
        settings: str = "{}",
        clocks: Clocks | None = None,
    ) -> None:
        """`outside` are the variables that name the mail server and the CDN.

        `source` has the code of the web server and the workers, and `settings` other settings for them, as JSON.
        `clocks` are those of the machines "web" and "workers"; without, processes start faster.
        """
        self.stand = stand
        self._outside = outside
        self._source = source
        self._directory = directory
        self._settings = settings
        self._clocks = clocks
        self._is_production = (
            clocks is not None or source != base_dir
        )  #: and not made from processes that imported all before
        self._resources = ExitStack()
        self._lock = threading.Lock()
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.web: Process
        self.workers: Process
        self.outputs: list[Process] = []

    def __enter__(self) -> Self:
        self.mariadb_proxy = self._resources.enter_context(Proxy(self.stand.mariadb.port))
        self.redis_proxy = self._resources.enter_context(Proxy(self.stand.redis.port))
        self._resources.callback(self._end_processes)
        self.start_web()
        self.start_workers()
        eventually(lambda: self.is_ready() or not self.web.alive(), message="the web server does not answer")
        assert self.web.alive(), self.web.output
        eventually(lambda: self.workers.output.count(" runs ") >= WORKER_PROCESSES, message="the workers do not run")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._resources.close()

    def start_web(self) -> None:
        """Start gunicorn with two processes."""
        application = "headline.wsgi" if self._is_production else "tests.harness.warm_wsgi"
        bind = f"127.0.0.1:{self.port}"
        options = [
            "--bind",
            bind,
            "--workers",
            str(WEB_PROCESSES),
            "--threads",
            "4",
            "--preload",
            "--no-control-socket",
        ]
        self.web = self._start("web", "-m", "gunicorn", application, *options)

    def start_workers(self) -> None:
        """Start the supervisor with two workers."""
        count = str(WORKER_PROCESSES)
        self.workers = self._start("workers", "manage.py", "poll", "--forever", "--processes", count)

    def kill_web(self) -> None:
        """Kill gunicorn and its processes."""
        kill_all(self.web)

    def kill_supervisor(self) -> None:
        """Kill the supervisor only; its workers end by themselves."""
        self.workers.kill()

    def refresh(self) -> Process:
        """What cron starts each minute."""
        return self._start("workers", "manage.py", "refresh")

    def set_clock(self, of: str, seconds: float) -> None:
        """Set the clock of the web server's or the workers' machine so much ahead."""
        assert self._clocks is not None
        self._clocks.set(of, seconds)

    def is_ready(self) -> bool:
        """Whether the web server serves pages."""
        with suppress(OSError, urllib.error.URLError), urllib.request.urlopen(f"{self.url}/readyz", timeout=5) as page:
            return bool(page.status == 200)
        return False

    @property
    def output(self) -> str:
        """What web server and workers have printed."""
        return "\n".join(f"$ {' '.join(process.command)}\n{process.output}" for process in self.outputs)

    def _start(self, machine: str, *command: str) -> Process:
        environment = {
            **self.stand.environment,
            **self._outside,
            "DATABASE_URL": self._behind(self.stand.mariadb.url, self.stand.mariadb.port, self.mariadb_proxy.port),
            "REDIS_URL": self._behind(f"{self.stand.redis.url}/0", self.stand.redis.port, self.redis_proxy.port),
            "REDIS_CACHE_URL": self._behind(f"{self.stand.redis.url}/1", self.stand.redis.port, self.redis_proxy.port),
            "SITE_URL": self.url,
            "TEST_SETTINGS": self._settings,
        }
        if self._clocks:
            environment |= self._clocks.environment(machine)
        if self._is_production:
            process = Process([python, "-u", *command], env=environment, cwd=self._source)
        else:
            process = PythonProcess(command, env=environment)
        self.outputs.append(process)
        return process

    def _behind(self, url: str, port: int, proxy: int) -> str:
        return url.replace(f":{port}/", f":{proxy}/")

    def _end_processes(self) -> None:
        for process in self.outputs:
            kill_all(process)

    def log_to(self, path: Path) -> None:
        """Store what the processes have printed."""
        path.write_text(self.output)


def kill_all(process: Process) -> None:
    """Send SIGKILL to a process and all others of its session."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
