"""The sheet of slots that holds the entries; a slot shows the first ones and counts the others."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import QuerySet

from articles.desk.calendar.collector import Collector, Row
from articles.desk.calendar.entries import Entry
from articles.desk.calendar.parameters import Choice
from articles.desk.calendar.period import Span, View
from articles.publishing import Actor

SHOWN = {View.MONTH: 5, View.WEEK: 3, View.DAY: 12}
"""Entries shown in a slot (a day of a month, otherwise an hour) before it folds."""
OPEN = 500
"""Entries shown in an unfolded hour."""


@dataclass
class Slot:
    """A span with its entries."""

    span: Span
    limit: int
    entries: list[Entry] = field(default_factory=list)
    total: int = 0

    @property
    def hidden(self) -> int:
        """Number of entries not shown."""
        return self.total - len(self.entries)


class Sheet(Collector):
    """The slots of a period."""

    def __init__(self, choice: Choice, *, by: Actor, now: datetime) -> None:
        super().__init__(choice, by=by, now=now)
        self.slots = [Slot(span, self._limit(span)) for span in choice.period.spans()]
        self._ends = [slot.span.end for slot in self.slots]

    @property
    def entries(self) -> list[Entry]:
        """All shown entries."""
        return [entry for slot in self.slots for entry in slot.entries]

    def put(self, rows: QuerySet[Row], time: str, entry: Callable[[Row, Collector], Entry]) -> None:
        """Add the first entries of each slot: one query for times, one for the rows shown."""
        shown = self._first_of_each_slot(rows, time)
        found = rows.in_bulk(list(shown)) if shown else {}
        for pk in found.keys() & shown.keys():
            shown[pk].entries.append(entry(found[pk], self))

    def fold(self) -> None:
        """Reduce each slot to its first entries, past ones last; call after all sources."""
        for slot in self.slots:
            slot.entries.sort(key=lambda entry: (entry.is_over, *_place(entry)))
            slot.entries = sorted(slot.entries[: slot.limit], key=_place)

    def _first_of_each_slot(self, rows: QuerySet[Row], time: str) -> dict[int, Slot]:
        """Keys of the rows shown, by slot; the others are counted."""
        inside = {f"{time}__gte": self.slots[0].span.start, f"{time}__lt": self._ends[-1]}
        shown: dict[int, Slot] = {}
        counts: Counter[int] = Counter()
        for pk, moment in rows.filter(**inside).order_by(time, "pk").values_list("pk", time):
            number = bisect_right(self._ends, moment)
            counts[number] += 1
            if counts[number] <= self.slots[number].limit:
                shown[pk] = self.slots[number]
        for number, count in counts.items():
            self.slots[number].total += count
        return shown

    def _limit(self, span: Span) -> int:
        is_open = span.hour is not None and span.hour == self.choice.open
        return OPEN if is_open else SHOWN[self.choice.view]


def _place(entry: Entry) -> tuple[datetime, int, str]:
    """Sort key: time, then creation order (keys end with an ID, so longer ones are newer)."""
    return entry.at, len(entry.key), entry.key
