"""Counts that stop at a limit: counting a million rows takes too long."""

from __future__ import annotations

from typing import Any, cast

from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.utils.functional import cached_property

COUNT_LIMIT = 10_000
"""Rows that are counted, sorted and selected at once."""


def count_up_to(limit: int, rows: QuerySet[Any]) -> int:
    """The number of rows, without reading more than these."""
    return rows.order_by().values_list("pk")[:limit].count()


class CappedPaginator(Paginator):  # type: ignore[type-arg]
    """Stops counting at `COUNT_LIMIT`."""

    @cached_property
    def count(self) -> int:
        """The number of rows, up to the limit."""
        return count_up_to(COUNT_LIMIT, cast("QuerySet[Any]", self.object_list))

    @property
    def spoken_count(self) -> str:
        """The number of rows for readers: "10,000+" if counting stopped; empty if it did not."""
        return f"{COUNT_LIMIT:,}+" if self.count == COUNT_LIMIT else ""
