"""The system under test on several hosts: a web server and workers on each, behind a load balancer."""

from __future__ import annotations

import itertools
import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.chaos.system import System, kill_all
from tests.clusters.network import Host
from tests.clusters.stand import ClusterStand
from tests.harness import HOST, Process, base_dir, eventually, free_port, python

_PORT = 8000
_CONNECTS_WITHIN = 0.5  # seconds


class Balancer:
    """Forwards connections to the hosts in turn, and past those that refuse them; a context manager."""

    def __init__(self, hosts: list[Host]) -> None:
        self.port = free_port()
        self._listener = socket.create_server((HOST, self.port), backlog=100)
        self._order = itertools.cycle(range(len(hosts)))
        self._hosts = hosts

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=[client, next(self._order)], daemon=True).start()

    def _serve(self, client: socket.socket, first: int) -> None:
        with client:
            for host in [*self._hosts[first:], *self._hosts[:first]]:
                with suppress(OSError), socket.create_connection((host.address, _PORT), _CONNECTS_WITHIN) as server:
                    server.settimeout(None)
                    thread = threading.Thread(target=_forward, args=[client, server], daemon=True)
                    thread.start()
                    _forward(server, client)
                    thread.join(1)
                    return


def _forward(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


class HostsSystem(System):
    """Web server and workers on each host of a cluster stand; a context manager."""

    stand: ClusterStand

    def __init__(self, stand: ClusterStand, directory: Path, *, outside: Mapping[str, str], settings: str) -> None:
        super().__init__(stand, directory, outside=outside, settings=settings)
        self._is_production = True
        self.webs: dict[int, Process] = {}
        self.supervisors: dict[int, Process] = {}
        self.balancer = Balancer(stand.network.hosts)
        self.port = self.balancer.port
        self.url = f"http://{HOST}:{self.port}"

    def __enter__(self) -> Self:
        self._resources.callback(self._end_processes)
        self._resources.enter_context(self.balancer)
        for host in self.stand.network.hosts:
            self.start_on(host)
        for host in self.stand.network.hosts:
            self.wait_for(host)
        return self

    def start_on(self, host: Host) -> None:
        """Start web server and workers of a host."""
        bind = f"0.0.0.0:{_PORT}"
        options = ["--bind", bind, "--workers", "1", "--threads", "4", "--preload", "--no-control-socket"]
        self.webs[host.number] = self.start_program(host, "-m", "gunicorn", "headline.wsgi", *options)
        self.supervisors[host.number] = self.start_program(host, "manage.py", "poll", "--forever", "--processes", "1")

    def wait_for(self, host: Host) -> None:
        """Wait until web server and workers of a host run."""
        web, workers = self.webs[host.number], self.supervisors[host.number]
        eventually(lambda: _listens(host) or not web.alive(), message=f"the web server of {host} does not answer")
        assert web.alive(), web.output
        eventually(lambda: " runs " in workers.output, message=f"the workers of {host} do not run")

    def end_on(self, host: Host) -> None:
        """Kill web server and workers of a host."""
        for process in (self.webs[host.number], self.supervisors[host.number]):
            kill_all(process)

    def refresh(self) -> Process:
        """What cron starts each minute on each host."""
        return self.start_program(self.stand.network.hosts[0], "manage.py", "refresh")

    def start_program(self, host: Host, *command: str) -> Process:
        """A Python program on a host, which prefers the host's own database node."""
        environment = {
            **self.stand.environment,
            **self._outside,
            "DATABASE_URL": self.stand.database_url(host.number - 1),
            "SITE_URL": self.url,
            "TEST_SETTINGS": self._settings,
        }
        process = Process([*host.prefix, python, "-u", *command], env=environment, cwd=base_dir)
        self.outputs.append(process)
        return process


def _listens(host: Host) -> bool:
    with suppress(OSError), socket.create_connection((host.address, _PORT), timeout=1):
        return True
    return False
