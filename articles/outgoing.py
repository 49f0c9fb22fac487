"""Connections to addresses that users give, without reaching what only this server can reach.

A name is resolved once, each of its addresses is checked, and a checked one is connected to, so that it cannot change
in between. The address is checked, never its spelling: a resolver takes `127.1` and `0x7f000001` for this machine, too.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from heapq import heappop, heappush
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from itertools import count
from queue import Empty, SimpleQueue
from threading import Condition, Thread
from typing import Any

Address = IPv4Address | IPv6Address
Resolved = tuple[Any, ...]
"""What `getaddrinfo` returns for one address."""

RESOLVE = 3.0
"""Seconds for the look-up of a name."""

_NOT_PUBLIC: list[IPv4Network | IPv6Network] = [
    *map(
        IPv4Network,
        (
            "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "168.63.129.16/32", "169.254.0.0/16",
            "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24",
            "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
        ),
    ),
    *map(IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")),
]  # fmt: skip
"""Of IANA's registries of special addresses, and 168.63.129.16, which tells machines of Azure their secrets."""
_GLOBAL = IPv6Network("2000::/3")
"""All that is public of IPv6: neither mapped nor translated addresses of IPv4, nor local ones."""


def is_public(address: Address) -> bool:
    """Whether it is an address of the public internet. Not by `is_global`, which varies with the release of Python."""
    if isinstance(address, IPv6Address) and (address not in _GLOBAL or address.scope_id):
        return False
    return not any(address in network for network in _NOT_PUBLIC)


def resolve(host: str, port: int) -> list[Resolved]:
    """What a name resolves to. Raises `OSError` for unknown names, and `TimeoutError` when no name server answers.

    In a thread of its own, because a look-up has no limit of time; one that is given up ends by itself.
    """
    answer: SimpleQueue[list[Resolved] | Exception] = SimpleQueue()

    def look_up() -> None:
        try:
            answer.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except Exception as error:  # which the caller gets
            answer.put(error)

    Thread(target=look_up, name="name look-up", daemon=True).start()
    try:
        found = answer.get(timeout=RESOLVE)
    except Empty:
        raise TimeoutError from None
    if isinstance(found, Exception):
        raise found
    return found


def address_of(resolved: Resolved) -> Address:
    """The address."""
    return ip_address(str(resolved[4][0]).partition("%")[0])


class Ends:
    """Ends a connection at an instant: the timeout is one of each wait, and a host may send a byte before each ends."""

    def __init__(self, end: float) -> None:
        """`end` is of `time.monotonic()`."""
        self._end = end
        self._watched: socket.socket | None = None

    def watch(self, connected: socket.socket) -> None:
        """Shut the connection down in time; the duplicate is of the same connection, also once TLS wraps it."""
        self._watched = connected.dup()
        _watch.add(self._end, self)

    def cancel(self) -> None:
        """The connection has ended by itself, or its answer has come."""
        if self._watched is not None:
            self._watched.close()
            self._watched = None

    def shut(self) -> None:
        """Shut the connection down."""
        if (watched := self._watched) is not None:
            with suppress(OSError):
                watched.shutdown(socket.SHUT_RDWR)


_LONGEST_WAIT = 1.0  # seconds


class _Watch:
    """One thread for the ends of all connections: a thread for each would take longer than a request."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._ends: list[tuple[float, int, Ends]] = []  # a heap
        self._numbers = count()
        self._thread: Thread | None = None

    def add(self, end: float, ends: Ends) -> None:
        """Call `ends.shut` then."""
        with self._changed:
            heappush(self._ends, (end, next(self._numbers), ends))
            if self._thread is None or not self._thread.is_alive():  # as in a copy of a process
                self._thread = Thread(target=self._run, name="ends of connections", daemon=True)
                self._thread.start()
            elif self._ends[0][2] is ends:
                self._changed.notify()

    def _run(self) -> None:
        while due := self._wait():
            due.shut()

    def _wait(self) -> Ends | None:
        """The next that is due; None once there is nothing to wait for."""
        with self._changed:
            while self._ends:
                pause = self._ends[0][0] - time.monotonic()
                if pause <= 0:
                    return heappop(self._ends)[2]
                # Not longer: were the clock moved while this waits, it would sleep past all ends that come.
                self._changed.wait(min(pause, _LONGEST_WAIT))
            self._thread = None
            return None


_watch = _Watch()


def connect(addresses: Sequence[Resolved], timeout: float) -> socket.socket:
    """A connection to the first of the checked addresses that accepts one. Raises `OSError`."""
    for number, (family, kind, protocol, _name, address) in enumerate(addresses, start=1):
        connected = socket.socket(family, kind, protocol)
        try:
            connected.settimeout(timeout)
            connected.connect(address)
        except OSError:
            connected.close()
            if number == len(addresses):
                raise
        else:
            return connected
    raise socket.gaierror(socket.EAI_NONAME)
