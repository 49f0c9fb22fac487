"""Adding very many rows in the time that publishing leaves."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from django.db import connections, models, router

Prepare = Callable[[Any], Any]


def insert_rows(model: type[models.Model], rows: Sequence[Mapping[str, Hashable]]) -> None:
    """Store `rows`, which all name the same fields, in the caller's transaction; nothing fills in defaults.

    A quarter of the time of `bulk_create`, which makes an instance of each row and asks each of its values whether it
    is an expression, and prepares the same few values for the database again and again.
    """
    if not rows:
        return
    connection = connections[router.db_for_write(model)]
    fields = [field for field in model._meta.local_concrete_fields if field.attname in rows[0]]
    prepared = [[*map(_preparing(field, connection), (row[field.attname] for row in rows))] for field in fields]
    quote = connection.ops.quote_name
    names = ", ".join(quote(str(field.column)) for field in fields)
    marks = ", ".join(["%s"] * len(fields))
    insert = f"INSERT INTO {quote(model._meta.db_table)} ({names}) VALUES ({marks})"  # noqa: S608 (the model's names)
    with connection.cursor() as cursor:
        cursor.executemany(insert, [*zip(*prepared, strict=True)])


def _preparing(field: Any, connection: Any) -> Prepare:
    known: dict[Hashable, Any] = {}

    def prepare(value: Hashable) -> Any:
        if value not in known:
            known[value] = field.get_db_prep_save(value, connection)
        return known[value]

    return prepare
