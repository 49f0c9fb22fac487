"""Benchmark subprocess: readers who ask for pages at a steady rate; prints JSON.

`crowd URL TEXT AT REQUESTS ADDRESS...` sends so many requests within a second, from half a second before the epoch
second AT on, for the addresses in turn. Prints the milliseconds of each from the moment at which it was to be sent, how
many failed, and how many began after AT and have the text missing.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from urllib.parse import urlsplit

CONNECTIONS = 16
LEAD = 0.5  # seconds before AT


async def main(url: str, text: str, at: float, addresses: list[str]) -> None:
    """Send and report."""
    waiting: asyncio.Queue[tuple[float, str]] = asyncio.Queue()
    for number, address in enumerate(addresses):
        waiting.put_nowait((at - LEAD + number / len(addresses), address))
    readers = [Reader(url, text.encode(), at) for _ in range(CONNECTIONS)]
    await asyncio.gather(*(reader.read(waiting) for reader in readers))
    print(
        json.dumps(
            {
                "milliseconds": [one for reader in readers for one in reader.milliseconds],
                "failed": sum(reader.failed for reader in readers),
                "outdated": sum(reader.outdated for reader in readers),
            }
        )
    )


class Reader:
    """One connection, which stays open."""

    def __init__(self, url: str, text: bytes, at: float) -> None:
        self._url, self._text, self._at = urlsplit(url), text, at
        self.milliseconds: list[float] = []
        self.failed = self.outdated = 0

    async def read(self, waiting: asyncio.Queue[tuple[float, str]]) -> None:
        """Send the next request that is due, until there is none."""
        await asyncio.sleep(self._at - LEAD - time.time())  # gunicorn closes connections that stay idle
        await self._connect()
        while not waiting.empty():
            due, address = waiting.get_nowait()
            await asyncio.sleep(due - time.time())
            began = time.time()
            head, body = await self._ask(f"GET {address} HTTP/1.1\r\nHost: {self._url.netloc}\r\n\r\n".encode())
            self.milliseconds.append((time.time() - due) * 1000)
            self.failed += not head.startswith(b"http/1.1 200 ")
            self.outdated += began >= self._at and self._text not in body
        self._writer.close()

    async def _connect(self) -> None:
        self._reader, self._writer = await asyncio.open_connection(self._url.hostname, self._url.port)

    async def _ask(self, request: bytes) -> tuple[bytes, bytes]:
        """Header, in small letters, and body; over a new connection if gunicorn has closed this one."""
        try:
            self._writer.write(request)
            head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        except (asyncio.IncompleteReadError, ConnectionError):
            self._writer.close()
            await self._connect()
            return await self._ask(request)
        return head, await self._reader.readexactly(int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0]))


if __name__ == "__main__":
    _url, _text, _at, _requests, *_addresses = sys.argv[1:]
    _wanted = [_addresses[number % len(_addresses)] for number in range(int(_requests))]
    asyncio.run(main(_url, _text, float(_at), _wanted))
