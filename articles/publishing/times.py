"""The times of an article, and which can be stored."""

from __future__ import annotations

from datetime import datetime

from articles.exceptions import InvalidSchedule
from scheduling.database import NoTimeZone, OutOfRange, storable
from scheduling.exceptions import NaiveTime, TimeOutOfRange

TIMES = frozenset({"publish_at", "unpublish_at", "embargo_until"})


def checked_time(value: datetime) -> datetime:
    """`value` in UTC. Raises `InvalidSchedule`."""
    try:
        return storable(value)
    except NoTimeZone as error:
        raise InvalidSchedule(NaiveTime.message) from error
    except OutOfRange as error:
        raise InvalidSchedule(TimeOutOfRange.message) from error
