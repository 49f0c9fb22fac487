"""Threads whose steps a test chooses: each runs one operation on a connection of its own, from stop to stop.

An actor stops after every statement, at every call of the queue and where it would sleep. Only one runs at a time, and
time stands still unless the test moves it, so the same choices always give the same history. A statement that would
wait for a row lock fails at once; its actor is blocked, and repeats the statement when it is resumed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from queue import SimpleQueue
from typing import Any

import pytest
from django.db import OperationalError, connection, connections
from django.db.backends.signals import connection_created

from scheduling.database import server_clock as clock, transactions
from scheduling.queues import fallback, redis
from scheduling.services import circuit_breaker, hints, running
from tests.harness import PATIENCE

_START = datetime(2025, 1, 1, tzinfo=UTC)
_LOCK_WAIT_TIMEOUT = 1205
_NO_STOPS = ("SAVEPOINT", "RELEASE", "ROLLBACK", "SET", "SELECT UTC_TIMESTAMP", "SELECT VERSION")
_ENDS = ("end", "crash")
_IMPATIENT = b"SET innodb_lock_wait_timeout = 0"


class Crash(BaseException):
    """Ends an actor as SIGKILL ends a process: what it has not committed is lost, and nothing is cleaned up."""


class ManualTime:
    """The time of the database and of all processes; stands in for the module `time`."""

    def __init__(self, *, skewed: bool = False) -> None:
        self.now = _START
        self._skewed = skewed

    def time(self) -> float:
        return self.now.timestamp() + self._skew()

    def monotonic(self) -> float:
        return (self.now - _START).total_seconds() + self._skew()

    def sleep(self, seconds: float) -> None:
        if actor := current_actor():
            actor.stop("sleeps")

    def move(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def _skew(self) -> float:
        actor = current_actor()
        return actor.skew if actor and self._skewed else 0.0


class Timeline:
    """Manual time for the database's sessions and the engine's modules. `skewed` is a worker's estimate of it."""

    def __init__(self) -> None:
        self._times = ManualTime(), ManualTime(skewed=True)

    @property
    def now(self) -> datetime:
        return self._times[0].now

    def move(self, seconds: float) -> None:
        for one in self._times:
            one.move(seconds)
        self.show()

    @contextmanager
    def in_force(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        """While the block lasts, there is no other time, and no connection of an actor waits for row locks."""
        true, skewed = self._times
        estimate = vars(clock.clock).copy()
        monkeypatch.setattr(clock, "time", skewed)
        for module in (circuit_breaker, fallback, hints, redis, running, transactions):
            monkeypatch.setattr(module, "time", true)
        connection_created.connect(self._connected)
        connection.close()
        try:
            yield
        finally:
            connection_created.disconnect(self._connected)
            connection.close()
            vars(clock.clock).update(estimate)  # or the next tests would begin in this time

    def show(self) -> None:
        """Show the time to this thread's session, without a statement that Django would count."""
        if connection.connection is not None:
            connection.connection.query(f"SET timestamp = {self.now.timestamp():.6f}25".encode())  # MariaDB truncates

    def _connected(self, **_: object) -> None:
        self.show()
        if current_actor():
            connection.connection.query(_IMPATIENT)


class Actor(threading.Thread):
    """Runs `operation` from stop to stop."""

    def __init__(self, name: str, timeline: Timeline, operation: Callable[[], Any], *, skew: float = 0.0) -> None:
        super().__init__(name=name, daemon=True)
        self.operation = operation
        self.skew = skew  #: seconds by which its estimate of the database's clock is wrong
        self.stands_at = "begin"
        self.is_blocked = False
        self.is_impatient = False  #: its lock wait ends with an error, as after `innodb_lock_wait_timeout`
        self.is_done = False
        self.has_crashed = False
        self.holds: set[int] = set()  #: tasks that it has popped or leased
        self.result: Any = None
        self.error: Exception | None = None
        self._timeline = timeline
        self._orders: SimpleQueue[bool] = SimpleQueue()
        self._stops: SimpleQueue[str] = SimpleQueue()

    def advance(self) -> None:
        """Let it run to its next stop, or to its end."""
        self._order(live=True)

    def kill(self) -> None:
        """End it where it stands."""
        if self.is_alive():
            self._order(live=False)
        else:
            self.is_done = self.has_crashed = True

    def _order(self, *, live: bool) -> None:
        assert not self.is_done
        if self.is_alive():
            self._orders.put(live)
        else:
            self.start()
        self.stands_at = self._stops.get(timeout=PATIENCE)
        if self.stands_at in _ENDS:
            self.join(PATIENCE)

    def run(self) -> None:
        try:
            with connection.execute_wrapper(self._statement):
                self.result = self.operation()
        except Crash:
            pass
        except Exception as error:
            self.error = error
        finally:
            connections.close_all()
            self.is_done = True
            self._stops.put(_ENDS[self.has_crashed])

    def stop(self, where: str) -> None:
        """Called by the actor itself: wait until it is resumed or ends."""
        if self.has_crashed:
            raise Crash
        self._stops.put(where)
        if not self._orders.get():
            self.die()
        self._timeline.show()

    def die(self) -> None:
        """Called by the actor itself: lose the connection, and so the open transaction. Raises `Crash`."""
        self.has_crashed = True
        if connection.connection is not None:
            connection.connection.query(b"ROLLBACK")  # as the server does when the connection is lost
        raise Crash

    def _statement(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:  # noqa: FBT001
        if self.has_crashed:
            raise Crash
        result = self._locking(lambda: execute(sql, params, many, context), sql)
        if not sql.lstrip().startswith(_NO_STOPS):
            self.stop(sql)
        return result

    def _locking(self, execute: Callable[[], Any], sql: str) -> Any:
        while True:
            try:
                with _skipping_locks() if "SKIP LOCKED" in sql else nullcontext():
                    return execute()
            except OperationalError as error:
                if error.args[0] != _LOCK_WAIT_TIMEOUT or connection.needs_rollback or self.is_impatient:
                    self.is_impatient = False
                    raise
            self.is_blocked = True
            self.stop(f"waits for a lock: {sql}")
            self.is_blocked = False


@contextmanager
def _skipping_locks() -> Iterator[None]:
    """MariaDB skips locked rows only if it might wait for them."""
    connection.ensure_connection()
    connection.connection.query(b"SET innodb_lock_wait_timeout = 1")
    try:
        yield
    finally:
        if connection.connection is not None:
            connection.connection.query(_IMPATIENT)


def current_actor() -> Actor | None:
    """The actor that calls, if it is one."""
    thread = threading.current_thread()
    return thread if isinstance(thread, Actor) else None
