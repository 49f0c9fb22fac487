"""Query parameters of the board: `?channel=2&author=me&q=harbour&column=review`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.db.models import Q, TextChoices
from django.utils.translation import gettext_lazy as _

from articles.desk.articles.search import matching
from articles.desk.parse import number_or_zero
from articles.limits import PALETTE_LENGTH
from articles.models import Article
from articles.publishing import Actor

BOARD = "desk_monitoring"
"""The name of the board's URL; with its query string, where a form returns to."""

ME = "me"
"""Author value for what the current user writes or has to finish."""

MOST_FOUND = 500
"""Articles found by a search, the most recently changed ones."""


class Column(TextChoices):
    """A column of the board; the value is its query parameter."""

    DRAFTS = "drafts", _("Drafts")
    REVIEW = "review", _("In review")
    SCHEDULED = "scheduled", _("Scheduled")
    LIVE = "live", _("Live")


@dataclass(frozen=True)
class Filters:
    """What the board shows, and the column that a phone shows."""

    channel: str = ""
    author: str = ""
    q: str = ""
    column: str = ""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Filters:
        """Parse a query; invalid values are left out."""
        column = query.get("column", "")
        return cls(
            channel=_number(query.get("channel", "")),
            author=ME if query.get("author") == ME else _number(query.get("author", "")),
            q=" ".join(query.get("q", "").replace("\0", "").split())[:PALETTE_LENGTH],
            column=column if column in Column.values else "",
        )

    @property
    def is_narrow(self) -> bool:
        """Whether articles are left out."""
        return bool(self.channel or self.author or self.q)

    def query(self, **changes: str) -> str:
        """The query string with some changes."""
        values = vars(replace(self, **changes))
        given = {name: values[name] for name in ("channel", "author", "q", "column") if values[name]}
        return f"?{urlencode(given)}" if given else ""

    def table_query(self, **more: str) -> str:
        """The query of the article list with the same filters."""
        whose = {"whose": "mine"} if self.author == ME else {"author": self.author}
        values = {**more, "channel": self.channel, **whose, "q": self.q}
        return "?" + urlencode({name: value for name, value in values.items() if value})

    def conditions(self, by: Actor, prefix: str = "") -> list[Q]:
        """The articles of each are shown; `prefix` is the path from another model."""
        wanted = Q(**{f"{prefix}channel": self.channel}) if self.channel else Q()
        if self.q:
            wanted &= Q(**{f"{prefix}pk__in": self.found})
        if not self.author:
            return [wanted]
        user = by.pk if self.author == ME else self.author
        return [wanted & Q(**{f"{prefix}{name}": user}) for name in ("author", "owner")]

    @cached_property
    def found(self) -> list[Any]:
        """The keys of the articles that match the search."""
        articles = Article.objects.filter(pk__in=matching(self.q, Article.objects.all()))
        return [0, *articles.order_by("-updated_at", "-pk").values_list("pk", flat=True)[:MOST_FOUND]]


def _number(text: str) -> str:
    return text if number_or_zero(text) else ""
