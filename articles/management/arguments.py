"""Argument types of management commands."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from datetime import date, datetime

from django.utils import timezone
from django.utils.translation import gettext as _

from articles.text import AmbiguousTime, NonexistentTime, resolve
from scheduling.services import rounded_up

TERMINAL = "-"
"""The file name that stands for standard input or output."""


def moment(text: str) -> datetime:
    """An aware time from ISO 8601; without an offset it is in the time zone of the settings."""
    try:
        value = rounded_up(datetime.fromisoformat(text), text)
        return value if timezone.is_aware(value) else resolve(value, timezone.get_current_timezone())
    except (AmbiguousTime, NonexistentTime, OverflowError, ValueError) as error:
        raise _names_no_time(text) from error


def time_to_act(text: str) -> datetime:
    """The same for a time to act: a date alone is refused, because its midnight may be past."""
    try:
        date.fromisoformat(text)
    except ValueError:
        return moment(text)
    raise _names_no_time(text)


def whole_number(text: str) -> int:
    """A positive integer."""
    if not re.fullmatch(r"[1-9]\d{0,8}", text, re.ASCII):
        raise ArgumentTypeError(_("“%(text)s” is not a positive whole number.") % {"text": text})
    return int(text)


def _names_no_time(text: str) -> ArgumentTypeError:
    message = _("“%(text)s” does not name one time; write for example 2026-11-21T07:00+08:00.")
    return ArgumentTypeError(message % {"text": text})
