"""The keyset cursor of article lists, which are ordered by `goes_live_at` and primary key.

It holds values instead of referring to an article, so it stays valid when that article is unpublished.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from django.db.models import Q

from articles.listing.keyset import beyond
from articles.listing.signed_cursor import decode_cursor, encode_cursor
from articles.models import Article

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TICK = timedelta(microseconds=1)
_ORDER = "newest first"
_FIELDS = ("goes_live_at", "pk")


class Cursor(NamedTuple):
    """A position next to the article with this time and primary key."""

    moment: datetime
    pk: int

    def __str__(self) -> str:
        """Encoded and signed, for URLs."""
        return encode_cursor(_ORDER, self.values)

    @classmethod
    def decode(cls, text: str) -> Cursor:
        """The cursor in a URL. Raises `InvalidCursor`."""
        return cls.at(*decode_cursor(_ORDER, text))

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
        """Articles after it, newest first."""
        return beyond(_FIELDS, self, "lt")

    @property
    def newer(self) -> Q:
        """Articles before it, newest first."""
        return beyond(_FIELDS, self, "gt")


def cursor_of(article: Article) -> Cursor:
    """The cursor of `article`, the same in every list."""
    return Cursor(article.goes_live_at or _EPOCH, article.pk)  # live articles have a time
