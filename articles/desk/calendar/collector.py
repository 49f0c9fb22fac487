"""The interface through which sources add entries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from django.db.models import Model, QuerySet
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.translation import get_language

from articles.desk.calendar.entries import CalendarEntry
from articles.desk.calendar.parameters import Choice
from articles.publishing import Actor
from scheduling.services import overdue_before

Row = TypeVar("Row", bound=Model)


class Collector(ABC):
    """The filtered entries of one user at `now`."""

    def __init__(self, choice: Choice, *, by: Actor, now: datetime) -> None:
        self.choice = choice
        self.by = by
        self.now = now
        self.overdue_before = overdue_before(now)
        self.language = get_language()

    @cached_property
    def _address(self) -> tuple[str, str]:
        before, _pk, after = reverse("admin:articles_article_change", args=[0]).rpartition("0")
        return before, after

    def address_of(self, article_id: int) -> str:
        """The address of an article's form; faster than `reverse` for each of many."""
        return f"{article_id}".join(self._address)

    @abstractmethod
    def put(self, rows: QuerySet[Row], time: str, entry: Callable[[Row, Collector], CalendarEntry]) -> None:
        """Add an entry for each of `rows` whose field `time` is in the period; a constant number of queries."""

    @property
    @abstractmethod
    def period(self) -> tuple[datetime, datetime]:
        """From when until when entries are wanted."""

    @abstractmethod
    def add(self, entry: CalendarEntry) -> None:
        """Add an entry in the period that is computed, not stored."""
