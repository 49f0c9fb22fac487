"""The database's clock in UTC, which decides what is due.

A machine's own clock may be wrong or be set at any moment, so SQL compares due times with `DatabaseNow`. Sleeps use
the process's monotonic clock, which `Clock` synchronises with the database's.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, Self

from django.db import connection
from django.db.models import BigIntegerField, DateTimeField, Func, Value
from django.db.models.expressions import Combinable
from django.dispatch import Signal

from scheduling.database.rewriting import rewriting

logger = logging.getLogger(__name__)

database_clock_set = Signal()
"""Sent by a worker soon after the database's clock was set: what it had computed from that clock may be wrong."""

_LEAST_STEP = 1.0  # seconds
_DRIFT = 1e-4  # of two undisturbed clocks against each other: a tenth of a millisecond a second
_MAX_DRIFT = 0.05  # seconds against the monotonic clock; more means that the clock was set, or the machine slept


TIME_PLACEHOLDER = "CAST(%s AS DATETIME(6))"
"""Of MariaDB and MySQL, which would compare texts where no column says what a parameter is."""


class DatabaseNow(Func):
    """The database server's current time in UTC, to the microsecond.

    Django's `Now()` follows the session's time zone on MySQL, which Django does not set. SQLite lives in this process
    and uses this process's clock; its own functions have no microseconds.
    """

    template = "UTC_TIMESTAMP(6)"
    output_field = DateTimeField()

    def as_sql(self, compiler: Any, connection: Any, *args: Any, **extra: Any) -> Any:
        """The server's clock or, in a block of `at_instant`, that instant as a parameter."""
        if (moment := _instant.get()) is None:
            return super().as_sql(compiler, connection, *args, **extra)
        return TIME_PLACEHOLDER, [InstantParameter.of(moment, connection)]

    def as_sqlite(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        """This process's clock as a parameter of the statement."""
        return compiler.compile(Value(present(), output_field=self.output_field))


class InstantParameter(str):
    """The instant of a block in a statement, which may be another one when that is executed again."""

    __slots__ = ()

    @classmethod
    def of(cls, moment: datetime, connection: Any) -> Self:
        """As the database takes it."""
        return cls(connection.ops.adapt_datetimefield_value(moment))


class EpochMicroseconds(Func):
    """A time as microseconds since 1970: an integer, which costs less to read than a datetime."""

    arity = 1
    output_field = BigIntegerField()

    def as_mysql(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        """Whatever the time zone of the session is."""
        template = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', %(expressions)s)"
        return self.as_sql(compiler, connection, template=template, **extra)

    def as_sqlite(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        """SQLite stores text, which has no fraction if that is zero."""
        whole = "CAST(STRFTIME('%%%%s', SUBSTR(%(expressions)s, 1, 19)) AS INTEGER) * 1000000"
        fraction = "CAST(SUBSTR(%(expressions)s || '.000000', 21, 6) AS INTEGER)"
        sql, parameters = self.as_sql(compiler, connection, template=f"({whole} + {fraction})", **extra)
        return sql, [*parameters, *parameters]  # the expression stands there twice


_instant: ContextVar[datetime | None] = ContextVar("instant", default=None)


def with_instant(parameters: Sequence[Any], connection: Any) -> Sequence[Any]:
    """The parameters of a compiled statement with the instant of this block; as they are outside of one."""
    if (moment := _instant.get()) is None:
        return parameters
    given = InstantParameter.of(moment, connection)
    return [given if isinstance(one, InstantParameter) else one for one in parameters]


@contextmanager
def at_instant(moment: datetime) -> Iterator[None]:
    """Let "now" be `moment` in every statement of this block. It is for reading: what is written would be dated so."""
    token = _instant.set(moment)
    try:
        with rewriting(_read_only):
            yield
    finally:
        _instant.reset(token)


def _read_only(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
    if not sql.lstrip("(").startswith(_READING):
        raise RuntimeError("Nothing is written at another instant.")
    return execute(sql, params, many, context)


_READING = ("SELECT", "WITH", "SAVEPOINT", "RELEASE", "ROLLBACK")


def is_at_instant() -> bool:
    """Whether "now" is the instant of a block, which is a parameter of its statements."""
    return _instant.get() is not None


def present() -> datetime:
    """The time of this process's clock or, in a block of `at_instant`, that instant."""
    return _instant.get() or datetime.now(UTC)


def database_now() -> Combinable:
    """The expression that stands for "now" in every query that decides what is due or live."""
    return DatabaseNow()


def read_database_clock() -> datetime:
    """Query the database's current time: an aware datetime in UTC."""
    if connection.vendor == "sqlite" or is_at_instant():
        return present()
    with connection.cursor() as cursor:
        # Not `NOW(6)`, which is in the session's time zone, and not `SYSDATE(6)`, which changes within a statement.
        cursor.execute("SELECT UTC_TIMESTAMP(6)")
        moment: datetime = cursor.fetchone()[0]
    return moment.replace(tzinfo=UTC)


def is_read_only() -> bool:
    """Whether the database is read-only, such as a replica after a failover."""
    if connection.vendor == "sqlite":
        return False
    with connection.cursor() as cursor:
        cursor.execute("SELECT @@read_only")
        (answer,) = cursor.fetchone()
    return answer not in (0, "0", "OFF")


class Clock:
    """An estimate of the database's clock: this process's monotonic clock plus a measured offset."""

    def __init__(self) -> None:
        self._ahead = self._wall_ahead = _wall_ahead()  # seconds by which the database's clock is ahead of monotonic
        self._thread = threading.local()  # when it measured: that shows that its connection is alive
        self._bounds = float("-inf"), float("inf")  # the narrowest that agree with the last measurements
        self._measured_at = time.monotonic()
        self._is_sent = True

    def measure(self) -> None:
        """Query the database's clock. The estimate may lag by a network round trip but is never ahead.

        If it were ahead, hints would be popped before the database finds their tasks due.
        """
        (least, most), (new_least, new_most) = self._drifted_bounds(), _measure()
        step = max(new_least - most, least - new_most)  # at least, however slow the network was
        # No drift explains the difference: the clock was set, and what was known of it is worthless.
        if step > 0:
            self._bounds = new_least, new_most
        # A slow measurement says less than those before it.
        else:
            self._bounds = max(least, new_least), min(most, new_most)
        # The least, so that the estimate never is ahead.
        self._ahead = self._bounds[0]
        self._measured_at = self._thread.measured_at = time.monotonic()
        self._wall_ahead = _wall_ahead()
        if step > _LEAST_STEP:
            logger.warning("the database's clock was set by %+.1f seconds", new_least - least)
            self._is_sent = False
        # Sent again with the next measurement if a receiver has failed.
        if not self._is_sent:
            answers = database_clock_set.send_robust(type(self))
            self._is_sent = not any(isinstance(answer, Exception) for _receiver, answer in answers)

    def _drifted_bounds(self) -> tuple[float, float]:
        """The bounds by now: the clocks may have drifted since they were measured."""
        drift = (time.monotonic() - self._measured_at) * _DRIFT
        return self._bounds[0] - drift, self._bounds[1] + drift

    def measure_if_stale(self, after: float) -> bool:
        """Measure if this thread did so over `after` seconds ago or the machine's clock was set; True if so."""
        is_fresh = time.monotonic() - getattr(self._thread, "measured_at", float("-inf")) < after
        if is_fresh and abs(_wall_ahead() - self._wall_ahead) < _MAX_DRIFT:
            return False
        self.measure()
        return True

    def sleep_until(self, timestamp: float) -> None:
        """Sleep until the estimated clock shows this Unix time."""
        time.sleep(max(timestamp - self.timestamp(), 0.0))

    @property
    def offset(self) -> float:
        """Seconds by which the database's clock is ahead of this machine's wall clock."""
        return self._ahead - _wall_ahead()

    def timestamp(self) -> float:
        """The estimated Unix time of the database's clock."""
        return time.monotonic() + self._ahead

    def now(self) -> datetime:
        """The same as an aware datetime."""
        return datetime.fromtimestamp(self.timestamp(), UTC)


def _measure() -> tuple[float, float]:
    """The least and the most seconds by which the database's clock may be ahead of the monotonic one."""
    least, most = float("-inf"), float("inf")
    # The narrowest of three: one slow round trip says little.
    for _ in range(3):
        began = time.monotonic()
        moment = read_database_clock().timestamp()
        least, most = max(least, moment - time.monotonic()), min(most, moment - began)
    return least, most


def _wall_ahead() -> float:
    return time.time() - time.monotonic()


clock = Clock()
