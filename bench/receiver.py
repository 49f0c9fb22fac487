"""Benchmark subprocess: a receiver of webhooks that answers at once; `GET /` says how many came, and when, as JSON."""

from __future__ import annotations

import asyncio
import json
import time
import urllib.request

_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Receiver(asyncio.Protocol):
    """Reads requests of one connection, as far as a benchmark needs."""

    came: list[float] = []  # noqa: RUF012 (of all connections)

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
                self.transport.write(_ANSWER)
            self.unread = self.unread[end:]

    def _report(self) -> None:
        body = json.dumps([len(self.came), min(self.came, default=0.0), max(self.came, default=0.0)]).encode()
        self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))


async def main() -> None:
    """Listen on a free port, and print it."""
    server = await asyncio.get_running_loop().create_server(Receiver, "127.0.0.1", 0)
    print("ready", server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def came(url: str) -> tuple[int, float, float]:
    """How many requests a receiver has got, and when the first and the last came."""
    with urllib.request.urlopen(url, timeout=30) as answer:
        number, first, last = json.load(answer)
    return number, first, last


if __name__ == "__main__":
    asyncio.run(main())
