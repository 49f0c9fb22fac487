"""Readers that poll many URLs and record when they saw which texts."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from selectors import EVENT_READ, BaseSelector, DefaultSelector
from typing import Any
from urllib.parse import quote, urlsplit

from tests.harness import PATIENCE

PAUSE = 0.05  # seconds between two looks at an address


@dataclass(frozen=True)
class Sight:
    """What a request to an address from `began` to `ended` (seconds since 1970) showed."""

    address: str
    began: float
    ended: float
    seen: Mapping[str, bool]


class Readers:
    """One reader for each address; `signs` are the texts to look for, by what they stand for."""

    def __init__(self, servers: Sequence[str], signs: Mapping[str, Mapping[str, str]]) -> None:
        self.sights: list[Sight] = []
        self.faults: list[str] = []
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(target=self._read, args=[server, path, wanted])
            for server in servers
            for path, wanted in signs.items()
        ]

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Let them poll during the block."""
        for thread in self._threads:
            thread.start()
        try:
            yield
        finally:
            self._stopping.set()
            for thread in self._threads:
                thread.join()

    def have_looked(self) -> bool:
        """Whether each has seen its address."""
        return len({one.address for one in self.sights}) == len(self._threads)

    def _read(self, server: str, path: str, signs: Mapping[str, str]) -> None:
        connection = HTTPConnection(urlsplit(server).netloc, timeout=PATIENCE)
        is_last = False
        while not is_last:
            is_last = self._stopping.wait(PAUSE)  # who is told to stop looks once more
            began = time.time()
            try:
                status, text = _get(connection, path)
            except (OSError, HTTPException) as error:
                self.faults.append(f"{server}{path}: {error!r}")
                connection.close()
                continue
            if status not in (HTTPStatus.OK, HTTPStatus.NOT_FOUND):
                self.faults.append(f"{server}{path}: {status}")
            seen = {name: status == HTTPStatus.OK and sign in text for name, sign in signs.items()}
            self.sights.append(Sight(server + path, began, time.time(), seen))
        connection.close()


def _get(connection: HTTPConnection, path: str) -> tuple[int, str]:
    connection.request("GET", quote(path, safe="/?=&%"))
    response = connection.getresponse()
    return response.status, response.read().decode()


def ask_at_once(address: str, number: int, *headers: str, method: str = "GET") -> list[str]:
    """The responses to this many simultaneous requests for an address."""
    url = urlsplit(address)
    crowd = [socket.create_connection((url.hostname, url.port), timeout=PATIENCE) for _ in range(number)]
    lines = [f"{method} {url.path} HTTP/1.1", f"Host: {url.netloc}", "Connection: close", *headers, "", ""]
    with DefaultSelector() as waiting:
        responses: list[list[bytes]] = []
        for one in crowd:
            one.sendall("\r\n".join(lines).encode())
            responses.append([])
            waiting.register(one, EVENT_READ, responses[-1])
        while waiting.get_map():
            _take_what_came(waiting)
    return [b"".join(parts).decode() for parts in responses]


def _take_what_came(waiting: BaseSelector) -> None:
    """Close the connection after the response, because gunicorn waits for that."""
    for key, _events in waiting.select(timeout=PATIENCE):
        connection: Any = key.fileobj
        part = connection.recv(65536)
        key.data.append(part)
        if not part:
            waiting.unregister(connection)
            connection.close()


@dataclass(frozen=True)
class Change:
    """A change of what is shown, which happened between `before` and `after`."""

    shown: bool
    before: float = float("-inf")
    after: float = float("-inf")


def is_true(sight: Sight, name: str, history: Sequence[Change], *, patience: float) -> bool:
    """Whether what a sight shows was so at some instant of its request, or no more than `patience` seconds before."""
    ends = [change.after + patience for change in history[1:]] + [float("inf")]
    return any(
        change.shown == sight.seen[name] and sight.ended >= change.before and sight.began <= end
        for change, end in zip(history, ends, strict=True)
    )
