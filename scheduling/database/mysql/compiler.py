"""The SQL of querysets that lock rows by their ids."""

from __future__ import annotations

from django.db.backends.mysql import compiler
from django.db.backends.mysql.compiler import (
    SQLAggregateCompiler,
    SQLDeleteCompiler,
    SQLInsertCompiler,
    SQLUpdateCompiler,
)
from django.db.models import sql
from django.db.models.lookups import In

__all__ = ["SQLAggregateCompiler", "SQLCompiler", "SQLDeleteCompiler", "SQLInsertCompiler", "SQLUpdateCompiler"]


class SQLCompiler(compiler.SQLCompiler):
    """Locks the rows with given ids by the primary key.

    MySQL would read all of a small table instead, and wait for each row that another transaction has locked. MariaDB 11
    would choose a shorter index, and lock in another order.
    """

    def get_from_clause(self) -> tuple[list[str], tuple[str | int, ...]]:
        tables, parameters = super().get_from_clause()
        if self.query.select_for_update and _has_ids(self.query):
            tables[0] += " FORCE INDEX (PRIMARY)"
        return tables, parameters


def _has_ids(query: sql.Query) -> bool:
    target = query.get_meta().pk
    lookups = (child for child in query.where.children if isinstance(child, In))
    return any(getattr(lookup.lhs, "target", None) is target for lookup in lookups)
