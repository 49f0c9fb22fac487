"""Chart and table of publishing delays in the last 24 hours. Computed at most once a minute."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.cache import cache
from django.utils import timezone
from django.utils.translation import gettext as _, ngettext

from articles.task_types import OF_ARTICLES, RELEASE
from scheduling.services import LateHours, Lateness, lateness_by_hour

HOURS = 24
CHART_TTL = 60  # seconds for which a chart is cached
WIDTH, HEIGHT = 720, 160  # of the plot area, in drawing units
FIRST, LAST = 1.0, 100_000.0  # milliseconds at the foot and at the top; the scale is logarithmic
_KEY = "articles.desk.lateness"
_TRANSITION, _BAR, _THICK = WIDTH / HOURS, 14, 4


@dataclass(frozen=True)
class HourColumn:
    """The tasks of an hour; heights are in drawing units from the top."""

    x: float
    name: str
    count: int
    figures: tuple[str, str, str]
    median: float
    percentile: float
    maximum: float
    width: int = _BAR

    @property
    def span(self) -> float:
        """Distance from median to 99th percentile."""
        return max(self.median - self.percentile, 0) + _THICK


@dataclass(frozen=True)
class Gridline:
    """A gridline."""

    y: float
    name: str


@dataclass(frozen=True)
class Chart:
    """The chart."""

    sentence: str
    columns: list[HourColumn]
    lines: list[Gridline]
    hours: list[tuple[float, str]]
    is_sample: bool


def chart(now: datetime) -> Chart:
    """The chart of the last 24 hours."""
    found: Any = cache.get_or_set(_KEY, lambda: lateness_by_hour(now, HOURS, (*OF_ARTICLES, RELEASE)), CHART_TTL)
    return Chart(_sentence(found.total), list(_columns(found)), _lines(), _hours(found), found.is_sample)


def format_duration(milliseconds: float | None) -> str:
    """A duration: "12 ms", "1.4 s", "3 min"."""
    if milliseconds is None:
        return "–"
    if milliseconds < 1000:
        return _("%d ms") % round(milliseconds)
    if milliseconds < 120_000:
        return _("%s s") % f"{milliseconds / 1000:.1f}".removesuffix(".0")
    return _("%d min") % round(milliseconds / 60_000)


def _sentence(total: Lateness) -> str:
    if not total.count:
        return _("Nothing was published in the last 24 hours.")
    p50, p99, latest = (format_duration(value) for value in (total.p50, total.p99, total.max))
    sentence = _("%(count)d published in the last 24 hours: median delay %(p50)s, p99 %(p99)s, maximum %(max)s.")
    figures = {"count": total.count, "p50": p50, "p99": p99, "max": latest}
    return " ".join([sentence % figures, *_unmeasured(total.unmeasured)])


def _unmeasured(count: int) -> Iterable[str]:
    if count:
        yield ngettext("The delay of %d was not measured.", "The delays of %d were not measured.", count) % count


def _columns(found: LateHours) -> Iterable[HourColumn]:
    for number, (begin, late) in enumerate(found.hours):
        if late.p50 is None or late.p99 is None or late.max is None:
            continue
        yield HourColumn(
            x=number * _TRANSITION + (_TRANSITION - _BAR) / 2,
            name=f"{timezone.localtime(begin):%H:%M}",
            count=late.count,
            figures=(format_duration(late.p50), format_duration(late.p99), format_duration(late.max)),
            median=_height(late.p50),
            percentile=_height(late.p99),
            maximum=_height(late.max),
        )


def _lines() -> list[Gridline]:
    return [Gridline(_height(value), format_duration(value)) for value in (1, 10, 100, 1000, 10_000, 100_000)]


def _hours(found: LateHours) -> list[tuple[float, str]]:
    """Every fourth hour is labelled."""
    return [
        (number * _TRANSITION + _TRANSITION / 2, f"{timezone.localtime(begin):%H:%M}")
        for number, (begin, _late) in enumerate(found.hours)
        if number % 4 == 3
    ]


def _height(milliseconds: float) -> float:
    inside = min(max(milliseconds, FIRST), LAST)
    return round(HEIGHT * (1 - math.log(inside / FIRST) / math.log(LAST / FIRST)), 1)
