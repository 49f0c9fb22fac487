"""The sheet of slots that holds the entries; a slot shows the first ones and counts the others."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import gcd
from operator import itemgetter
from typing import Any

from django.db.models import Count, Func, IntegerField, QuerySet, Window
from django.db.models.functions import RowNumber

from articles.desk.calendar.collector import Collector, Row
from articles.desk.calendar.entries import CalendarEntry, Mark
from articles.desk.calendar.parameters import Choice
from articles.desk.calendar.period import TimeSpan, View
from articles.publishing import Actor
from scheduling.database import among

ENTRIES_PER_SLOT = {View.MONTH: 5, View.WEEK: 3, View.DAY: 12}
"""Entries shown in a slot (a day of a month, otherwise an hour) before it folds."""
NEAR = 50
"""Entries shown in the present hour and the next one, which matter most."""
OPEN = 500
"""Entries shown in an unfolded hour."""

HOUR = timedelta(hours=1)


@dataclass
class Slot:
    """A span with its entries."""

    span: TimeSpan
    limit: int
    entries: list[CalendarEntry] = field(default_factory=list)
    total: int = 0

    @property
    def hidden(self) -> int:
        """Number of entries not shown."""
        return self.total - len(self.entries)


class UnitOf(Func):
    """Number of the unit of time, of `length` from `start` on, in which a time is; both are whole seconds."""

    output_field = IntegerField()

    def __init__(self, time: str, *, start: datetime, length: timedelta) -> None:
        super().__init__(time, begin=int(start.timestamp()), length=int(length.total_seconds()))

    def as_mysql(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        """The SQL for MariaDB and MySQL, which count seconds from 719,528 days before 1970."""
        template = "(TO_SECONDS(%(expressions)s) - 719528 * 86400 - %(begin)s) DIV %(length)s"
        return self.as_sql(compiler, connection, template=template, **extra)

    def as_sqlite(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        """The SQL for SQLite, which would round microseconds."""
        template = "(CAST(STRFTIME('%%%%s', SUBSTR(%(expressions)s, 1, 19)) AS INTEGER) - %(begin)s) / %(length)s"
        return self.as_sql(compiler, connection, template=template, **extra)


class Sheet(Collector):
    """The slots of a period."""

    def __init__(self, choice: Choice, *, by: Actor, now: datetime) -> None:
        super().__init__(choice, by=by, now=now)
        self.slots = [Slot(span, self._limit(span)) for span in choice.period.spans()]
        self._start = self.slots[0].span.start
        self._ends = [slot.span.end for slot in self.slots]
        self._unit = timedelta(seconds=gcd(*(int((end - self._start).total_seconds()) for end in self._ends)))

    @property
    def entries(self) -> list[CalendarEntry]:
        """All shown entries."""
        return [entry for slot in self.slots for entry in slot.entries]

    def put(self, rows: QuerySet[Row], time: str, entry: Callable[[Row, Collector], CalendarEntry]) -> None:
        """Add the first entries of each slot: one query for their keys and the counts, one for the rows shown."""
        shown = self._first_of_each_slot(rows, time)
        for row in rows.filter(pk__in=among(shown)) if shown else ():
            shown[row.pk].entries.append(entry(row, self))

    @property
    def period(self) -> tuple[datetime, datetime]:
        """All slots."""
        return self._start, self._ends[-1]

    def add(self, entry: CalendarEntry) -> None:
        """Count it, and show it until `fold`."""
        slot = self.slots[bisect_right(self._ends, entry.at)]
        slot.total += 1
        slot.entries.append(entry)

    def fold(self) -> None:
        """Reduce each slot to its first entries, overdue ones first and past ones last; call after all sources."""
        for slot in self.slots:
            slot.entries.sort(key=lambda entry: (entry.is_over, *_place(entry)))
            slot.entries = sorted(slot.entries[: slot.limit], key=_place)

    def _first_of_each_slot(self, rows: QuerySet[Row], time: str) -> dict[int, Slot]:
        """Keys of the rows shown, by slot; the others are counted."""
        shown: dict[int, Slot] = {}
        taken: Counter[int] = Counter()
        for pk, unit, place, total in self._first_of_each_unit(rows, time):
            number = bisect_right(self._ends, self._start + unit * self._unit)
            slot = self.slots[number]
            slot.total += total if place == 1 else 0
            taken[number] += 1
            if taken[number] <= slot.limit:
                shown[pk] = slot
        return shown

    def _first_of_each_unit(self, rows: QuerySet[Row], time: str) -> Iterable[tuple[int, int, int, int]]:
        """Key, unit, place in the unit, and number of rows in the unit; in the order of time."""
        unit = UnitOf(time, start=self._start, length=self._unit)
        ranked = rows.filter(**{f"{time}__gte": self._start, f"{time}__lt": self._ends[-1]}).annotate(
            unit=unit,
            place=Window(RowNumber(), partition_by=unit, order_by=[time, "pk"]),
            in_unit=Window(Count("pk"), partition_by=unit),
        )
        first = ranked.filter(place__lte=max(slot.limit for slot in self.slots)).order_by()
        return sorted(first.values_list("pk", "unit", "place", "in_unit"), key=itemgetter(1, 2))

    def _limit(self, span: TimeSpan) -> int:
        is_open = span.hour is not None and span.hour == self.choice.open
        if is_open:
            return OPEN
        is_near = span.hour is not None and span.start < self.now + HOUR and self.now < span.end
        return NEAR if is_near else ENTRIES_PER_SLOT[self.choice.view]


def _place(entry: CalendarEntry) -> tuple[bool, datetime, int, str]:
    """Sort key: overdue ones, then time, then creation order (keys end with an ID, so longer ones are newer)."""
    return Mark.OVERDUE not in entry.marks, entry.at, len(entry.key), entry.key
