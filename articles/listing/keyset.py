"""The condition of keyset pagination: rows beyond the last one of a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import Q


def beyond(names: Sequence[str], values: Sequence[Any], operator: str) -> Q:
    """Rows beyond these values of the fields that order them; `operator` is `lt` or `gt`.

    The redundant bound on the first field lets the database use an index.
    """
    name, value = names[0], values[0]
    further = Q((f"{name}__{operator}", value))
    if len(names) == 1:
        return further
    return Q((f"{name}__{operator}e", value)) & (further | beyond(names[1:], values[1:], operator))
