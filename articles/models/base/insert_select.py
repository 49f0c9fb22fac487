"""Inserting very many rows by one INSERT … SELECT."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connections, models, router
from django.db.models.expressions import Combinable

from scheduling.services import Statement


def insert_for_each(model: type[models.Model], rows: models.QuerySet[Any], **columns: Combinable) -> None:
    """Insert a row for each of `rows` in one statement, in the caller's transaction.

    `columns` are expressions over one of them, by the names of the table's columns; nothing fills in defaults.
    """
    try:
        statement = insert_statement(model, rows, **columns)
    except EmptyResultSet:  # the condition is never true, such as `pk__in` without ids
        return
    with connections[router.db_for_write(model)].cursor() as cursor:
        cursor.execute(*statement)


def insert_statement(model: type[models.Model], rows: models.QuerySet[Any], **columns: Combinable) -> Statement:
    """The statement of `insert_for_each`."""
    connection = connections[router.db_for_write(model)]
    select, parameters = rows.values_list(*columns.values()).query.get_compiler(connection.alias).as_sql()
    names = ", ".join(map(connection.ops.quote_name, columns))
    # The statement is the ORM's and the names are the model's: no input is interpolated.
    return f"INSERT INTO {connection.ops.quote_name(model._meta.db_table)} ({names}) {select}", parameters  # noqa: S608


class NewId(models.Func):
    """A new id for each row, made by the database."""

    output_field = models.UUIDField()
    arity = 0
    template = "UUID()"  # MariaDB has a type of its own for them; MySQL and SQLite keep their hexadecimal digits

    def as_mysql(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        """The SQL for MariaDB and MySQL."""
        if not connection.features.has_native_uuid_field:
            extra["template"] = "REPLACE(UUID(), '-', '')"
        return self.as_sql(compiler, connection, **extra)

    def as_sqlite(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        """The SQL for SQLite."""
        return self.as_sql(compiler, connection, **extra, template="LOWER(HEX(RANDOMBLOB(16)))")
