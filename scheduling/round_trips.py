"""How long round trips to a server take: one that answers slowly can cost more than doing without it."""

from __future__ import annotations

from collections import deque

SLOW = 0.025
"""Seconds of a round trip to Redis above which the database is sooner done."""


class RoundTrips:
    """The last round trips to a server, of all threads of a process.

    Only a `count` of slow ones in a row count, so that neither a pause of the server nor one of this process does.
    """

    def __init__(self, count: int) -> None:
        self._seconds: deque[float] = deque(maxlen=count)

    def add(self, seconds: float) -> None:
        """One more, which took that long."""
        self._seconds.append(seconds)

    @property
    def are_slow(self) -> bool:
        """Whether all of the last ones were: a single quick one shows that the server is not."""
        return len(self._seconds) == self._seconds.maxlen and min(self._seconds) > SLOW
