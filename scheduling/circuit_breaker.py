"""Circuit breakers: what the database refuses is tried again after growing pauses, and everybody can see why.

A worker has one breaker for each type of task. After some refused transactions in a row, without one that succeeded,
it opens: the type rests. Then the next batch is the trial that closes it or opens it for longer, `TROUBLE_PAUSE` at
most, so that work goes on within seconds of the repair.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from scheduling.clock import clock
from scheduling.conf import conf
from scheduling.failures import Trouble

_OPENS_AT = 3  # refused transactions in a row
_FIRST_PAUSE = 0.25  # seconds; doubles with each refused transaction
_DOUBLINGS = 20  # at most: far beyond any `TROUBLE_PAUSE`
_FORGOTTEN_AFTER = 3  # longest pauses; what is still refused by then, another worker has seen, or nobody any more
_ERROR_LENGTH = 300  # characters of the database's own words that are shown


@dataclass(slots=True)
class Breaker:
    """What the database refuses of one type of task."""

    trouble: Trouble
    error: str
    since: datetime
    in_a_row: int = 0
    refused_at: float = 0.0
    opens_until: float = 0.0


class Breakers:
    """The breakers of one worker; its heartbeat shows them to other processes."""

    def __init__(self) -> None:
        self._breakers: dict[str, Breaker] = {}
        self.uncounted: set[int] = set()
        """Tasks whose attempt was counted before it began, until that has run: a refused one is uncounted."""

    def beside(self) -> Breakers:
        """Those of a thread beside, for other types: shown together with these, but it counts its own attempts."""
        other = Breakers()
        other._breakers = self._breakers
        return other

    def closed(self, task_types: Collection[str]) -> frozenset[str]:
        """Those of the types that may be tried now."""
        now = time.monotonic()
        resting = {name for name, breaker in self._breakers.copy().items() if breaker.opens_until > now}
        return frozenset(task_types) - resting

    def refused(self, task_type: str, trouble: Trouble, error: BaseException, *, times: int, some_ran: bool) -> float:
        """Note so many refused transactions; returns the seconds after which they should be tried again.

        Where others of the same type ran meanwhile, the type does not rest.
        """
        now = time.monotonic()
        breaker = self._remembered().get(task_type) or Breaker(trouble, "", clock.now())
        self._breakers[task_type] = breaker
        breaker.trouble, breaker.error, breaker.refused_at = trouble, str(error)[:_ERROR_LENGTH], now
        breaker.in_a_row = 0 if some_ran else breaker.in_a_row + times
        if some_ran:
            return conf.TROUBLE_PAUSE
        pause = min(_FIRST_PAUSE * 2.0 ** min(breaker.in_a_row, _DOUBLINGS), conf.TROUBLE_PAUSE)
        if breaker.in_a_row >= _OPENS_AT:
            breaker.opens_until = now + pause
        return pause

    def succeeded(self, task_type: str) -> Breaker | None:
        """A transaction of this type was committed; returns the breaker that this closed, if there was one."""
        return self._breakers.pop(task_type, None)

    def report(self) -> list[dict[str, str]]:
        """What is refused at this moment, for the heartbeat."""
        return [
            {"task_type": name, "trouble": found.trouble.value, "error": found.error, "since": found.since.isoformat()}
            for name, found in sorted(self._remembered().items())
        ]

    def _remembered(self) -> dict[str, Breaker]:
        """Without those that have not refused anything for long, because another worker ran it, or it is gone."""
        oldest = time.monotonic() - _FORGOTTEN_AFTER * conf.TROUBLE_PAUSE
        return {name: found for name, found in self._breakers.copy().items() if found.refused_at > oldest}


def outline(report: Iterable[dict[str, str]]) -> set[tuple[str, str]]:
    """What is refused and why, without the words that differ from one time to the next."""
    return {(row["task_type"], row["trouble"]) for row in report}
