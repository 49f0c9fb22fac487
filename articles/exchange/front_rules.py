"""The rule of a recurring version of a front in a file."""

from __future__ import annotations

import re
from datetime import date, time

from django.utils.translation import gettext as _

from articles.exchange import fields as read
from articles.exchange.records import Refused
from articles.fronts import DAYS, IfMissing, IfTwice, Recurrence
from articles.limits import MOST_SKIPPED, TIME_LENGTH

_CLOCK = re.compile(r"\d\d:\d\d(:\d\d)?", re.ASCII)
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


def rule_in(given: read.Fields) -> Recurrence | None:
    """The rule of a version; None if it does not recur. Nothing of it is guessed. Raises `Refused`."""
    rule = given.get("repeats")
    if not rule:
        return None
    if not isinstance(rule, dict):
        raise Refused("repeats", _("is not an object with days, time and zone"))
    if given.get("live_until"):
        raise Refused("live_until", _("stands beside a rule"))
    starts = _day(rule, "starts")
    if starts is None:
        raise Refused("starts", _("is missing"))
    return Recurrence(
        days=_days(rule),
        wall=_wall(rule),
        zone=read.needed(rule, "zone", TIME_LENGTH),
        starts=starts,
        until=_day(rule, "until"),
        skipped=_skipped(rule),
        if_missing=read.one_of(rule, "if_missing", ["", *IfMissing.values]),
        if_twice=read.one_of(rule, "if_twice", ["", *IfTwice.values]),
    )


def _days(rule: read.Fields) -> tuple[int, ...]:
    names = read.names(rule, "days", TIME_LENGTH)
    if not names:
        raise Refused("days", _("is missing"))
    return tuple(sorted(DAYS.index(read.one_of({"days": name}, "days", DAYS)) for name in names))


def _wall(rule: read.Fields) -> time:
    written = read.needed(rule, "time", TIME_LENGTH)
    try:
        found = time.fromisoformat(written) if _CLOCK.fullmatch(written) else None
    except ValueError:
        found = None
    if found is None:
        raise Refused("time", _("is not a time of day such as 06:00"))
    return found


def _day(rule: read.Fields, name: str) -> date | None:
    written = read.line(rule, name, TIME_LENGTH)
    if not written:
        return None
    try:
        found = date.fromisoformat(written) if _DAY.fullmatch(written) else None
    except ValueError:
        found = None
    if found is None:
        raise Refused(name, _("is not a day such as 2026-11-21"))
    return found


def _skipped(rule: read.Fields) -> frozenset[date]:
    """All of them or none: a day too few would show readers what was not to come."""
    names = read.names(rule, "skipped", TIME_LENGTH)
    if len(names) > MOST_SKIPPED:
        raise Refused("skipped", _("At most %(most)d days of a rule are skipped.") % {"most": MOST_SKIPPED})
    return frozenset(day for name in names if (day := _day({"skipped": name}, "skipped")))
