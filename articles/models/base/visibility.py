"""From when readers see an article: a column that the database computes, and the stamp that it depends on.

Readers' lists, feeds, pages and time filters are ordered by `goes_live_at`, and `live(now)` compares with it: the
greatest of the publish time, the end of the embargo, and the moment at which the article was cleared for that time. So
an article that was approved late, or whose embargo was lifted, stands where readers first met it.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, ClassVar, TypeVar

from django.db import models
from django.db.models import Case, F, Q, When
from django.db.models.functions import Coalesce, Greatest
from django.utils.translation import gettext_lazy as _

from articles.models.base.bulk_signals import SignallingQuerySet
from articles.models.base.computed import ComputedField
from articles.models.base.dirty_fields import SavesOnlyChanges
from scheduling.database import database_now, read_database_clock

M = TypeVar("M", bound="Scheduled")

GOES_LIVE_COLUMNS = ("publish_at", "embargo_until", "cleared_at")
"""The columns that `goes_live_at` of a loaded article is computed from, for `only()`."""

_DECIDING = frozenset({"status", "publish_at", "embargo_until"})
"""Fields by whose change an article is cleared again."""


def goes_live(
    publish_at: datetime | None, embargo_until: datetime | None, cleared_at: datetime | None
) -> datetime | None:
    """The column `goes_live_at` of a row with these values."""
    if publish_at is None:
        return None
    return max(publish_at, embargo_until or publish_at, cleared_at or publish_at)


class _Computed:
    """Computes the value from the instance: the loaded one would be out of date as soon as a time is changed."""

    def __init__(self, field: models.Field[Any, Any]) -> None:
        self.field = field

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        return goes_live(instance.publish_at, instance.embargo_until, instance.cleared_at)

    def __set__(self, instance: Any, value: Any) -> None:
        """Django sets the loaded value, which is not needed."""


class GoesLiveField(ComputedField):
    """The computed column."""

    descriptor_class = _Computed

    def __init__(self, **options: Any) -> None:
        held = (Coalesce(name, "publish_at") for name in ("embargo_until", "cleared_at"))
        super().__init__(Greatest("publish_at", *held), models.DateTimeField(), **options)


class ScheduledQuerySet(SignallingQuerySet[M]):
    """Querysets that clear articles for their times in every statement."""

    def update(self, **values: Any) -> int:
        """Update the rows and, where that decides when they go live, `cleared_at` unless it is given."""
        if _DECIDING & values.keys() and not {"cleared_at", "published_at"} & values.keys():
            # First, because MySQL lets later assignments see the new values of earlier ones.
            values = {"cleared_at": self._clearance(values.get("status")), **values}
        return super().update(**values)

    update.alters_data = True  # type: ignore[attr-defined]

    def bulk_create(self, objs: Iterable[M], *args: Any, **options: Any) -> list[M]:
        """Insert the rows; those that are approved are cleared now."""
        rows = list(objs)
        for row in rows:
            if row.is_waiting and row.cleared_at is None:
                row.cleared_at = database_now()
        return super().bulk_create(rows, *args, **options)

    def _clearance(self, status: Any) -> Any:
        """The value for rows that get this status; those that readers have seen keep theirs."""
        visible = self.model.Status.visible()
        if status is not None and status not in visible:
            return F("cleared_at")
        is_live = Q(status__in=visible, goes_live_at__lte=database_now())
        becomes_visible = Q() if status is not None else Q(status__in=visible)
        return Case(
            When(becomes_visible & Q(published_at=None) & ~is_live, then=database_now()), default=F("cleared_at")
        )


class Scheduled(SavesOnlyChanges):
    """A model with a time from which readers see it."""

    Status: ClassVar[Any]
    status: models.SmallIntegerField[Any, Any]
    publish_at: models.DateTimeField[Any, datetime | None]
    embargo_until: models.DateTimeField[Any, datetime | None]
    published_at: models.DateTimeField[Any, datetime | None]
    stored_at: datetime | None = None  #: the database's present when this instance was last stored

    cleared_at = models.DateTimeField(
        _("cleared"),
        null=True,
        editable=False,
        help_text=_("When it was approved, or its time or embargo was last changed. Readers cannot see it before."),
    )
    goes_live_at = GoesLiveField(
        verbose_name=_("goes live"), help_text=_("From when readers see it, once it is approved.")
    )

    class Meta:
        abstract = True

    def derived_values(self, fields: frozenset[str]) -> dict[str, Any]:
        """With `cleared_at` by the database's clock if the article is cleared by that."""
        cleared = {"cleared_at": database_now()} if self.is_cleared_by(fields) else {}
        return super().derived_values(fields) | cleared

    def is_cleared_by(self, fields: frozenset[str], now: datetime | None = None) -> bool:
        """Whether saving these fields decides from when readers see it; the database's clock says without `now`.

        One that is stored as published keeps the time of that: it was live before, perhaps elsewhere.
        """
        if self._state.adding:
            return self.is_waiting and self.cleared_at is None
        if self.status not in self.Status.visible() or self.published_at is not None or "cleared_at" in fields:
            return False
        return bool(_DECIDING & fields) and not self._was_live(now or read_database_clock())

    def _was_live(self, now: datetime) -> bool:
        moment = goes_live(*map(self.as_loaded, GOES_LIVE_COLUMNS))
        return self.as_loaded("status") in self.Status.visible() and moment is not None and moment <= now

    @property
    def is_waiting(self) -> bool:
        """Whether it is approved and not stored as published."""
        return self.status in self.Status.waiting()
