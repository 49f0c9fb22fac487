"""A man in the middle between the workers and Redis who can lose one reply: what was popped reaches nobody."""

from __future__ import annotations

import re
import socket
import threading
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
        self._listener = socket.create_server((_HOST, self.port))

    def lose_next_ids(self) -> None:
        """Drop the next answer that gives ids out, and with it the connection; `lost` is set when it happened."""
        self._armed.set()

    def __enter__(self) -> Proxy:
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
            server = socket.create_connection((_HOST, self.target))
            for pair in ((client, server, False), (server, client, True)):
                threading.Thread(target=self._forward, args=pair, daemon=True).start()

    def _forward(self, source: socket.socket, sink: socket.socket, is_reply: bool) -> None:
        try:
            while data := source.recv(65536):
                if is_reply and self._armed.is_set() and _IDS_GIVEN_OUT.search(data):
                    self._armed.clear()
                    self.lost.set()
                    break
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            end.close()
