"""Row locks by primary key, in id order, so that they wait for no other rows and cannot deadlock.

For any other condition MariaDB may lock along another index, in another order, or scan all of a small table and wait
for each locked row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, TypeVar

from django.db import models
from django.db.models.expressions import RawSQL

M = TypeVar("M", bound=models.Model)

ANY_IDS = RawSQL("/* ids */", ())
"""Stands for ids in a statement that is compiled once, see `scheduling.database.compiled`."""


class IdList(RawSQL):
    """Integers in a statement's text; `ids` are the same for signals about the rows."""

    def __init__(self, ids: Collection[int]) -> None:
        self.ids = ids
        super().__init__(", ".join(map(str, ids)), ())


def lock_by_ids(model: type[M], ids: Iterable[Any] | RawSQL, *, skip_locked: bool = False) -> models.QuerySet[M]:
    """The rows with these ids, in id order, locked when they are read and until the transaction ends.

    Check further conditions afterwards, in Python: in SQL they could make the database choose another index. With
    `skip_locked`, rows that another transaction has locked are skipped.
    """
    # The order of all locks in this project: two transactions that lock some of the same rows wait, but never for each
    # other.
    rows = model._default_manager.filter(pk__in=among(ids)).order_by("pk")
    return rows.select_for_update(skip_locked=skip_locked)


def among(ids: Iterable[Any] | RawSQL) -> Collection[Any] | RawSQL:
    """The right side of `pk__in` for many ids.

    Integers become part of the statement's text: as parameters, 500 of them take Django and the driver milliseconds.
    """
    if isinstance(ids, RawSQL):
        return ids
    given = list(ids)
    # Only what is exactly an integer becomes text: no other value can be SQL.
    if not given or not all(type(one) is int for one in given):
        return given
    return IdList(given)
