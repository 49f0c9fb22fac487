"""How long an answer stays true: until the clock next changes what it shows."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet, Subquery

from articles.models import Article, Update
from articles.site.scopes import Scope

MARGIN = timedelta(seconds=1)
"""For an answer that is on its way, and caches that count whole seconds."""


def next_change(scope: Scope, now: datetime) -> datetime | None:
    """The first instant after `now` at which the clock may change what readers see of `scope`; None if none is known.

    One statement, a look into an index for each kind of change. Ends of all articles count, whatever the scope: only
    so is it one look however many there are. What people change by hand nobody knows before.
    """
    visible = [Article.objects.filter(status=status) for status in Article.Status.visible()]
    embargoed = Article.objects.filter(status__in=Article.Status.visible())
    updated = Update.objects.filter(approved__isnull=False, article__in=scope.of(Article.objects.all()))
    firsts = [
        *(_first(scope.of(articles), "publish_at", now) for articles in visible),
        *(_first(articles, "unpublish_at", now) for articles in visible),
        _first(scope.of(embargoed), "embargo_until", now),
        _first(updated, "publish_at", now),
    ]
    moments = Article.objects.order_by("pk").values_list(*firsts).first() or ()
    return min((moment for moment in moments if moment is not None), default=None)


def max_age(change: datetime | None, now: datetime, *, most: timedelta) -> int:
    """Seconds for which caches may keep an answer given at `now`: never past `change`, and never longer than `most`."""
    left = most if change is None else min(most, change - now - MARGIN)
    return max(int(left.total_seconds()), 0)


def _first(rows: QuerySet[Any], name: str, now: datetime) -> Subquery:
    return Subquery(rows.filter(**{f"{name}__gt": now}).order_by(name).values(name)[:1])
