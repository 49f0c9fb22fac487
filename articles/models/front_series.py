"""The occurrences of recurring versions of fronts: what their rules mean in UTC, expanded by the query.

A rule is a wall time on days of the week. A row stands for those of its occurrences that are exactly a week apart:
of one day, as long as clocks do not change and none is skipped. So arithmetic finds the last and the next one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from heapq import merge
from itertools import islice
from typing import Any, Self

from django.db import models
from django.db.models import Case, ExpressionWrapper, F, Func, Q, Value, When
from django.db.models.expressions import Combinable
from django.db.models.functions import Least
from django.db.models.lookups import Exact
from django.utils.translation import gettext_lazy as _

from scheduling.database import EpochMicroseconds

WEEK = timedelta(days=7)
MICROSECOND = timedelta(microseconds=1)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WEEK = WEEK // MICROSECOND


@dataclass(frozen=True)
class Occurrence:
    """An instant from which readers get a recurring version."""

    at: datetime
    version: int


class FrontSeriesQuerySet(models.QuerySet["FrontSeries"]):
    """Queries for occurrences. A moment is an aware datetime, `database_now()` or a reference to a column."""

    def with_last(self, moment: Any) -> models.QuerySet[Any]:
        """Those that have begun at `moment`, with `at`: their last occurrence by then, in microseconds since 1970."""
        return self.filter(first__lte=moment).annotate(at=Least(EpochMicroseconds("last"), _last(moment)))

    def with_next(self, moment: Any) -> models.QuerySet[Any]:
        """Those that are not over at `moment`, with `at`: their first occurrence after it, in microseconds."""
        coming = Case(When(first__gt=moment, then=EpochMicroseconds("first")), default=_last(moment) + _WEEK)
        return self.filter(last__gt=moment).annotate(at=coming)

    def running(self, moment: Any) -> Self:
        """Those that have begun and are not over at `moment`: few, and an index finds them."""
        return self.filter(first__lte=moment, last__gt=moment)

    def next_ones(self, moment: Any) -> list[models.QuerySet[Any]]:
        """For each of two indexes, the first occurrence after `moment`, in microseconds."""
        running: models.QuerySet[Any] = self.running(moment).annotate(at=_last(moment) + _WEEK)
        begun = running.order_by("at").values("at")[:1]
        future = self.filter(first__gt=moment).order_by("first").values(at=EpochMicroseconds("first"))[:1]
        return [begun, future]

    def between(self, after: datetime, until: datetime) -> list[Occurrence]:
        """All occurrences after one instant until another, in order."""
        rows = self.filter(last__gt=after, first__lte=until).values_list("first", "last", "version")
        ranges = (_expanded(*row, after=after) for row in rows)
        found = (Occurrence(at, version) for row in ranges for at, version in row if at <= until)
        return sorted(found, key=lambda one: (one.at, one.version))

    def soonest(self, moment: Any) -> models.QuerySet[Any]:
        """First, last and version of those that are not over at `moment`, by their first occurrence after it."""
        return self.with_next(moment).order_by("at", "pk").values_list("first", "last", "version")

    def first_after(self, moment: datetime, *, limit: int) -> list[Occurrence]:
        """The first occurrences after `moment`, in order: one statement, however many there are."""
        return first_occurrences(self.soonest(moment)[:limit], after=moment, limit=limit)


class FrontSeries(models.Model):
    """Occurrences a week apart, from the first to the last."""

    front = models.ForeignKey("articles.Front", on_delete=models.CASCADE, related_name="series", db_index=False)
    version = models.ForeignKey("articles.FrontVersion", on_delete=models.CASCADE, related_name="series")
    first = models.DateTimeField()
    last = models.DateTimeField()

    objects = FrontSeriesQuerySet.as_manager()

    class Meta:
        verbose_name = _("occurrences of a front version")
        verbose_name_plural = _("occurrences of front versions")
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["front", "first"], name="front_series_first")]
        indexes = [
            models.Index(fields=["front", "last"], name="front_series_of_front"),
            models.Index(fields=["last", "first"], name="front_series_running"),
            models.Index(fields=["first"], name="front_series_next"),
        ]

    def __str__(self) -> str:
        return f"{self.first} – {self.last}"

    def contains(self, moment: datetime) -> bool:
        """Whether `moment` is one of them."""
        return self.first <= moment <= self.last and not (moment - self.first) % WEEK


def first_occurrences(
    soonest: Iterable[tuple[datetime, datetime, int]], *, after: datetime, limit: int
) -> list[Occurrence]:
    """The first occurrences after an instant, in order, of so many of the `soonest` series then."""
    found = merge(*(_expanded(*row, after=after) for row in soonest))
    return [Occurrence(at, version) for at, version in islice(found, limit)]


def microseconds(moment: Any) -> Combinable:
    """A moment in microseconds since 1970, for the database."""
    if isinstance(moment, datetime):
        return Value((moment - _EPOCH) // MICROSECOND, models.BigIntegerField())
    found: Combinable = EpochMicroseconds(moment)
    return found


def instant_of_microseconds(found: int | None) -> datetime | None:
    """What the database has computed."""
    return None if found is None else _EPOCH + timedelta(microseconds=found)


def contains(moment: Any) -> Q:
    """The condition that `moment` is one of the occurrences of a row."""
    since = ExpressionWrapper(
        (microseconds(moment) - EpochMicroseconds("first")) % _WEEK, output_field=models.BigIntegerField()
    )
    return Q(Exact(since, 0), first__lte=moment, last__gte=moment)


class _Weeks(Func):
    """How many whole weeks are in so many microseconds; a quotient of MariaDB's would be rounded."""

    arity = 1
    template = f"(%(expressions)s / {_WEEK})"

    def as_mysql(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        """The division of integers."""
        return self.as_sql(compiler, connection, template=f"(%(expressions)s DIV {_WEEK})", **extra)


def _last(moment: Any) -> Combinable:
    """The last occurrence until `moment`, as if there were no last one."""
    first = EpochMicroseconds(F("first"))
    # One reference to the moment: within a statement, SQLite's clock goes on.
    weeks = _Weeks(microseconds(moment) - first, output_field=models.BigIntegerField())
    return ExpressionWrapper(first + weeks * _WEEK, output_field=models.BigIntegerField())


def _expanded(first: datetime, last: datetime, version: int, *, after: datetime) -> Iterator[tuple[datetime, int]]:
    at = first if first > after else first + ((after - first) // WEEK + 1) * WEEK
    while at <= last:
        yield at, version
        if last - at < WEEK:
            return
        at += WEEK
