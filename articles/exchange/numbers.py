"""The numbers of articles and authors, which are in their addresses: an import keeps those that are free."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from django.db.models import Max, Model, QuerySet

from articles.models import Article, AuditEntry, Event


def _histories(model: type[Model]) -> list[tuple[QuerySet[Any], str]]:
    """What outlives a row, whose number belongs to it for ever: records, and their column with the number."""
    if model is Article:
        return [(AuditEntry.objects.all(), "article_id"), (Event.objects.of_articles(), "object_id")]
    return [(AuditEntry.objects.all(), "user_id")]


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
    for history, column in _histories(model):
        found |= set(history.filter(**{f"{column}__in": numbers}).values_list(column, flat=True))
    return found
