"""The time of the last change that readers see of an article; `updated_at` would disclose changes they cannot see."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.contrib.auth import get_user_model
from django.db import models
from django.db.models import Case, Exists, F, When
from django.db.models.expressions import Combinable
from django.utils.translation import gettext_lazy as _

from articles.models.base.visibility import Scheduled, ScheduledQuerySet
from articles.models.text import Text
from scheduling.database import database_now

M = TypeVar("M", bound="Dated")

VISIBLE_TIMES = frozenset({"publish_at", "embargo_until"})

NOTICED_FIELDS = Text.NAMES - {"cover_mode"} | VISIBLE_TIMES | {"status"}
"""Fields that readers notice: not the time to be unpublished, nor how the cover was chosen. The author counts only
without a byline.
"""

STAMP_TOLERANCE = timedelta(minutes=1)
"""The most time between storing an article and its stamp."""

_TEXT = frozenset({*Text.COLUMNS, "channel"})
_WRITTEN = _TEXT - {"cover_mode"} | VISIBLE_TIMES | {"author", "author_id"}
"""`NOTICED_FIELDS` for a statement. Not the status: storing that articles are live changes nothing for readers."""


class DatedQuerySet(ScheduledQuerySet[M]):
    """Querysets that set the times of changes in every statement.

    Services sync tasks, index and audit log of these rows at once. For other code, `reconcile_tasks` and
    `reconcile_index` repair tasks and index; the audit log has entries of services and saves only.
    """

    def update(self, **values: Any) -> int:
        """Update the rows and, for new text, `updated_at` and `text_changed_at` unless they are given."""
        if _TEXT & values.keys():
            values.setdefault("updated_at", database_now())
        if _WRITTEN & values.keys():
            values.setdefault("text_changed_at", database_now())
        return super().update(**values)

    update.alters_data = True  # type: ignore[attr-defined]

    def update_each(self, fields: Sequence[str], rows: Collection[Sequence[Any]], **same: Any) -> None:
        """As `update`, with values of its own for each row."""
        if _WRITTEN & {*fields, *same} and "text_changed_at" not in fields:
            same.setdefault("text_changed_at", database_now())
        super().update_each(fields, rows, **same)

    update_each.alters_data = True  # type: ignore[attr-defined]


class Dated(Scheduled):
    """A model with the time of its last change that readers see.

    A new name of a channel, tag or author, or another caption of an image, is no change of the articles that show it.
    """

    author_id: int | None
    created_at: models.DateTimeField[Any, datetime | None]
    byline: models.CharField[str, str]

    text_changed_at = models.DateTimeField(
        _("last change visible to readers"),
        null=True,
        editable=False,
        help_text=_("May be before it goes live. Empty if unchanged since."),
    )

    class Meta:
        abstract = True

    def derived_values(self, fields: frozenset[str]) -> dict[str, Any]:
        """With `text_changed_at` by the database's clock for new text, unless it is given."""
        moment = self._stamp(fields)
        return super().derived_values(fields) | ({"text_changed_at": moment} if moment else {})

    def _stamp(self, fields: frozenset[str]) -> Combinable | None:
        """The value of `text_changed_at` that a change of `fields` asks for; what is not approved has none."""
        is_given = self.text_changed_at if self._state.adding else "text_changed_at" in fields
        if is_given or self.status not in self.Status.visible():
            return None
        if self._state.adding or fields & NOTICED_FIELDS:
            return database_now()
        return self._stamp_of_author() if "author" in fields and not self.byline else None

    def _stamp_of_author(self) -> Combinable:
        """Whether the author shown to readers changes; authors without a name are not shown."""
        authors = [pk for pk in (self.as_loaded("author_id"), self.author_id) if pk is not None]
        users = get_user_model()._default_manager.filter(pk__in=authors)
        is_named = Exists(users.exclude(first_name="", last_name=""))
        return Case(When(is_named, then=database_now()), default=F("text_changed_at"))

    @property
    def out_since(self) -> datetime:
        """When readers first saw a live article."""
        moment: datetime | None = self.goes_live_at
        assert moment is not None  # noqa: S101 (a live article has a time)
        return moment

    @property
    def modified_at(self) -> datetime:
        """When readers last saw a change of a live article: its publication or a new text."""
        return max(self.out_since, self.text_changed_at or self.out_since)

    @property
    def updated_after_publication(self) -> datetime | None:
        """When readers last saw a change of an article that was live before; None if they never did.

        One that is stored with a date in the past was new then, not updated.
        """
        if self.text_changed_at is None or self.goes_live_at is None or self.created_at is None:
            return None
        is_new = abs(self.text_changed_at - (self.cleared_at or self.created_at)) < STAMP_TOLERANCE
        return self.text_changed_at if self.text_changed_at > self.goes_live_at and not is_new else None
