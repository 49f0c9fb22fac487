"""Convert wall times to instants, and format instants with their time zone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache

from django.utils import formats, timezone
from django.utils.translation import get_language, gettext as _

_LAST = datetime.max.replace(microsecond=0, tzinfo=UTC)


@dataclass
class NonexistentTime(Exception):
    """The wall time is skipped when clocks go forward; `moved` is the time they show instead."""

    moved: datetime


@dataclass
class AmbiguousTime(Exception):
    """The wall time happens twice because clocks go back."""

    first: datetime
    second: datetime


def resolve(wall: datetime, zone: tzinfo, *, second: bool | None = None) -> datetime:
    """The instant, in UTC, of the naive time `wall` in `zone`.

    `second` chooses the occurrence of an ambiguous time. Raises `NonexistentTime`, `AmbiguousTime`, and `OverflowError`
    at the ends of the calendar.
    """
    early, late = wall.replace(tzinfo=zone, fold=0), wall.replace(tzinfo=zone, fold=1)
    if early.utcoffset() != late.utcoffset():
        if not _exists(early):
            raise NonexistentTime(early.astimezone(UTC).astimezone(zone))
        if second is None:
            raise AmbiguousTime(early, late)
    return (late if second else early).astimezone(UTC)


def happens_twice(wall: datetime, zone: tzinfo) -> AmbiguousTime | None:
    """Both instants of an ambiguous `wall`; None if it is not ambiguous."""
    try:
        resolve(wall, zone)
    except AmbiguousTime as both:
        return both
    except (NonexistentTime, OverflowError):
        return None
    return None


def local_time(moment: datetime) -> datetime:
    """`moment` in the current time zone, or in UTC on the first or last day of all: some store that as "never"."""
    try:
        return timezone.localtime(moment)
    except OverflowError:
        return moment.astimezone(UTC)


def whole_second(moment: datetime) -> datetime:
    """`moment` for formats without fractions: rounded up, because readers do not have an article before it is live."""
    whole = moment.replace(microsecond=0)
    return whole if whole in (moment, _LAST) else whole + timedelta(seconds=1)


def offset_name(moment: datetime) -> str:
    """An aware time's UTC offset, such as "UTC+5:30"."""
    offset = moment.utcoffset() or timedelta()
    minutes = round(abs(offset).total_seconds() / 60)
    if not minutes:
        return "UTC"
    sign = "−" if offset < timedelta() else "+"
    return f"UTC{sign}{minutes // 60}" + (f":{minutes % 60:02}" if minutes % 60 else "")


def zone_label(moment: datetime | None = None) -> str:
    """The current time zone with its offset at `moment` (default: now), such as "Europe/Berlin (UTC+1)"."""
    local = local_time(moment or timezone.now())
    offset = offset_name(local)
    return offset if str(local.tzinfo) == "UTC" else f"{local.tzinfo} ({offset})"


def format_time(moment: datetime) -> str:
    """Date, time and UTC offset in the current time zone, for readers."""
    local = local_time(moment)
    return _on(_date(local), f"{local:%H:%M} {offset_name(local)}")


def format_time_exactly(moment: datetime) -> str:
    """Date, time with seconds and time zone, for editors."""
    local = local_time(moment)
    return _on(_date(local), f"{local:%H:%M:%S} {zone_label(moment)}")


def format_time_briefly(moment: datetime) -> str:
    """Time with seconds and UTC offset, with the date unless it is today, for lists."""
    local = local_time(moment)
    time = f"{local:%H:%M:%S} {offset_name(local)}"
    if local.date() == timezone.localdate():
        return time
    # Translators: a day such as 21 Nov, as a format string of Django's date filter
    day = formats.date_format(local, _("j M")) if local.year == timezone.localdate().year else _date(local)
    return _on(day, time)


def wall_clock(local: datetime) -> str:
    """The time of day of a local time; with its seconds if it has any, because what is confirmed is what is stored."""
    return f"{local:%H:%M:%S}" if local.second else f"{local:%H:%M}"


def _date(local: datetime) -> str:
    return _day(local.date(), get_language())


@lru_cache(maxsize=500)  # formatting takes longer than all else in a time
def _day(day: date, _language: str | None) -> str:
    # Translators: a date such as 21 Nov 2026, as a format string of Django's date filter
    return formats.date_format(day, _("j M Y"))


def _on(day: str, time: str) -> str:
    # Translators: a formatted date and a formatted time
    return _("%(day)s, %(time)s") % {"day": day, "time": time}


def _exists(moment: datetime) -> bool:
    there_and_back = moment.astimezone(UTC).astimezone(moment.tzinfo)
    return there_and_back.replace(tzinfo=None) == moment.replace(tzinfo=None)
