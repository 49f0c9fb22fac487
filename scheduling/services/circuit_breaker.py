"""Circuit breakers: work that the database refuses is retried after growing pauses, and reported in the heartbeat.

A worker has one breaker per task type. After several refused transactions in a row it opens and the type pauses. The
next batch then closes it or opens it for longer, up to `TROUBLE_PAUSE`, so that work resumes within seconds of the
repair. Breakers are not shared: no state has to be written while writing fails.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from scheduling.conf import conf
from scheduling.database import Trouble, clock

_OPENS_AT = 3  # refused transactions in a row
_FIRST_PAUSE = 0.25  # seconds; doubles with each refused transaction
_DOUBLINGS = 20  # at most: far beyond any `TROUBLE_PAUSE`
_EXPIRES_AFTER = 3  # longest pauses without a refusal, after which a breaker is dropped
_ERROR_LENGTH = 300  # characters of the database's error that are reported


@dataclass(slots=True)
class Breaker:
    """State of one task type that the database refuses."""

    trouble: Trouble
    error: str
    since: datetime
    in_a_row: int = 0
    refused_at: float = 0.0
    opens_until: float = 0.0


class Breakers:
    """The breakers of one worker; its heartbeat reports them to other processes."""

    def __init__(self) -> None:
        self._breakers: dict[str, Breaker] = {}
        self.uncounted: set[int] = set()
        """Ids of tasks whose attempt was counted before it began; if it is refused, it is uncounted."""

    def for_thread(self) -> Breakers:
        """Breakers for another thread, which share the state but have their own `uncounted`."""
        other = Breakers()
        # Shared without a lock: each use is one operation on the dictionary, or reads a copy of it.
        other._breakers = self._breakers
        return other

    def closed(self, task_types: Collection[str]) -> frozenset[str]:
        """The task types that may run now."""
        now = time.monotonic()
        paused = {name for name, breaker in self._breakers.copy().items() if breaker.opens_until > now}
        return frozenset(task_types) - paused

    def refused(self, task_type: str, trouble: Trouble, error: BaseException, *, times: int, some_ran: bool) -> float:
        """Record refused transactions; returns the seconds until they should be retried.

        If other tasks of the same type ran since, the type is not paused.
        """
        now = time.monotonic()
        breaker = self._current().get(task_type) or Breaker(trouble, "", clock.now())
        self._breakers[task_type] = breaker
        breaker.trouble, breaker.error, breaker.refused_at = trouble, str(error)[:_ERROR_LENGTH], now
        # If other tasks of the type run, the trouble is in the rows of these: a pause of the type would delay the
        # others for nothing.
        breaker.in_a_row = 0 if some_ran else breaker.in_a_row + times
        if some_ran:
            return conf.TROUBLE_PAUSE
        pause = min(_FIRST_PAUSE * 2.0 ** min(breaker.in_a_row, _DOUBLINGS), conf.TROUBLE_PAUSE)
        if breaker.in_a_row >= _OPENS_AT:
            breaker.opens_until = now + pause
        return pause

    def succeeded(self, task_type: str) -> Breaker | None:
        """Record a committed transaction of this type; returns the breaker that this closed, if any."""
        return self._breakers.pop(task_type, None)

    def report(self) -> list[dict[str, str]]:
        """Refused types for the heartbeat."""
        return [
            {"task_type": name, "trouble": found.trouble.value, "error": found.error, "since": found.since.isoformat()}
            for name, found in sorted(self._current().items())
        ]

    def _current(self) -> dict[str, Breaker]:
        """Breakers that refused something recently; the tasks of the others ran elsewhere or are gone."""
        oldest = time.monotonic() - _EXPIRES_AFTER * conf.TROUBLE_PAUSE
        return {name: found for name, found in self._breakers.copy().items() if found.refused_at > oldest}


def summary(report: Iterable[dict[str, str]]) -> set[tuple[str, str]]:
    """Refused types and their trouble, without the error texts, which vary."""
    return {(row["task_type"], row["trouble"]) for row in report}
