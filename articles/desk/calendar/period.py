"""Months, weeks and days in the user's time zone, divided into slots."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import Enum
from itertools import pairwise

from django.db.models import TextChoices
from django.utils import formats, timezone
from django.utils.translation import gettext_lazy as _

DAY = timedelta(days=1)
EARLIEST, LATEST = date(1900, 1, 1), date(9000, 12, 31)
"""Range of the calendar: all zones and neighbouring periods stay within Python's dates."""


class View(TextChoices):
    """Month, week or day."""

    MONTH = "month", _("Month")
    WEEK = "week", _("Week")
    DAY = "day", _("Day")


class Peculiarity(Enum):
    """Clock changes within an hour (daylight saving time)."""

    NONE = ""
    SKIPPED = "skipped"
    TWICE = "twice"


@dataclass(frozen=True)
class TimeSpan:
    """A day or hour in wall time; `start` and `end` are instants in UTC."""

    start: datetime
    end: datetime
    day: date
    hour: int | None = None

    @property
    def peculiarity(self) -> Peculiarity:
        """Whether the clocks skip or repeat this hour."""
        length = self.end - self.start
        if self.hour is None or length == timedelta(hours=1):
            return Peculiarity.NONE
        return Peculiarity.TWICE if length > timedelta(hours=1) else Peculiarity.SKIPPED


@dataclass(frozen=True)
class Period:
    """The days of one page, `first` to `last` inclusive, around `day`."""

    view: View
    day: date
    first: date
    last: date

    @classmethod
    def around(cls, day: date, view: View) -> Period:
        """The month (in whole weeks), week or day that contains `day`."""
        if view is View.DAY:
            return cls(view, day, day, day)
        if view is View.WEEK:
            first = _start_of_week(day)
            return cls(view, day, first, first + 6 * DAY)
        last_of_month = _month_after(day) - DAY
        return cls(view, day, _start_of_week(day.replace(day=1)), _start_of_week(last_of_month) + 6 * DAY)

    @property
    def previous(self) -> date:
        """A day of the previous period."""
        return (self.day.replace(day=1) if self.view is View.MONTH else self.first) - DAY

    @property
    def next(self) -> date:
        """A day of the next period."""
        return _month_after(self.day) if self.view is View.MONTH else self.last + DAY

    @property
    def days(self) -> list[date]:
        """All days shown."""
        return [self.first + number * DAY for number in range((self.last - self.first).days + 1)]

    def is_beside(self, day: date) -> bool:
        """Whether a day belongs to a neighbouring month."""
        return self.view is View.MONTH and day.month != self.day.month

    def spans(self) -> list[TimeSpan]:
        """The slots, contiguous: days of a month, hours of a week or day."""
        walls = [*self._walls(), (self.last + DAY, None)]
        instants = [_instant(day, hour or 0) for day, hour in walls]
        return [TimeSpan(start, end, *wall) for (start, end), wall in zip(pairwise(instants), walls, strict=False)]

    def _walls(self) -> Iterator[tuple[date, int | None]]:
        hours = [None] if self.view is View.MONTH else range(24)
        return ((day, hour) for day in self.days for hour in hours)


def first_weekday() -> int:
    """First weekday of the user's locale; 0 is Monday."""
    return (int(formats.get_format("FIRST_DAY_OF_WEEK")) - 1) % 7  # Django counts from Sunday


def _start_of_week(day: date) -> date:
    return day - (day.weekday() - first_weekday()) % 7 * DAY


def _month_after(day: date) -> date:
    return (day.replace(day=1) + 31 * DAY).replace(day=1)


def _instant(day: date, hour: int) -> datetime:
    """Start of the hour; a skipped hour starts and ends at the clock change."""
    return datetime.combine(day, time(hour), timezone.get_current_timezone()).astimezone(UTC)
