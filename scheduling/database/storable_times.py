"""The range of times that every database stores."""

from __future__ import annotations

from datetime import UTC, datetime

from django.utils import timezone

EARLIEST, LATEST = datetime(1000, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)
"""Every database stores times from the first of these on; every time zone can display times before the second."""


class NoTimeZone(ValueError):
    """The time has no time zone."""


class OutOfRange(ValueError):
    """Databases do not store this time, or time zones ahead of UTC cannot display it (the last day of 9999)."""


def storable(value: datetime) -> datetime:
    """`value` in UTC. Raises `NoTimeZone` or `OutOfRange`, which callers translate for their users."""
    if timezone.is_naive(value):
        raise NoTimeZone
    try:
        moment = value.astimezone(UTC)
    except OverflowError as error:
        raise OutOfRange from error
    if not EARLIEST <= moment < LATEST:
        raise OutOfRange
    return moment
