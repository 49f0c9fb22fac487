"""A signal for changes of many rows at once, for which Django sends none."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, TypeVar

from django.db import models, transaction
from django.db.models.lookups import Exact, In
from django.db.models.sql.where import AND
from django.dispatch import Signal

from scheduling.database import IdList, update_by_ids

M = TypeVar("M", bound=models.Model)

rows_changed = Signal()
"""Sent by a model in the transaction that changed many rows, after the change, with their `ids` (None if they are not
known) and the `fields` that were written.
"""


class SignallingQuerySet(models.QuerySet[M]):
    """Querysets that send `rows_changed` for changes by one statement."""

    def update(self, **values: Any) -> int:
        """Update the rows, and send the signal."""
        ids = self._named_ids()
        with transaction.atomic(using=self.db, savepoint=False):
            changed = super().update(**values)
            if changed:
                rows_changed.send(self.model, ids=ids, fields=frozenset(values))
        return changed

    update.alters_data = True  # type: ignore[attr-defined]

    def update_each(self, fields: Sequence[str], rows: Collection[Sequence[Any]], **same: Any) -> None:
        """Update rows, each an id and the values of `fields`, by a statement for a thousand, and send the signal.

        `same` are values for all, or expressions over the row; a related object is given by its id.
        """
        with transaction.atomic(using=self.db, savepoint=False):
            if update_by_ids(self.model, fields, rows, **same):
                ids = frozenset(row[0] for row in rows)
                rows_changed.send(self.model, ids=ids, fields=frozenset({*fields, *same}))

    update_each.alters_data = True  # type: ignore[attr-defined]

    def update_unseen(self, **values: Any) -> int:
        """Update columns that readers never see, without a signal or a new version."""
        return models.QuerySet.update(self, **values)

    update_unseen.alters_data = True  # type: ignore[attr-defined]

    def bulk_create(self, objs: Iterable[M], *args: Any, **options: Any) -> list[M]:
        """Insert the rows, and send the signal."""
        with transaction.atomic(using=self.db, savepoint=False):
            created = super().bulk_create(objs, *args, **options)
            if created:
                rows_changed.send(self.model, ids=None, fields=frozenset())
        return created

    def _named_ids(self) -> frozenset[int] | None:
        """The ids that `filter(pk__in=ids)` or `filter(pk=id)` names; None if there is no such condition."""
        for lookup in self.query.where.children if self.query.where.connector == AND else ():
            if not isinstance(lookup, In | Exact) or not lookup.lhs.target.primary_key:
                continue
            if isinstance(lookup.rhs, IdList):
                return frozenset(lookup.rhs.ids)
            if lookup.rhs_is_direct_value():
                return frozenset(map(int, lookup.rhs if isinstance(lookup, In) else [lookup.rhs]))
        return None
