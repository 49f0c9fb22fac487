"""Everything the engine raises on purpose. The docstring of an error is its message."""

from __future__ import annotations


class SchedulingError(Exception):
    """The scheduling engine could not do what was asked."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message or self.__class__.__doc__ or "")


class InvalidTask(SchedulingError):
    """The task cannot be stored as given."""


class NaiveTime(InvalidTask):
    """The time has no time zone; give one with an offset, such as 2026-11-21T07:00:00+00:00."""


class TimeOutOfRange(InvalidTask):
    """The time lies outside the years 1000 to 9999 in UTC, which is all a database stores."""


class TaskNotPending(SchedulingError):
    """The task is not pending any more: it has run, failed or been cancelled."""


class LeaseLost(SchedulingError):
    """The lease token does not match: the lease ran out and the task was given on, or is closed."""


class QueueUnavailable(SchedulingError):
    """The queue server cannot be reached; tasks are safe in the database and run from there."""


class ImproperHandler(SchedulingError):
    """A handler is registered wrongly."""
