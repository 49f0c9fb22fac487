"""Names that identify: exact in the database, found in any case by searches."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.lookups import IContains, IExact
from django.db.models.sql.compiler import SQLCompiler

from scheduling.fields import ExactCharField

ALIKE = "utf8mb4_unicode_520_ci"
"""A collation for searches of MariaDB and MySQL that ignores case and accents, but tells emoji apart."""


class NameField(ExactCharField):
    """A name compared byte by byte: MariaDB's default collation takes all emoji, and é and e, for the same letter."""


@NameField.register_lookup
class NameContains(IContains):
    """`icontains` also where names are compared byte by byte; it ignores accents on MariaDB and MySQL."""

    def process_lhs(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, lhs: Any = None) -> Any:
        """The column with a collation for searches."""
        sql, params = super().process_lhs(compiler, connection, lhs)
        return (f"{sql} COLLATE {ALIKE}" if connection.vendor == "mysql" else sql), params


@NameField.register_lookup
class NameIs(IExact):
    """`iexact` also where names are compared byte by byte."""

    def process_lhs(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, lhs: Any = None) -> Any:
        """The column in small letters."""
        sql, params = super().process_lhs(compiler, connection, lhs)
        return (f"LOWER({sql})" if connection.vendor == "mysql" else sql), params

    def process_rhs(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> Any:
        """The name in small letters."""
        sql, params = super().process_rhs(compiler, connection)
        return sql, [param.lower() if isinstance(param, str) else param for param in params]


def exact_columns() -> set[tuple[str, str]]:
    """Tables and columns of names in models of Django, which a migration makes exact."""
    return {(field.model._meta.db_table, field.column) for field in _names_of_others()}


def compare_exactly() -> None:
    """Let searches find names of users and groups in any case, although the database compares them byte by byte."""
    for field in _names_of_others():
        for lookup in (NameContains, NameIs):
            field.register_lookup(lookup)


def _names_of_others() -> list[Any]:
    user = get_user_model()
    return [user._meta.get_field(user.USERNAME_FIELD), Group._meta.get_field("name")]
