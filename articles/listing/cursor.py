"""The keyset cursor of article lists, which are ordered by `goes_live_at` and primary key.

It holds values instead of referring to an article, so it stays valid when that article is unpublished.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from django.db.models import Q

from articles.models import Article
from headline.cursors import decode, encode

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TICK = timedelta(microseconds=1)
_ORDER = "newest first"


class Cursor(NamedTuple):
    """A position next to the article with this time and primary key."""

    moment: datetime
    pk: int

    def __str__(self) -> str:
        """Encoded and signed, for URLs."""
        return encode(_ORDER, self.values)

    @classmethod
    def decode(cls, text: str) -> Cursor:
        """The cursor in a URL. Raises `InvalidCursor`."""
        return cls.at(*decode(_ORDER, text))

    @classmethod
    def at(cls, microseconds: int, pk: int) -> Cursor:
        """The cursor with these `values`."""
        return cls(_EPOCH + microseconds * _TICK, pk)

    @property
    def values(self) -> list[int]:
        """Its time, in microseconds, and primary key, for cursors of other orders."""
        return [(self.moment - _EPOCH) // _TICK, self.pk]

    @property
    def older(self) -> Q:
        """Articles after it, newest first. The redundant bound on `goes_live_at` lets the database use an index."""
        return Q(goes_live_at__lte=self.moment) & (Q(goes_live_at__lt=self.moment) | Q(pk__lt=self.pk))

    @property
    def newer(self) -> Q:
        """Articles before it, newest first."""
        return Q(goes_live_at__gte=self.moment) & (Q(goes_live_at__gt=self.moment) | Q(pk__gt=self.pk))


def cursor_of(article: Article) -> Cursor:
    """The cursor of `article`, the same in every list."""
    return Cursor(article.goes_live_at or _EPOCH, article.pk)  # live articles have a time
