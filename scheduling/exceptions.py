"""Exceptions of the engine; each has a `message` for users."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from scheduling.database import Trouble

if TYPE_CHECKING:
    from scheduling.services.refreshing import RefreshReport


class SchedulingError(Exception):
    """The engine could not do what was asked."""

    message: str | Promise = _("The scheduling engine could not do what was asked.")

    def __init__(self, message: str | Promise = "") -> None:
        super().__init__(message or self.message)


class InvalidTask(SchedulingError):
    """A value of the task is invalid."""

    message = _("The task cannot be stored as given.")


class NaiveTime(InvalidTask):
    """The time has no time zone."""

    message = _("The time has no time zone; give one with an offset, such as 2026-11-21T07:00:00+00:00.")


class TimeOutOfRange(InvalidTask):
    """Databases do not store this time, or time zones ahead of UTC cannot display it (the last day of 9999)."""

    message = _("The time lies outside the years 1000 to 9999 in UTC, which is all a database stores.")


class TaskNotPending(SchedulingError):
    """The task is closed and cannot be changed."""

    message = _("The task is not pending any more: it has run, failed or been cancelled.")


class LeaseLost(SchedulingError):
    """The program does not hold the lease of the task."""

    message = _("The lease token does not match: the lease expired and the task was leased again, or it is closed.")


class QueueUnavailable(SchedulingError):
    """The queue server cannot be reached."""

    trouble = Trouble.QUEUE
    message = _("The queue server cannot be reached; tasks are safe in the database and run from there.")


class QueueRefused(QueueUnavailable):
    """The queue server answers, but refuses the user or the password."""

    message = _("The queue server refuses the user or the password; tasks are safe in the database and run from there.")


class QueueFull(QueueUnavailable):
    """The queue server has reached its memory limit."""

    message = _("The queue server has reached its memory limit; tasks are safe in the database and run from there.")


class ReconcilersFailed(SchedulingError):
    """Some reconcilers raised; the rest of the pass is done, see `report`."""

    def __init__(self, names: Sequence[str], report: RefreshReport) -> None:
        self.report = report
        super().__init__(_("These reconcilers failed: %(names)s.") % {"names": ", ".join(names)})


class ImproperHandler(SchedulingError):
    """A handler cannot be registered like this."""

    message = _("A handler is registered wrongly.")
