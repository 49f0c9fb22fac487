"""One clock for all: the database's, in UTC.

A worker's own clock may be wrong by seconds, so what is due is decided inside SQL by `DatabaseNow`; the worker's
clock only decides how long to sleep, corrected by the offset measured here.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

from django.db import connection
from django.db.models import DateTimeField, Func, Value
from django.db.models.expressions import Combinable

from scheduling.conf import conf


class DatabaseNow(Func):
    """The database server's present instant in UTC, to the microsecond.

    Django's `Now()` follows the session's time zone on MySQL, which Django does not set. SQLite lives in this process
    and has this process's clock; its own functions would cut off the microseconds.
    """

    template = "UTC_TIMESTAMP(6)"
    output_field = DateTimeField()

    def as_sqlite(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        """This process's clock as a parameter of the statement."""
        return compiler.compile(Value(datetime.now(UTC), output_field=self.output_field))


def database_now() -> Combinable:
    """The expression that stands for "now" in every query that decides what is due or live."""
    return DatabaseNow()


def read_database_clock() -> datetime:
    """Ask the database what time it is: an aware datetime in UTC."""
    if connection.vendor == "sqlite":
        return datetime.now(UTC)
    with connection.cursor() as cursor:
        cursor.execute("SELECT UTC_TIMESTAMP(6)")
        moment: datetime = cursor.fetchone()[0]
    return moment.replace(tzinfo=UTC)


def is_read_only() -> bool:
    """Whether the database says that it can only be read, such as a replica that a failover left us with."""
    if connection.vendor == "sqlite":
        return False
    with connection.cursor() as cursor:
        cursor.execute("SELECT @@read_only")
        (answer,) = cursor.fetchone()
    return answer not in (0, "0", "OFF")


class Clock:
    """This process's clock, corrected to the database's. `offset` is database minus process, in seconds."""

    def __init__(self) -> None:
        self.offset = 0.0
        self._measured_at = float("-inf")

    def measure(self) -> float:
        """Measure the offset now, from below: this clock may lag by a network's round trip but is never ahead.

        Being ahead would take hints before the database finds their tasks due.
        """
        self.offset = max(read_database_clock().timestamp() - time.time() for _ in range(3))
        self._measured_at = time.monotonic()
        return self.offset

    def measure_if_stale(self) -> bool:
        """Measure again when the last measurement is older than `CLOCK_INTERVAL`; True if it was."""
        if time.monotonic() - self._measured_at < conf.CLOCK_INTERVAL:
            return False
        self.measure()
        return True

    def timestamp(self) -> float:
        """Seconds since 1970 by the database's clock, as well as this process knows it."""
        return time.time() + self.offset

    def now(self) -> datetime:
        """The same as an aware datetime."""
        return datetime.fromtimestamp(self.timestamp(), UTC)


clock = Clock()
