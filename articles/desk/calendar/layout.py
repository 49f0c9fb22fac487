"""The sheet as drawn by the templates: days, slots and headings."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time

from django.utils import formats, timezone
from django.utils.translation import gettext as _

from articles.desk.calendar.entries import CalendarEntry
from articles.desk.calendar.grid import Sheet, Slot
from articles.desk.calendar.period import DAY, Peculiarity, Period, View
from articles.text import zone_label


@dataclass(frozen=True)
class CalendarSlot:
    """A slot on the page, a drop target."""

    wall: str  #: its start as wall time, such as "2026-11-23" or "2026-11-23T14:00"
    hour: int | None
    earlier: list[CalendarEntry]  #: before the line of the present time
    later: list[CalendarEntry]
    has_now: bool
    peculiarity: str
    hidden: int
    more: str  #: URL that shows the hidden entries


@dataclass(frozen=True)
class DrawnDay:
    """A day on the page."""

    date: date
    name: str
    short: str  #: for a column
    is_today: bool
    is_past: bool
    is_beside: bool
    address: str  #: shows this day alone
    cells: list[CalendarSlot]

    @property
    def is_empty(self) -> bool:
        return not any(cell.earlier or cell.later for cell in self.cells)


def heading(period: Period) -> str:
    """The period in words."""
    if period.view is View.MONTH:
        # Translators: a month such as November 2026, in the letters of Django's date filter
        return formats.date_format(period.day, _("F Y"))
    if period.view is View.DAY:
        return formats.date_format(period.day, _("l, j F Y"))
    first, last = (formats.date_format(day, _("j M Y")) for day in (period.first, period.last))
    return f"{first} – {last}"


def zone(period: Period) -> str:
    """Name and UTC offset of the time zone on the requested day."""
    return zone_label(datetime.combine(period.day, time(12), timezone.get_current_timezone()))


def weekdays(period: Period) -> list[str]:
    """Column headings of a month."""
    return [formats.date_format(period.first + number * DAY, "D") for number in range(7)]


def days(sheet: Sheet) -> list[DrawnDay]:
    """All days of the sheet."""
    period, today = sheet.choice.period, timezone.localtime(sheet.now).date()
    by_day: dict[date, list[Slot]] = {day: [] for day in period.days}
    for slot in sheet.slots:
        by_day[slot.span.day].append(slot)
    return [
        DrawnDay(
            date=day,
            name=formats.date_format(day, _("l, j F Y")),
            short=formats.date_format(day, _("D j")) if period.view is View.WEEK else str(day.day),
            is_today=day == today,
            is_past=day < today,
            is_beside=period.is_beside(day),
            address=address,
            cells=[_cell(slot, sheet, address) for slot in slots],
        )
        for day, slots in by_day.items()
        for address in [sheet.choice.address(view=View.DAY, day=day)]
    ]


def _cell(slot: Slot, sheet: Sheet, address: str) -> CalendarSlot:
    span = slot.span
    has_now = span.hour is not None and span.start <= sheet.now < span.end
    wall = span.day.isoformat() if span.hour is None else f"{span.day}T{span.hour:02}:00"
    peculiarity = span.peculiarity
    return CalendarSlot(
        wall=wall,
        hour=span.hour,
        earlier=[entry for entry in slot.entries if has_now and entry.at <= sheet.now],
        later=[entry for entry in slot.entries if not has_now or entry.at > sheet.now],
        has_now=has_now,
        peculiarity=peculiarity.value if peculiarity is not Peculiarity.NONE else "",
        hidden=slot.hidden,
        more=_more(span.hour, address) if slot.hidden else "",
    )


def _more(hour: int | None, day: str) -> str:
    """Link to more: the day for a month's day, the unfolded hour for an hour; `day` is the address of the day."""
    return day if hour is None else f"{day}&open={hour}#h{hour}"
