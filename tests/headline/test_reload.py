"""Reloading the web server, as `systemctl reload` of its unit does, behind nginx with its site: no request fails."""

from __future__ import annotations

import http.client
import re
import shlex
import signal
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

from tests.conftest import database_environment
from tests.harness import Process, PythonProcess, base_dir, eventually
from tests.headline.test_deployment import ENVIRONMENT, nginx_before

UNIT = (base_dir / "deploy" / "systemd" / "headline-web.service").read_text(encoding="utf-8")
REQUESTS = (("GET", "/"), ("POST", "/api/v1/token/"), ("GET", "/api/v1/articles/"))


class Visitor(Thread):
    """Requests one after the other over one connection to nginx, until `stopped`; `faults` lists failures."""

    def __init__(self, port: int, method: str, path: str, stopped: Event) -> None:
        super().__init__(daemon=True)
        self.port, self.method, self.path, self.stopped = port, method, path, stopped
        self.responses = 0
        self.faults: list[str] = []

    def run(self) -> None:
        """Request; whatever else than a response below 500 is a fault."""
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=ssl._create_unverified_context())
        while not self.stopped.is_set():
            try:
                connection.request(self.method, self.path, headers={"Host": "news.example.org"})
                response = connection.getresponse()
                response.read()
            except (OSError, http.client.HTTPException) as error:
                self.faults.append(repr(error))
                connection.close()
            else:
                self.responses += 1
                if response.status >= http.client.INTERNAL_SERVER_ERROR:
                    self.faults.append(f"{self.method} {self.path} {response.status}")
        connection.close()


@contextmanager
def visitors(port: int) -> Iterator[list[Visitor]]:
    stopped = Event()
    threads = [Visitor(port, *request, stopped) for request in REQUESTS]
    for thread in threads:
        thread.start()
    try:
        yield threads
    finally:
        stopped.set()
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive(), f"{thread.path} waits for a response"


def each_has_more(threads: list[Visitor]) -> None:
    """Wait until each visitor has had some more responses."""
    before = [thread.responses for thread in threads]
    eventually(lambda: all(thread.responses > n + 5 for thread, n in zip(threads, before, strict=True)))


def reload(web: Process) -> None:
    """Reload, and wait until all processes are new."""
    before = web.children()
    web.send_signal(signal.SIGHUP)
    eventually(lambda: not before & web.children(), message=lambda: web.output)


def test_a_reload_fails_no_request(tmp_path: Path, transactional_db: None) -> None:
    (options,) = re.findall(r"^ExecStart=\S+/gunicorn (headline\.wsgi) --bind \S+ (.+)$", UNIT, re.MULTILINE)
    command = ["-m", "gunicorn", options[0], "--bind", f"unix:{tmp_path}/web.sock", *shlex.split(options[1])]
    assert "ExecReload=/bin/kill -HUP $MAINPID" in UNIT
    with PythonProcess(command, env={**database_environment(), **ENVIRONMENT}) as web:
        web.wait_for("Booting worker")
        with nginx_before(tmp_path) as (_plain, secure), visitors(secure) as threads:
            each_has_more(threads)
            reload(web)
            each_has_more(threads)
    assert [thread.faults for thread in threads] == [[]] * len(threads), web.output
    assert web.output.count("Booting worker") == 4
