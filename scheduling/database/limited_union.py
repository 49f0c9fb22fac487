"""Many lists in one statement, each with its own order and limit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db.models import QuerySet
from django.db.models.expressions import RawSQL


def in_any(*lists: QuerySet[Any]) -> RawSQL:
    """For `pk__in`: what any of `lists` holds, each with its own order and limit, of one column.

    Django's own `union` takes no limits of its parts on SQLite. Each part is a table of its own here, so that a
    database walks its index as far as its limit, and begins with the few rows found instead of asking each article.
    """
    compiled = list(_compiled(lists)) or [("SELECT NULL AS pk WHERE 1 = 0", ())]
    parts = (f"SELECT * FROM ({sql}) AS part{number}" for number, (sql, _params) in enumerate(compiled))  # noqa: S608
    params = [value for _sql, values in compiled for value in values]
    return RawSQL(f"SELECT * FROM ({' UNION ALL '.join(parts)}) AS heads", params)  # noqa: S608, S611 (made by Django)


def _compiled(lists: Iterable[QuerySet[Any]]) -> Iterator[tuple[str, Sequence[Any]]]:
    """Statement and parameters of each list that is not known to be empty."""
    for rows in lists:
        with suppress(EmptyResultSet):
            yield rows.query.sql_with_params()


def union_statement(lists: Iterable[QuerySet[Any]]) -> tuple[str, Sequence[Any]]:
    """The statement for the rows of all `lists` together, with its parameters; empty if there can be none."""
    compiled = list(_compiled(lists))
    parts = (f"SELECT * FROM ({sql}) AS part{number}" for number, (sql, _params) in enumerate(compiled))  # noqa: S608
    return " UNION ALL ".join(parts), [value for _sql, params in compiled for value in params]
