"""The numbers of articles and authors, which are in their addresses: an import keeps those that are free."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from django.db.models import Max, Model

from articles.models import Article, AuditEntry, FeedEntry

_OF_ARTICLES: tuple[tuple[type[Model], str], ...] = ((AuditEntry, "article_id"), (FeedEntry, "article_id"))
_OF_USERS: tuple[tuple[type[Model], str], ...] = ((AuditEntry, "user_id"),)
"""What outlives a row: its number belongs to that row for ever."""


def given_numbers(model: type[Model], wanted: Sequence[int | None], *, highest: int) -> list[int | None]:
    """The numbers for new rows: those wanted if they are free, else new ones above all those in the file.

    `highest` is the highest number in the file: a new row without its own number must not take that of a later one.
    None, for records without a number, lets the database choose.
    """
    numbers = [number for number in wanted if number]
    if not numbers:
        return list(wanted)
    taken = _taken(model, numbers)
    next_one = max(highest, model._default_manager.aggregate(last=Max("pk"))["last"] or 0)
    given: list[int | None] = []
    for number in wanted:
        if number and number in taken:
            next_one += 1
            given.append(next_one)
        else:
            given.append(number)
            taken |= {number} if number else set()
    return given


def _taken(model: type[Model], numbers: Collection[int]) -> set[int]:
    rows: Any = model._default_manager.filter(pk__in=numbers).values_list("pk", flat=True)
    found = set(rows)
    for history, column in _OF_ARTICLES if model is Article else _OF_USERS:
        found |= set(history._default_manager.filter(**{f"{column}__in": numbers}).values_list(column, flat=True))
    return found
