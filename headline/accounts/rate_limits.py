"""Rate limits in the database: the generic cell rate algorithm, one row per counter.

An attempt is counted before its outcome is known and by one conditional UPDATE, so parallel attempts in any number of
processes cannot exceed a limit together. The database is the only store: Redis may be away.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import timedelta

from django.contrib.sessions.models import Session
from django.db.models import F
from django.db.models.functions import Greatest
from django.http import HttpRequest

from articles.limits import MEGAPIXELS_AN_HOUR
from headline.accounts.address import address_of
from headline.accounts.models import TryCount
from scheduling.database import read_database_clock

REPORT_EVERY = timedelta(hours=1)
_ROWS_PER_PRUNING = 1000


@dataclass(frozen=True)
class Limit:
    """`burst` attempts at once, and one more each `every`, for each subject. An attempt may count as several."""

    name: str
    burst: int
    every: timedelta

    def take(self, subject: str, amount: int = 1) -> timedelta:
        """Count one attempt, as `amount`. Zero if it is allowed; otherwise the time to wait, and nothing is counted."""
        key, now, interval = self._key(subject), _now(), _microseconds(self.every)
        latest = now + interval * (self.burst - amount)
        row, _is_new = TryCount.objects.get_or_create(pk=key, defaults={"free_at": now})
        # A refusal needs no write, so a flood of attempts costs reads alone.
        if row.free_at <= latest:
            rows = TryCount.objects.filter(pk=key, free_at__lte=latest)
            # The condition is checked again by the UPDATE: of parallel attempts that read the same row, one at a time
            # counts.
            if rows.update(free_at=Greatest(F("free_at"), now) + interval * amount):
                return timedelta()
            row.free_at = TryCount.objects.filter(pk=key).values_list("free_at", flat=True).first() or latest + interval
        return timedelta(microseconds=max(row.free_at - latest, 1))

    def uncount(self, subject: str) -> None:
        """Uncount one attempt."""
        TryCount.objects.filter(pk=self._key(subject)).update(free_at=F("free_at") - _microseconds(self.every))

    def clear(self, subject: str) -> None:
        """Uncount all attempts."""
        TryCount.objects.filter(pk=self._key(subject)).delete()

    def is_to_be_reported(self, subject: str) -> bool:
        """Whether a used-up limit should be reported: True for one caller per `REPORT_EVERY`."""
        now = _now()
        rows = TryCount.objects.filter(pk=self._key(subject), reported_at__lte=now - _microseconds(REPORT_EVERY))
        return bool(rows.update(reported_at=now))

    def _key(self, subject: str) -> str:
        """The row's key; names and addresses are not stored."""
        # A typed name may be a password in the wrong field.
        return hashlib.sha256(f"{self.name}\n{subject}".encode()).hexdigest()


_PIXELS = Limit("image pixels of user", burst=MEGAPIXELS_AN_HOUR, every=timedelta(hours=1) / MEGAPIXELS_AN_HOUR)


def count_megapixels(user_id: int, amount: int) -> timedelta:
    """Count images that are decoded for a user. Zero if it is allowed; otherwise the time to wait."""
    return _PIXELS.take(str(user_id), amount)


_SUBSCRIPTIONS = Limit("push subscriptions of address", burst=20, every=timedelta(minutes=1))


def count_subscription(request: HttpRequest) -> timedelta:
    """Count a change of a push subscription. Zero if it is allowed; otherwise the time to wait."""
    return _SUBSCRIPTIONS.take(address_of(request))


def prune() -> None:
    """Delete expired counters and sessions, a bounded number."""
    old = TryCount.objects.filter(free_at__lt=_now() - _microseconds(REPORT_EVERY)).values_list("pk", flat=True)
    TryCount.objects.filter(pk__in=list(old[:_ROWS_PER_PRUNING])).delete()
    ended = Session.objects.filter(expire_date__lt=read_database_clock()).values_list("pk", flat=True)
    Session.objects.filter(pk__in=list(ended[:_ROWS_PER_PRUNING])).delete()


def _now() -> int:
    return _microseconds(read_database_clock().timestamp())


def _microseconds(time: float | timedelta) -> int:
    seconds = time.total_seconds() if isinstance(time, timedelta) else time
    return round(seconds * 1_000_000)
