"""Benchmark subprocess: takes webhooks and pushes at once; `GET /` says how many came, when, and of how many paths.

`python -m bench.receiver [SECONDS]`: it takes so long to answer.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
import urllib.request

_ANSWER = b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"


class Receiver(asyncio.Protocol):
    """Reads requests of one connection, as far as a benchmark needs."""

    came: list[float] = []  # noqa: RUF012 (of all connections)
    paths: set[bytes] = set()  # noqa: RUF012
    pause = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember to what is answered."""
        assert isinstance(transport, asyncio.Transport)
        self.transport, self.unread = transport, b""

    def data_received(self, data: bytes) -> None:
        """Answer each request that is complete."""
        self.unread += data
        while (head := self.unread.find(b"\r\n\r\n") + 4) > 3:
            lower = self.unread[:head].lower()
            at = lower.find(b"content-length:")
            end = head + (int(lower[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0)
            if len(self.unread) < end:
                return
            if lower.startswith(b"get"):
                self._report()
            else:
                self.came.append(time.time())
                self.paths.add(self.unread.split(b" ", 2)[1])
                self._answer()
            self.unread = self.unread[end:]

    def _answer(self) -> None:
        if self.pause:
            asyncio.get_running_loop().call_later(self.pause, self.transport.write, _ANSWER)
        else:
            self.transport.write(_ANSWER)

    def _report(self) -> None:
        first, last = min(self.came, default=0.0), max(self.came, default=0.0)
        body = json.dumps([len(self.came), first, last, len(self.paths)]).encode()
        self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))


async def main() -> None:
    """Listen on a free port, and print it."""
    server = await asyncio.get_running_loop().create_server(Receiver, "127.0.0.1", 0)
    print("ready", server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def came(url: str) -> tuple[int, float, float, int]:
    """How many requests a receiver has got, when the first and the last came, and how many paths they had."""
    with urllib.request.urlopen(url, timeout=30) as answer:
        number, first, last, paths = json.load(answer)
    return number, first, last, paths


if __name__ == "__main__":
    Receiver.pause = float(sys.argv[1]) if sys.argv[1:] else 0.0
    asyncio.run(main())
