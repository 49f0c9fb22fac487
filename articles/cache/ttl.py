"""How long an answer stays true: until the clock next changes what readers see."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet, Subquery
from django.utils import timezone

from articles.models import Article, Update
from scheduling.services import database_now, read_database_clock

LONGEST = timedelta(minutes=1)
"""What nobody could purge, because the purge was lost or the cache is a stranger's, is seen after this time."""


@dataclass(frozen=True)
class Horizon:
    """The database's instant `now`, and the first one after it at which the clock changes something for readers."""

    now: datetime
    change: datetime
    asked_at: float  #: an instant of `time.monotonic()` that was no later than `now`

    @property
    def ends(self) -> float:
        """The instant of the change, or a little before, by `time.monotonic()`."""
        return self.asked_at + (self.change - self.now).total_seconds()


def look_ahead() -> Horizon:
    """When the clock next changes what readers see, anywhere on the site, `LONGEST` from now at most.

    One statement, a look into an index for each kind of change. All answers have the same horizon: so it is one look
    however many articles there are, and tells nobody in which channel something is about to happen.
    """
    asked_at, now = time.monotonic(), database_now()
    visible = [Article.objects.filter(status=status) for status in Article.Status.visible()]
    firsts = [
        *(_first(articles, "publish_at", now) for articles in visible),
        *(_first(articles, "unpublish_at", now) for articles in visible),
        _first(Article.objects.filter(status__in=Article.Status.visible()), "embargo_until", now),
        _first(Update.objects.filter(approved__isnull=False), "publish_at", now),
    ]
    row = Article.objects.order_by("pk").annotate(clock=now).values_list("clock", *firsts).first()
    present, *moments = row or (read_database_clock(),)
    known = [moment for moment in moments if moment is not None]
    return Horizon(present, min([*known, present + LONGEST, _midnight(present)]), asked_at)


def _midnight(now: datetime) -> datetime:
    """When the date in the masthead changes."""
    day = timezone.localtime(now, timezone.get_default_timezone()) + timedelta(days=1)
    return day.replace(hour=0, minute=0, second=0, microsecond=0)


def _first(rows: QuerySet[Any], name: str, now: Any) -> Subquery:
    return Subquery(rows.filter(**{f"{name}__gt": now}).order_by(name).values(name)[:1])
