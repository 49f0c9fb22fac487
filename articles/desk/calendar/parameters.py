"""Query parameters of the calendar: `?view=week&date=2026-11-23&channel=2&author=me`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any
from urllib.parse import urlencode

from django.db.models import Q

from articles.desk.calendar.period import EARLIEST, LATEST, Period, View
from articles.publishing import Actor

ME = "me"
"""Author value for the current user."""


@dataclass(frozen=True)
class Choice:
    """Period and filters."""

    view: View
    day: date
    channel: str = ""
    author: str = ""
    open: int | None = None  #: the hour of a day that is shown in full

    @classmethod
    def of(cls, query: Mapping[str, str], today: date) -> Choice:
        """Parse a query; missing or invalid values mean this month and all articles."""
        view = query.get("view", "")
        hour = query.get("open", "")
        return cls(
            view=View(view) if view in View.values else View.MONTH,
            day=read_date(query.get("date", "")) or today,
            channel=_number(query.get("channel", "")),
            author=ME if query.get("author") == ME else _number(query.get("author", "")),
            open=int(hour) if _number(hour) and int(hour) < 24 else None,
        )

    @property
    def period(self) -> Period:
        """The days shown."""
        return Period.around(self.day, self.view)

    def address(self, **changes: Any) -> str:
        """The query with some changes."""
        other = replace(self, **{"open": None, **changes})
        return _query({"date" if name == "day" else name: value for name, value in vars(other).items()})

    def filters(self) -> str:
        """The query of the filters only."""
        return _query({"channel": self.channel, "author": self.author})

    def articles(self, by: Actor, prefix: str = "") -> Q:
        """A Q object for the filtered articles; `prefix` is the path from another model."""
        wanted = Q()
        if self.channel:
            wanted &= Q(**{f"{prefix}channel": self.channel})
        if self.author:
            wanted &= Q(**{f"{prefix}author": by.pk if self.author == ME else self.author})
        return wanted


def read_date(text: str) -> date | None:
    """A date such as 2026-11-23 within the range of the calendar, or None."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if EARLIEST <= day <= LATEST else None


def _query(values: Mapping[str, Any]) -> str:
    said = {name: value for name, value in values.items() if value not in ("", None)}
    return "?" + urlencode(said) if said else ""


def _number(text: str) -> str:
    return text if text.isascii() and text.isdecimal() and len(text) < 19 else ""
