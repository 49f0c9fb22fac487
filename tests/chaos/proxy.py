"""A proxy between processes and a server, which can delay, drop or swallow data, in one direction or both."""

from __future__ import annotations

import re
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType

from tests.harness import free_port

_HOST = "127.0.0.1"
_IDS_GIVEN_OUT = re.compile(rb"\*([3-9]|\d{2,})\r\n:\d+\r\n\$")  # an answer of take.lua with at least one id
REQUESTS, REPLIES = "requests", "replies"


class Proxy:
    """Forwards connections to `port`, from a port of its own or from `at`; a context manager."""

    def __init__(self, port: int, at: int | None = None) -> None:
        self.target = port
        self.port = at or free_port()
        self.lost = threading.Event()
        self._armed = threading.Event()
        self._word = b""
        self._listener = socket.create_server((_HOST, self.port), backlog=100)
        self._ends: set[socket.socket] = set()  # client and server of each connection
        self._swallowed: set[socket.socket] = set()  # sources whose data is not forwarded any more
        self._silent: frozenset[str] = frozenset()  # directions in which nothing passes on any connection
        self._delay, self._delayed = 0.0, frozenset[str]()
        self._is_over = False
        self.forwarded = 0  #: pieces of data, in both directions

    def lose_next_ids(self) -> None:
        """Drop the next reply with ids, and the connection; sets `lost` when it happened."""
        self._armed.set()

    def swallow(self) -> None:
        """Forward no more data on the current connections, like a firewall that dropped them."""
        self._swallowed.update(self._ends)

    def swallow_on(self, word: bytes) -> None:
        """Do that as soon as a client sends this word."""
        self._word = word

    @contextmanager
    def silence(self, *directions: str) -> Iterator[None]:
        """While the block lasts, forward nothing in these directions; its connections stay dead, as after a firewall's
        reset.
        """
        self._silent = frozenset(directions or (REQUESTS, REPLIES))
        try:
            yield
        finally:
            self.swallow()
            self._silent = frozenset()

    @contextmanager
    def delay(self, seconds: float, *directions: str) -> Iterator[None]:
        """While the block lasts, forward all data in these directions later."""
        self._delayed, self._delay = frozenset(directions or (REQUESTS, REPLIES)), seconds
        try:
            yield
        finally:
            self._delay = 0.0

    def reset(self) -> None:
        """Break the current connections."""
        for end in list(self._ends):
            with suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            _close(end)

    def __enter__(self) -> Proxy:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over = True
        _close(self._listener)
        self._close_all()

    def _close_all(self) -> None:
        for end in list(self._ends):
            _close(end)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection((_HOST, self.target))
            except OSError:  # refused, as by the server itself
                _close(client)
                continue
            self._ends |= {client, server}
            if self._is_over:
                self._close_all()
            for pair in ((client, server, False), (server, client, True)):
                threading.Thread(target=self._forward, args=pair, daemon=True).start()

    def _forward(self, source: socket.socket, sink: socket.socket, is_reply: bool) -> None:
        try:
            direction = REPLIES if is_reply else REQUESTS
            while data := source.recv(65536):
                if self._word and not is_reply and self._word in data:
                    self.swallow()
                if direction in self._silent:
                    self._swallowed |= {source, sink}
                if source in self._swallowed:
                    continue
                if is_reply and self._armed.is_set() and _IDS_GIVEN_OUT.search(data):
                    self._armed.clear()
                    self.lost.set()
                    break
                if self._delay and direction in self._delayed:
                    time.sleep(self._delay)
                self.forwarded += 1
                sink.sendall(data)
        except OSError:
            pass
        if source not in self._swallowed:  # of which neither end hears that the other has gone
            _close(source)
            _close(sink)
            self._ends -= {source, sink}


def _close(end: socket.socket) -> None:
    """Shut down, which also ends the thread that reads from it."""
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()
