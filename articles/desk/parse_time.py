"""Safe parsing of times from requests."""

from __future__ import annotations

from datetime import datetime

from articles.exceptions import InvalidSchedule
from articles.publishing import checked_time
from scheduling.services import rounded_up


def instant(text: str) -> datetime | None:
    """The time with an offset in `text`, in UTC; None if it is not one that an article may have."""
    try:
        return checked_time(rounded_up(datetime.fromisoformat(text), text))
    except (ValueError, InvalidSchedule):
        return None
