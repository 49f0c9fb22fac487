"""The interface through which sources add entries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from django.db.models import Model, QuerySet

from articles.desk.calendar.entries import Entry
from articles.desk.calendar.parameters import Choice
from articles.publishing import Actor

Row = TypeVar("Row", bound=Model)


class Collector(ABC):
    """The filtered entries of one user at `now`."""

    def __init__(self, choice: Choice, *, by: Actor, now: datetime) -> None:
        self.choice = choice
        self.by = by
        self.now = now

    @abstractmethod
    def put(self, rows: QuerySet[Row], time: str, entry: Callable[[Row, Collector], Entry]) -> None:
        """Add an entry for each of `rows` whose field `time` is in the period; a constant number of queries."""
