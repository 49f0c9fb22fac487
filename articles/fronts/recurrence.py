"""Rules of recurring versions of fronts: a wall time on days of the week, in a time zone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from typing import Any
from zoneinfo import ZoneInfo

from django.db import models
from django.utils import formats
from django.utils.dates import WEEKDAYS
from django.utils.translation import gettext, gettext_lazy as _

from articles.exceptions import DoubleTime, MissingTime
from articles.models import WEEK, FrontSeries
from articles.text import AmbiguousTime, NonexistentTime, resolve
from scheduling.database import LATEST

YEARS_AHEAD = 10
"""For so many years occurrences are stored: time zones are not known for longer. A worker adds a year in time."""

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
"""The days of the week, for programs."""

_DAY = timedelta(days=1)
_EVERY_DAY, _WEEKDAYS = tuple(range(7)), tuple(range(5))


class IfMissing(models.TextChoices):
    """What becomes of an occurrence whose wall time is skipped because clocks go forward."""

    SKIP = "skip", _("Leave it out")
    LATER = "later", _("At the time that clocks show then")


class IfTwice(models.TextChoices):
    """Which of two times an occurrence has because clocks go back."""

    FIRST = "first", _("The first one")
    SECOND = "second", _("The second one")


@dataclass(frozen=True)
class Recurrence:
    """When a version recurs. Days count from Monday, which is 0."""

    days: tuple[int, ...]
    wall: time
    zone: str
    starts: date
    until: date | None = None
    skipped: frozenset[date] = frozenset()
    if_missing: str = ""
    if_twice: str = ""

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Recurrence:
        """As it was stored."""
        return cls(
            days=tuple(DAYS.index(day) for day in stored["days"]),
            wall=time.fromisoformat(stored["time"]),
            zone=stored["zone"],
            starts=date.fromisoformat(stored["starts"]),
            until=date.fromisoformat(stored["until"]) if stored["until"] else None,
            skipped=frozenset(map(date.fromisoformat, stored["skipped"])),
            if_missing=stored["if_missing"],
            if_twice=stored["if_twice"],
        )

    def as_json(self) -> dict[str, Any]:
        """To be stored."""
        return {
            "days": [DAYS[day] for day in self.days],
            "time": self.wall.isoformat("auto" if self.wall.second or self.wall.microsecond else "minutes"),
            "zone": self.zone,
            "starts": self.starts.isoformat(),
            "until": self.until.isoformat() if self.until else None,
            "skipped": sorted(day.isoformat() for day in self.skipped),
            "if_missing": self.if_missing,
            "if_twice": self.if_twice,
        }

    def __str__(self) -> str:
        words = {"days": self._named_days(), "time": self.as_json()["time"], "zone": self.zone}
        when = gettext("%(days)s at %(time)s (%(zone)s)") % words
        if self.until is None:
            return when
        return gettext("%(when)s until %(day)s") % {"when": when, "day": _written(self.until)}

    def _named_days(self) -> str:
        if self.days in (_EVERY_DAY, _WEEKDAYS):
            return gettext("Every day") if self.days == _EVERY_DAY else gettext("Every weekday")
        return gettext(", ").join(str(WEEKDAYS[day]) for day in self.days)

    def instant_on(self, day: date) -> datetime | None:
        """The occurrence on a day of the rule; None if its wall time is left out.

        Raises `MissingTime` and `DoubleTime` if the rule does not say what is meant; `OverflowError` at the last day.
        """
        wall = datetime.combine(day, self.wall)
        words = {"time": f"{wall:%Y-%m-%d %H:%M}", "zone": self.zone}
        try:
            return resolve(wall, ZoneInfo(self.zone), second=self.if_twice == IfTwice.SECOND if self.if_twice else None)
        except NonexistentTime as gap:
            if self.if_missing:
                return gap.moved.astimezone(UTC) if self.if_missing == IfMissing.LATER else None
            text = gettext("%(time)s does not exist in %(zone)s: clocks go forward then. Choose what happens.")
            raise MissingTime(text % words) from gap
        except AmbiguousTime as both:
            text = gettext("%(time)s occurs twice in %(zone)s: clocks go back then. Choose one.")
            raise DoubleTime(text % words) from both

    def occurrences(self, after: datetime, *, before: datetime | None = None) -> Iterator[tuple[date, datetime]]:
        """The days and instants after `after`, in order, `YEARS_AHEAD` at most. Raises as `instant_on` does."""
        zone = ZoneInfo(self.zone)
        day = max(self.starts, (after.astimezone(zone) - _DAY).date())
        end = min(self.until or date.max, _years_after(day), *([(before + _DAY).date()] if before else []))
        while day <= end:
            if day.weekday() in self.days and day not in self.skipped:
                try:
                    at = self.instant_on(day)
                except OverflowError:
                    return
                if at is not None and at > after and at < LATEST and (before is None or at <= before):
                    yield day, at
            if day == date.max:
                return
            day += _DAY

    def shown(self, after: datetime, *, most: int) -> list[tuple[date, datetime, bool]]:
        """The first days and instants after `after`, and whether each is skipped."""
        plain = replace(self, skipped=frozenset())
        return [(day, at, day in self.skipped) for day, at in islice(plain.occurrences(after), most)]

    def skip(self, day: date) -> Recurrence:
        """The rule without its occurrence on a day."""
        return replace(self, skipped=self.skipped | {day})

    def unskip(self, day: date) -> Recurrence:
        """The rule with it again."""
        return replace(self, skipped=self.skipped - {day})


def _years_after(day: date) -> date:
    return date.max if day.year + YEARS_AHEAD > date.max.year else day + timedelta(days=366 * YEARS_AHEAD)


def _written(day: date) -> str:
    # Translators: a date such as 21 Nov 2026, as a format string of Django's date filter
    return formats.date_format(day, gettext("j M Y"))


def series_of(instants: Iterable[datetime]) -> list[tuple[datetime, datetime]]:
    """The first and the last of each series of instants that are a week apart; `instants` are in order."""
    done: list[tuple[datetime, datetime]] = []
    open_ones: dict[timedelta, tuple[datetime, datetime]] = {}
    for at in instants:
        key = (at - _MONDAY) % WEEK
        first, last = open_ones.get(key, (at, at))
        if first != at and at - last != WEEK:
            done.append((first, last))
            first = at
        open_ones[key] = first, at
    return sorted([*done, *open_ones.values()])


_MONDAY = datetime(1970, 1, 5, tzinfo=UTC)


def as_rows(version: Any, instants: Iterable[datetime]) -> list[FrontSeries]:
    """The rows of a version's occurrences."""
    return [
        FrontSeries(front_id=version.front_id, version=version, first=first, last=last)
        for first, last in series_of(instants)
    ]
