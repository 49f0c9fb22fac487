"""Row locks and deletes by primary key, in id order, so that they wait for no other rows and cannot deadlock.

For any other condition MariaDB may lock along another index, in another order, or scan all of a small table and wait
for each locked row.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from typing import Any, TypeVar

from django.db import connection, models
from django.db.models.expressions import RawSQL

M = TypeVar("M", bound=models.Model)


def lock_by_ids(model: type[M], ids: Iterable[Any], *, skip_locked: bool = False) -> models.QuerySet[M]:
    """The rows with these ids, in id order, locked when they are read and until the transaction ends.

    Check further conditions afterwards, in Python: in SQL they could make the database choose another index. With
    `skip_locked`, rows that another transaction has locked are skipped.
    """
    rows = model._default_manager.filter(pk__in=among(list(ids))).order_by("pk")
    return rows.select_for_update(skip_locked=skip_locked)


def among(ids: Collection[Any]) -> Collection[Any] | RawSQL:
    """The right side of `pk__in` for many ids.

    Integers become part of the statement's text: as parameters, 500 of them take Django and the driver milliseconds.
    """
    if not ids or not all(type(one) is int for one in ids):
        return ids
    return RawSQL(", ".join(map(str, ids)), ())  # noqa: S611 (integers only)


_DELETE = """
    DELETE target_row FROM JSON_TABLE(%s, '$[*]' COLUMNS (id {type} PATH '$')) AS ids
    STRAIGHT_JOIN {table} AS target_row ON target_row.{column} = ids.id
"""


def delete_by_ids(model: type[models.Model], ids: Iterable[Any]) -> None:
    """Delete rows without cascades or signals.

    On a small table, MariaDB runs `DELETE ... WHERE id IN (...)` as a full scan and waits for each locked row, so two
    of them could deadlock. The join uses the primary key.
    """
    key: Any = model._meta.pk
    id_list = list(ids)
    if connection.vendor != "mysql" or not id_list:
        rows = model._default_manager.filter(pk__in=id_list)
        rows._raw_delete(rows.db)
        return
    table, column = map(connection.ops.quote_name, (model._meta.db_table, key.column))
    target = key.target_field if key.is_relation else key
    is_uuid = target.get_internal_type() == "UUIDField"
    kind = "CHAR(36)" if is_uuid else target.rel_db_type(connection)  # JSON_TABLE has no UUID type
    values = [key.get_db_prep_value(value, connection) for value in id_list]
    with connection.cursor() as cursor:
        cursor.execute(_DELETE.format(type=kind, table=table, column=column), [json.dumps(values, default=str)])
