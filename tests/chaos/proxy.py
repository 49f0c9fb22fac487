"""A proxy between the workers and a server, which can drop a reply of Redis or all data of its connections."""

from __future__ import annotations

import re
import socket
import threading
from contextlib import suppress
from types import TracebackType

from tests.harness import free_port

_HOST = "127.0.0.1"
_IDS_GIVEN_OUT = re.compile(rb"\*([3-9]|\d{2,})\r\n:\d+\r\n\$")  # an answer of take.lua with at least one id


class Proxy:
    """Forwards connections to `port`, from a port of its own; a context manager."""

    def __init__(self, port: int) -> None:
        self.target = port
        self.port = free_port()
        self.lost = threading.Event()
        self._armed = threading.Event()
        self._word = b""
        self._listener = socket.create_server((_HOST, self.port))
        self._ends: list[socket.socket] = []  # client and server of each connection
        self._swallowed: set[socket.socket] = set()  # ends of connections through which nothing passes any more

    def lose_next_ids(self) -> None:
        """Drop the next reply with ids, and the connection; sets `lost` when it happened."""
        self._armed.set()

    def swallow(self) -> None:
        """Forward no more data on the current connections, like a firewall that dropped them."""
        self._swallowed.update(self._ends)

    def swallow_on(self, word: bytes) -> None:
        """Do that as soon as a client sends this word."""
        self._word = word

    def __enter__(self) -> Proxy:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.close()
        for end in self._ends:
            _close(end)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection((_HOST, self.target))
            self._ends += client, server
            for pair in ((client, server, False), (server, client, True)):
                threading.Thread(target=self._forward, args=pair, daemon=True).start()

    def _forward(self, source: socket.socket, sink: socket.socket, is_reply: bool) -> None:
        try:
            while data := source.recv(65536):
                if self._word and not is_reply and self._word in data:
                    self.swallow()
                if source in self._swallowed:
                    continue
                if is_reply and self._armed.is_set() and _IDS_GIVEN_OUT.search(data):
                    self._armed.clear()
                    self.lost.set()
                    break
                sink.sendall(data)
        except OSError:
            pass
        if source not in self._swallowed:  # of which neither end hears that the other has gone
            _close(source)
            _close(sink)


def _close(end: socket.socket) -> None:
    """Shut down, which also ends the thread that reads from it."""
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()
