"""The web server under attack, with its database, a worker and what the author has stored."""

from __future__ import annotations

import http.client
import json
import os
import random
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.harness import free_port
from tests.harness.stand import Stand
from tests.harness.waiting import eventually

THREADS = 8
TIMEOUT = 60
PASSAGE = "The ships wait for the tide in the harbour, and the pilots drink their tea. "
_TICK = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Answer:
    """What came back: the status, 0 if the connection was closed, and the size of the body in bytes."""

    status: int
    size: int
    body: bytes = field(default=b"", repr=False)


class Site:
    """One gunicorn process with eight threads; a context manager."""

    def __enter__(self) -> Site:
        self._resources = ExitStack()
        self.stand = self._resources.enter_context(Stand(settings="headline.settings"))
        self.port = free_port()
        # Each request names another client, as a network of machines would: limits by address do not help.
        self.stand.environment |= {"SITE_URL": f"http://127.0.0.1:{self.port}", "PROXY_COUNT": "1"}
        opened = self.stand.run("tests.attacks.newsroom")
        self.token, self.cookie = opened["token"], opened["cookie"]
        self.nested, self.nested_path, self.page = opened["nested"], opened["path"], opened["page"]
        bind = ("--bind", f"127.0.0.1:{self.port}", "--workers", "1", "--threads", str(THREADS), "--no-control-socket")
        self.web = self.stand.start("-m", "gunicorn", "headline.wsgi", *bind)
        self.web.wait_for("Booting worker")
        self.stand.start("manage.py", "poll", "--forever").wait_for(" runs ")
        eventually(lambda: self.ask("/healthz").status == 200, message="the web server does not answer")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._resources.close()

    def ask(self, path: str, *, method: str = "GET", body: bytes = b"", **headers: str) -> Answer:
        """Send a request over a connection of its own."""
        return ask(self.port, path, method=method, body=body, **headers)

    def article(self, *bodies: str) -> int:
        """The number of an article of the author with these texts, one after another."""
        first, *others = bodies
        stored = self._write("POST", "/api/v1/desk/articles/", {"title": "Attack", "body": first})
        for body in others:
            self._write("PATCH", f"/api/v1/desk/articles/{stored['id']}/", {"body": body})
        return int(stored["id"])

    def add_notes(self, article: int, count: int) -> None:
        """Notes on a passage that the text has many times, and on words that it has not."""
        for number in range(count):
            quote = (PASSAGE * 20)[: 1_500 - number] + "x" + PASSAGE
            about = {"quote": quote[:1_900], "prefix": PASSAGE[:30], "suffix": PASSAGE[-30:]}
            self._write("POST", f"/api/v1/desk/articles/{article}/notes/", {"text": "?", **about})

    def _write(self, method: str, path: str, value: Any) -> Any:
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        answer = self.ask(path, method=method, body=json.dumps(value).encode(), **headers)
        assert answer.status in {200, 201}, (path, answer.status, answer.body[:500])
        return json.loads(answer.body)

    @property
    def seconds(self) -> float:
        """Processor time of the web server and of MariaDB so far."""
        database = self.stand.mariadb.process
        assert database is not None
        return sum(_seconds(pid) for pid in [self.web.pid, *self.web.children(), database.pid])

    @property
    def memory(self) -> int:
        """Bytes of memory of the web process."""
        (worker,) = self.web.children()
        return int(Path(f"/proc/{worker}/statm").read_text(encoding="ascii").split()[1]) * _PAGE


def ask(port: int, path: str, *, method: str = "GET", body: bytes = b"", **headers: str) -> Answer:
    """Send a request over a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
    try:
        connection.putrequest(method, path, skip_host="Host" in headers)
        sent = {"X-Forwarded-For": f"203.0.113.{random.randrange(1, 255)}", **headers}  # noqa: S311 (guards nothing)
        if body or method != "GET":
            sent["Content-Length"] = str(len(body))
        for name, value in sent.items():
            connection.putheader(name, value)
        connection.endheaders(body)
        response = connection.getresponse()
        content = response.read()
    except (ConnectionError, http.client.HTTPException, TimeoutError):
        return Answer(0, 0)  # a server may refuse a body before it was read
    finally:
        connection.close()
    return Answer(response.status, len(content), content)


def _seconds(pid: int) -> float:
    values = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(values[11]) + int(values[12])) / _TICK
