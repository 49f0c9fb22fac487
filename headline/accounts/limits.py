"""How often something may be tried: a generic cell rate algorithm on one database row per counter.

A try is taken before its outcome is known and by one conditional UPDATE, so parallel tries on any number of processes
cannot pass a limit together. The database is the only store: Redis may be away.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import F
from django.db.models.functions import Greatest

from headline.accounts.models import TryCount
from scheduling.services import read_database_clock

REPORT_EVERY = timedelta(hours=1)
_ROWS_PER_PRUNING = 1000


@dataclass(frozen=True)
class Limit:
    """`burst` tries at once, and one more each `every`, for each subject."""

    name: str
    burst: int
    every: timedelta

    def take(self, subject: str) -> timedelta:
        """Take one try. Zero when it was free; else how long to wait, and nothing was taken."""
        key, now, transition = self._key(subject), _now(), _microseconds(self.every)
        latest = now + transition * (self.burst - 1)
        row, _is_new = TryCount.objects.get_or_create(pk=key, defaults={"free_at": now})
        if row.free_at <= latest:  # refusing costs no write
            rows = TryCount.objects.filter(pk=key, free_at__lte=latest)
            if rows.update(free_at=Greatest(F("free_at"), now) + transition):
                return timedelta()
            row.free_at = (
                TryCount.objects.filter(pk=key).values_list("free_at", flat=True).first() or latest + transition
            )
        return timedelta(microseconds=max(row.free_at - latest, 1))

    def give_back(self, subject: str) -> None:
        """The try that was taken does not count."""
        TryCount.objects.filter(pk=self._key(subject)).update(free_at=F("free_at") - _microseconds(self.every))

    def clear(self, subject: str) -> None:
        """None of the tries so far counts."""
        TryCount.objects.filter(pk=self._key(subject)).delete()

    def is_to_be_reported(self, subject: str) -> bool:
        """Whether nobody reported within `REPORT_EVERY` that it is used up; True for one caller alone."""
        now = _now()
        rows = TryCount.objects.filter(pk=self._key(subject), reported_at__lte=now - _microseconds(REPORT_EVERY))
        return bool(rows.update(reported_at=now))

    def _key(self, subject: str) -> str:
        """The row's key; names and addresses are not stored."""
        return hashlib.sha256(f"{self.name}\n{subject}".encode()).hexdigest()


def prune() -> None:
    """Delete counters that say nothing any more, a bounded number."""
    old = TryCount.objects.filter(free_at__lt=_now() - _microseconds(REPORT_EVERY)).values_list("pk", flat=True)
    TryCount.objects.filter(pk__in=list(old[:_ROWS_PER_PRUNING])).delete()


def _now() -> int:
    return _microseconds(read_database_clock().timestamp())


def _microseconds(time: float | timedelta) -> int:
    seconds = time.total_seconds() if isinstance(time, timedelta) else time
    return round(seconds * 1_000_000)
