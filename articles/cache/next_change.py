"""The next instant at which the clock changes what readers see, when cached responses expire."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet, Subquery
from django.utils import timezone

from articles.cache.ttl import MAX_TTL
from articles.models import (
    MICROSECOND,
    Alert,
    Article,
    Front,
    FrontSeries,
    FrontSeriesQuerySet,
    Instant,
    Release,
    Update,
    has_readers,
    instant_of_microseconds,
    timed_rows,
)
from scheduling.database import compiled_once, database_now, read_database_clock


@dataclass(frozen=True)
class NextChange:
    """The database's `now`, and the next instant `at` which the clock changes what readers see."""

    now: datetime
    at: datetime
    read_at: float  #: an instant of `time.monotonic()` no later than `now`
    has_alert: bool = True  #: whether a breaking alert is shown at `now`
    is_due: bool = True  #: whether updates or releases are due that no worker has stored yet

    @property
    def expires_at(self) -> float:
        """The instant of the change or slightly before it, by `time.monotonic()`."""
        return self.read_at + (self.at - self.now).total_seconds()


def next_change() -> NextChange:
    """When the clock next changes what readers see anywhere on the site, at most `MAX_TTL` from now.

    One statement with one index lookup for each kind of change. It is the same for all responses, so a TTL does not
    reveal in which channel something is scheduled.
    """
    # Before the statement: the response ends too early by its duration, never too late.
    read_at = time.monotonic()
    rows = compiled_once(_firsts, Article) or compiled_once(_firsts, Front)
    present, alert, update, release, *moments = rows[0] if rows else (read_database_clock(), None, None, None)
    known = [_instant(moment) for moment in moments if moment is not None]
    until = min([*known, present + MAX_TTL, _midnight(present)])
    is_due = not (update is None and release is None)
    return NextChange(present, until, read_at, has_alert=is_due or alert is not None, is_due=is_due)


_change: ContextVar[NextChange | None] = ContextVar("change", default=None)


@contextmanager
def building_until(change: NextChange) -> Iterator[None]:
    """Let what is built in this block know what was read with the next change."""
    token = _change.set(change)
    try:
        yield
    finally:
        _change.reset(token)


def may_show_alert() -> bool:
    """Whether a breaking alert may be shown now: for cached pages this is known without another statement."""
    change = _change.get()
    return change is None or change.has_alert


def changes_beside(moment: datetime, *, since: datetime) -> tuple[datetime | None, datetime | None]:
    """The last instant between `since` and `moment`, and the first after it, at which the clock changes something."""
    times = {"since": since, "before": moment - MICROSECOND, "moment": moment}
    rows = compiled_once(_beside, Article, **times) or compiled_once(_beside, Front, **times)
    found = [_instant(at) for row in rows for at in row if at is not None]
    before, after = (at for at in found if since < at < moment), (at for at in found if at > moment)
    return max(before, default=None), min(after, default=None)


def _beside(of: _Present, since: Instant, before: Instant, moment: Instant) -> QuerySet[Any]:
    """One row with the last instant of each kind, and the first."""
    kinds = [(kind.rows.filter(kind.noticed()), kind.column) for kind in timed_rows()]
    lasts = (_last(rows, name, since, before) for rows, name in kinds)
    firsts = (_first(rows, name, moment) for rows, name in kinds)
    series = FrontSeries.objects.filter(has_readers())
    last = Subquery(series.filter(last__gt=since).with_last(before).order_by("-at").values("at")[:1])
    return of.objects.order_by("pk").values_list(*lasts, last, *firsts, *_recurring(moment, series))[:1]


_Present = type[Article] | type[Front]
"""What has a row, beside which other things are asked for; a new site has a front, maybe, before its first article."""


def _firsts(of: _Present) -> QuerySet[Any]:
    """One row with the clock, an alert that is shown, what is due, and the first instant of each kind."""
    now = database_now()
    found = (Alert.objects.shown(now), Update.objects.due(now), Release.objects.due(now))
    present = (Subquery(rows.values("pk")[:1]) for rows in found)
    firsts = (_first(kind.rows, kind.column, now) for kind in timed_rows())
    rows: QuerySet[Any] = of.objects.order_by("pk").annotate(clock=now)
    return rows.values_list("clock", *present, *firsts, *_recurring(now, FrontSeries.objects.all()))[:1]


def _recurring(now: Any, series: FrontSeriesQuerySet) -> list[Subquery]:
    """The first occurrence of recurring versions of fronts, in microseconds: they are computed, not stored."""
    return [Subquery(rows) for rows in series.next_ones(now)]


def _instant(found: Any) -> datetime:
    moment: datetime | None = found if isinstance(found, datetime) else instant_of_microseconds(found)
    assert moment is not None  # noqa: S101 (only given ones are asked about)
    return moment


def _midnight(now: datetime) -> datetime:
    """When the date in the page header changes."""
    day = timezone.localtime(now, timezone.get_default_timezone()) + timedelta(days=1)
    return day.replace(hour=0, minute=0, second=0, microsecond=0)


def _first(rows: QuerySet[Any], name: str, now: Any) -> Subquery:
    return Subquery(rows.filter(**{f"{name}__gt": now}).order_by(name).values(name)[:1])


def _last(rows: QuerySet[Any], name: str, since: Instant, until: Instant) -> Subquery:
    found = rows.filter(**{f"{name}__gt": since, f"{name}__lte": until})
    return Subquery(found.order_by(f"-{name}").values(name)[:1])
