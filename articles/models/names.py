"""Names that identify: exact in the database, found in any case by searches."""

from __future__ import annotations

from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.lookups import BuiltinLookup, IContains, IExact
from django.db.models.sql.compiler import SQLCompiler

from scheduling.fields import ExactCharField


class NameField(ExactCharField):
    """A name compared byte by byte: MariaDB's default collation takes all emoji, and é and e, for the same letter."""


class _AnyCase(BuiltinLookup[Any]):
    def process_lhs(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, lhs: Any = None) -> Any:
        """The column with a collation that ignores case."""
        sql, params = super().process_lhs(compiler, connection, lhs)
        return (f"{sql} COLLATE utf8mb4_general_ci" if connection.vendor == "mysql" else sql), params


@NameField.register_lookup
class NameContains(_AnyCase, IContains):
    """`icontains` also where names are compared byte by byte."""


@NameField.register_lookup
class NameIs(_AnyCase, IExact):
    """`iexact` also where names are compared byte by byte; it ignores accents on MariaDB and MySQL."""
