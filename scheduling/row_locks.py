"""Row locks by primary key alone, in id order: nobody waits for a row that he did not ask for, and no two deadlock.

For any other condition MariaDB may lock along another index, against the order of those who lock by primary key, or
walk all of a small table and wait for each row that somebody holds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, TypeVar

from django.db import connection, models

M = TypeVar("M", bound=models.Model)


def lock_by_ids(model: type[M], ids: Iterable[Any], *, skip_locked: bool = False) -> models.QuerySet[M]:
    """The rows with these ids, in id order, to be locked until the transaction ends as soon as they are read.

    What else must be true of them is looked at afterwards, in Python: a further condition could make the database
    choose another index. With `skip_locked` those that another transaction holds are passed over instead of waited for.
    """
    rows = model._default_manager.filter(pk__in=list(ids)).order_by("pk")
    return rows.select_for_update(skip_locked=skip_locked)


_DELETE = """
    DELETE doomed FROM JSON_TABLE(%s, '$[*]' COLUMNS (id {type} PATH '$')) AS gone
    STRAIGHT_JOIN {table} AS doomed ON doomed.{column} = gone.id
"""


def delete_by_ids(model: type[models.Model], ids: Iterable[Any]) -> None:
    """Delete rows to which nothing refers, of which no signal tells, and that the caller's transaction may delete.

    MariaDB does `DELETE ... WHERE id IN (...)` on a small table by walking all of it, and waits for each row that
    another transaction holds: two of them, each at its end, would deadlock. The join goes by primary key.
    """
    key: Any = model._meta.pk
    known = list(ids)
    if connection.vendor != "mysql" or not known:
        rows = model._default_manager.filter(pk__in=known)
        rows._raw_delete(rows.db)
        return
    table, column = map(connection.ops.quote_name, (model._meta.db_table, key.column))
    target = key.target_field if key.is_relation else key
    is_uuid = target.get_internal_type() == "UUIDField"
    kind = "CHAR(36)" if is_uuid else target.rel_db_type(connection)  # JSON_TABLE knows no UUID
    values = [key.get_db_prep_value(value, connection) for value in known]
    with connection.cursor() as cursor:
        cursor.execute(_DELETE.format(type=kind, table=table, column=column), [json.dumps(values, default=str)])
