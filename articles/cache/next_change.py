"""The next instant at which the clock changes what readers see, when cached responses expire."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet, Subquery
from django.utils import timezone

from articles.cache.ttl import MAX_TTL
from articles.models import Alert, Article, Card, FrontVersion, Update
from scheduling.database import compiled_once, database_now, read_database_clock


@dataclass(frozen=True)
class NextChange:
    """The database's `now`, and the next instant `at` which the clock changes what readers see."""

    now: datetime
    at: datetime
    read_at: float  #: an instant of `time.monotonic()` no later than `now`

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
    rows = compiled_once(_firsts)
    present, *moments = rows[0] if rows else (read_database_clock(),)
    known = [moment for moment in moments if moment is not None]
    return NextChange(present, min([*known, present + MAX_TTL, _midnight(present)]), read_at)


def _firsts() -> QuerySet[Any]:
    """One row with the clock and the first instant of each kind."""
    now = database_now()
    visible = [Article.objects.filter(status=status) for status in Article.Status.visible()]
    firsts = [
        *(_first(articles, "goes_live_at", now) for articles in visible),
        *(_first(articles, "unpublish_at", now) for articles in visible),
        *(_first(Alert.objects.open(), name, now) for name in ("begins", "ends")),
        _first(Update.objects.filter(approved__isnull=False), "publish_at", now),
        _first(FrontVersion.objects.filter(status=FrontVersion.Status.SCHEDULED), "live_from", now),
        *(_first(Card.objects.all(), name, now) for name in ("shows_from", "shows_until")),
    ]
    return Article.objects.order_by("pk").annotate(clock=now).values_list("clock", *firsts)[:1]


def _midnight(now: datetime) -> datetime:
    """When the date in the page header changes."""
    day = timezone.localtime(now, timezone.get_default_timezone()) + timedelta(days=1)
    return day.replace(hour=0, minute=0, second=0, microsecond=0)


def _first(rows: QuerySet[Any], name: str, now: Any) -> Subquery:
    return Subquery(rows.filter(**{f"{name}__gt": now}).order_by(name).values(name)[:1])
