"""Parse times from outside, ISO 8601 and RFC 822 with common deviations. What is unclear is refused, never guessed."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import NamedTuple

from django.utils.timezone import get_default_timezone, now
from django.utils.translation import gettext as _

from articles.exchange.records import Refused
from articles.text import AmbiguousTime, NonexistentTime, resolve
from scheduling.database import EARLIEST, LATEST
from scheduling.services import rounded_up

ZONES = {
    "Z": 0, "UT": 0, "UTC": 0, "GMT": 0, "EDT": -4, "EST": -5, "CDT": -5, "CST": -6, "MDT": -6, "MST": -7, "PDT": -7,
    "PST": -8, "WET": 0, "WEST": 1, "CET": 1, "CEST": 2, "EET": 2, "EEST": 3, "MSK": 3, "HKT": 8, "SGT": 8, "JST": 9,
    "KST": 9, "AEST": 10, "AEDT": 11, "NZST": 12, "NZDT": 13,
}  # fmt: skip
"""Hours of the unambiguous names of time zones. RFC 822 defines the American ones; BST or IST have several meanings."""

_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_LARGEST_OFFSET = timedelta(hours=14)
_SMALLEST_OFFSET = timedelta(hours=-12)
_FIRST_CENTURY = 69
"""Two-digit years from here on are of the 20th century, as in POSIX."""

_ZERO = re.compile(r"\s*-?000[01]-?(?:00|01|11)-?\d\d|.*\s-?000[01],?\s+\d\d?:", re.DOTALL)
_COMMENT = re.compile(r"(?<!\s)\s*+\([^()]*+\)\s*+$")
_ZONE = re.compile(r"(?:(?<=\d)\s*+|(?<![\d\s])\s++)(?P<zone>(?:[A-Za-z]{1,5})?(?:[+-][\d:]+)?)$")
_OFFSET = re.compile(r"(?P<name>[A-Za-z]*)(?:(?P<sign>[+-])(?P<hours>\d{1,2})(?P<minutes>:?\d\d)?)?")
_CLOCK = r"(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?P<fraction>[.,]\d+)?)?"
_YEAR = r"(?P<year>\d{4}|\d\d)"
_MAIL = [
    re.compile(rf"(?:(?P<weekday>[A-Za-z]+)\.?,?\s*)?(?P<day>\d\d?)(?:\s+|-)(?P<month>[A-Za-z]+)(?:\s+|-){_YEAR},?\s+{_CLOCK}"),
    re.compile(rf"(?:(?P<weekday>[A-Za-z]+)\.?,?\s+)?(?P<month>[A-Za-z]+)\s+(?P<day>\d\d?),?\s+{_YEAR},?\s+{_CLOCK}"),
    re.compile(rf"(?P<weekday>[A-Za-z]+)\s+(?P<month>[A-Za-z]+)\s+(?P<day>\d\d?)\s+{_CLOCK}\s+(?P<year>\d{{4}})"),
]  # fmt: skip
_ISO = re.compile(
    r"(?P<date>\d{4}-?(?:\d\d-?\d\d|W\d\d-?\d))[Tt ]+(?P<clock>\d\d(?::?\d\d(?::?\d\d(?:[.,]\d+)?)?)?)\s*"
    r"(?P<zone>[Zz]|[A-Za-z]{2,5}|[+-]\d\d(?::?[0-5]\d(?::?[0-5]\d(?:\.\d+)?)?)?)?"
)
_BARE = re.compile(r"(?:^\d{4}-\d\d-\d\d|\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?)$")
_LAST_MINUTE = _LAST_SECOND = 59


class Parsed(NamedTuple):
    """An instant in UTC, and a note on what was converted, or ""."""

    moment: datetime
    note: str = ""


def parse_time(name: str, value: object, *, zone: tzinfo | None = None) -> Parsed:
    """The instant of a text. Raises `Refused`, which names the field `name`.

    `zone` is that of times without one, not of times with an unknown one.
    """
    text = str(value).strip()
    try:
        found = _from_iso(text) or _from_mail(text)
    except ValueError:
        found = None
    if found is None:
        message = _('"%(value)s" is not a time such as 2026-11-21T07:00:00+08:00')
        raise Refused(name, message % {"value": text[:40]})
    moment, note = found
    if moment.tzinfo is None and (zone is None or not _BARE.search(text)):
        message = _('"%(value)s" has no known time zone; add an offset such as +08:00 or Z')
        raise Refused(name, message % {"value": text[:60]})
    return Parsed(_in_range(name, moment if moment.tzinfo else moment.replace(tzinfo=zone), text), note)


def is_missing(value: object) -> bool:
    """Whether it stands for no time: empty, or the zero of a database such as 0000-00-00 or 30 Nov -0001."""
    return value is None or str(value).strip() == "" or _ZERO.match(str(value)) is not None


def clear_or_none(text: str) -> str | None:
    """ISO 8601 of a time that does not decide what readers see; None if it is missing or unclear."""
    try:
        return None if is_missing(text) else parse_time("", text).moment.isoformat()
    except Refused:
        return None


def in_our_zone(text: str) -> Parsed | None:
    """The instant of a wall time without a zone, in the newsroom's; None if it may be still to come anywhere."""
    zone = get_default_timezone()
    try:
        wall = datetime.fromisoformat(text.strip())
        if wall.tzinfo is not None or not EARLIEST <= wall.replace(tzinfo=UTC) < now() + _SMALLEST_OFFSET:
            return None
        moment = resolve(wall, zone, second=True)
    except NonexistentTime as gap:
        moment = gap.moved.astimezone(UTC)
    except (ValueError, OverflowError, AmbiguousTime):
        return None
    return Parsed(moment, _("its date has no UTC time; it is read in the time zone %(zone)s") % {"zone": zone})


def _from_iso(text: str) -> tuple[datetime, str] | None:
    found = _ISO.fullmatch(text)
    if found is None:
        return None if re.fullmatch(r"\d{4}-\d\d-\d\d", text) is None else (datetime.fromisoformat(text), "")
    date, clock, zone = found["date"], found["clock"], found["zone"] or ""
    clock, leaps = re.subn(r"^(\d\d:?\d\d:?)60", r"\g<1>59", clock)
    zone, is_named = zone.upper(), zone.upper() in ZONES
    if zone.isalpha() and not is_named:
        zone = ""
    moment = datetime.fromisoformat(f"{date}T{clock.replace(',', '.')}" + ("" if is_named else zone))
    if is_named:
        moment = moment.replace(tzinfo=timezone(timedelta(hours=ZONES[zone])))
    if not _SMALLEST_OFFSET <= (moment.utcoffset() or timedelta()) <= _LARGEST_OFFSET:
        return None
    return _leapt(rounded_up(moment, text), bool(leaps), _american(zone))


def _from_mail(text: str) -> tuple[datetime, str] | None:
    text = _COMMENT.sub("", text)
    zone = _ZONE.search(text)
    rest = text[: zone.start()] if zone and zone["zone"] else text
    for form in _MAIL:
        if found := form.fullmatch(rest):
            offset = _offset(zone["zone"]) if zone and zone["zone"] else None
            return _mail_time(found, offset)
        if found := form.fullmatch(text):
            return _mail_time(found, None)
    return None


def _mail_time(found: re.Match[str], offset: tuple[timezone | None, str] | None) -> tuple[datetime, str] | None:
    month, weekday = _index(_MONTHS, found["month"]), found["weekday"]
    if month is None or (weekday and _index(_WEEKDAYS, weekday) is None):
        return None
    year, notes = int(found["year"]), []
    if len(found["year"]) == 2:  # noqa: PLR2004 (digits)
        year += 1900 if year >= _FIRST_CENTURY else 2000
        notes.append(_("the year %(short)s is read as %(year)d") % {"short": found["year"], "year": year})
    zone, zone_note = offset or (None, "")
    second = int(found["second"] or 0)
    clock = int(found["hour"]), int(found["minute"]), second - (second == _LAST_SECOND + 1)
    fraction = (found["fraction"] or ".0").replace(",", ".")
    moment = datetime(year, month + 1, int(found["day"]), *clock, int(f"{fraction[1:]:0<6}"[:6]), tzinfo=zone)
    return _leapt(
        rounded_up(moment, fraction), second == _LAST_SECOND + 1, "; ".join(filter(None, [*notes, zone_note]))
    )


def _leapt(moment: datetime, is_leap: bool, note: str) -> tuple[datetime, str]:
    """A leap second is the first second after it, so that nothing is early."""
    if not is_leap:
        return moment, note
    leap = _("a leap second is read as the second after it")
    return (moment + timedelta(seconds=1)).replace(microsecond=0), "; ".join(filter(None, [note, leap]))


def _index(names: tuple[str, ...], word: str) -> int | None:
    """The place of a name that is written in full or with its first three letters."""
    word = {"sept": "sep", "tues": "tue", "thur": "thu", "thurs": "thu"}.get(word.lower(), word.lower())
    found = [place for place, name in enumerate(names) if word in (name, name[:3])]
    return found[0] if found else None


def _offset(text: str) -> tuple[timezone | None, str]:
    """The zone of a name, an offset or both, and a note. None stands for one that is unknown or unclear."""
    found = _OFFSET.fullmatch(text)
    if found is None or (found["name"] and found["name"].upper() not in ZONES):
        return None, ""
    name, hours = found["name"].upper(), found["hours"] or "0"
    minutes = int((found["minutes"] or "0").lstrip(":") or 0)
    if found["sign"] and (name not in ("", "GMT", "UTC", "UT") or minutes > _LAST_MINUTE or _is_unclear(found)):
        return None, ""
    distance = timedelta(hours=int(hours), minutes=minutes) * (-1 if found["sign"] == "-" else 1)
    distance += timedelta(hours=ZONES.get(name, 0))
    if not _SMALLEST_OFFSET <= distance <= _LARGEST_OFFSET:
        return None, ""
    return timezone(distance), _offset_note(text, name, found, distance)


def _is_unclear(found: re.Match[str]) -> bool:
    """Whether hours of one digit, as in +8 and +800, are neither behind a name, as in GMT+2, nor before a colon."""
    minutes = found["minutes"] or ""
    return len(found["hours"]) == 1 and ":" not in minutes and bool(minutes or not found["name"])


def _american(name: str) -> str:
    """The note on CST, which is Chinese time elsewhere."""
    return _("CST is read as −06:00, American time, as RFC 822 says") if name == "CST" else ""


def _offset_note(text: str, name: str, found: re.Match[str], distance: timedelta) -> str:
    """What is not the usual way of writing it."""
    if name == "CST":
        return _american(name)
    if found["sign"] and (name or not found["minutes"]):
        shown = f"{datetime(2000, 1, 1, tzinfo=timezone(distance)):%z}"
        return _("the offset %(text)s is read as %(offset)s") % {"text": text, "offset": f"{shown[:3]}:{shown[3:]}"}
    return ""


def _in_range(name: str, moment: datetime, text: str) -> datetime:
    try:
        in_utc = moment.astimezone(UTC)
    except OverflowError:
        in_utc = None
    if in_utc is None or not EARLIEST <= in_utc < LATEST:
        shown = {"value": text[:40], "first": EARLIEST.year, "last": LATEST.year}
        raise Refused(name, _('"%(value)s" lies outside the years %(first)d to %(last)d') % shown)
    return in_utc
