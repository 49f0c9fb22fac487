"""Wall times and zones: which instant a clock on the wall means, and how to name the zone it hangs in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from django.utils import formats, timezone
from django.utils.translation import gettext as _


@dataclass
class NonexistentTime(Exception):
    """The clocks are put forward over this wall time; `moved` is where they stand then."""

    moved: datetime


@dataclass
class AmbiguousTime(Exception):
    """The clocks are put back, so this wall time happens twice."""

    first: datetime
    second: datetime


def resolve(wall: datetime, zone: tzinfo, *, second: bool | None = None) -> datetime:
    """The instant, in UTC, at which clocks in `zone` show the naive time `wall`.

    `second` chooses between the two when clocks show it twice. Raises `NonexistentTime`, `AmbiguousTime`, and
    `OverflowError` at the ends of the calendar.
    """
    early, late = (wall.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
    if early.utcoffset() != late.utcoffset():
        if not _exists(early):
            raise NonexistentTime(early.astimezone(UTC).astimezone(zone))
        if second is None:
            raise AmbiguousTime(early, late)
    return (late if second else early).astimezone(UTC)


def happens_twice(wall: datetime, zone: tzinfo) -> AmbiguousTime | None:
    """The two instants that `wall` may mean, or None if it means one or none."""
    try:
        resolve(wall, zone)
    except AmbiguousTime as both:
        return both
    except (NonexistentTime, OverflowError):
        return None
    return None


def offset_name(moment: datetime) -> str:
    """An aware time's distance from UTC, such as "UTC+5:30"."""
    offset = moment.utcoffset() or timedelta()
    minutes = round(abs(offset).total_seconds() / 60)
    if not minutes:
        return "UTC"
    sign = "−" if offset < timedelta() else "+"
    return f"UTC{sign}{minutes // 60}" + (f":{minutes % 60:02}" if minutes % 60 else "")


def zone_label(moment: datetime | None = None) -> str:
    """The current zone with its offset at `moment` (now if left out), such as "Europe/Berlin (UTC+1)"."""
    zone = timezone.get_current_timezone()
    offset = offset_name((moment or timezone.now()).astimezone(zone))
    return offset if str(zone) == "UTC" else f"{zone} ({offset})"


def spoken(moment: datetime) -> str:
    """Date, time and distance from UTC of an aware time in the current zone: short, for readers."""
    local = timezone.localtime(moment)
    return _on(_date(local), f"{local:%H:%M} {offset_name(local)}")


def spoken_exactly(moment: datetime) -> str:
    """Date, time to the second and the zone's name: for editors."""
    local = timezone.localtime(moment)
    return _on(_date(local), f"{local:%H:%M:%S} {zone_label(moment)}")


def spoken_briefly(moment: datetime) -> str:
    """Time to the second and distance from UTC, with the day unless that is today: where many times stand together."""
    local = timezone.localtime(moment)
    time = f"{local:%H:%M:%S} {offset_name(local)}"
    if local.date() == timezone.localdate():
        return time
    # Translators: a day such as 21 Nov, in the letters of Django's date filter
    day = formats.date_format(local, _("j M")) if local.year == timezone.localdate().year else _date(local)
    return _on(day, time)


def _date(local: datetime) -> str:
    # Translators: a date such as 21 Nov 2026, in the letters of Django's date filter
    return formats.date_format(local, _("j M Y"))


def _on(day: str, time: str) -> str:
    # Translators: a date and a time of day, both made already
    return _("%(day)s, %(time)s") % {"day": day, "time": time}


def _exists(moment: datetime) -> bool:
    there_and_back = moment.astimezone(UTC).astimezone(moment.tzinfo)
    return there_and_back.replace(tzinfo=None) == moment.replace(tzinfo=None)
