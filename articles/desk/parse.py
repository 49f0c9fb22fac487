"""Numbers and times in requests, which may be anything."""

from __future__ import annotations

from datetime import datetime

from articles.exceptions import InvalidSchedule
from articles.publishing import checked_time
from scheduling.services import rounded_up

_DIGITS = 18  # so many fit into 64 bits, whichever they are


def number_or_zero(text: object) -> int:
    """The number in `text`, or 0 if it is not a number or too large for a database."""
    digits = str(text)
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) <= _DIGITS else 0


def instant(text: str) -> datetime | None:
    """The time with an offset in `text`, in UTC; None if it is not one that an article may have."""
    try:
        return checked_time(rounded_up(datetime.fromisoformat(text), text))
    except (ValueError, InvalidSchedule):
        return None
