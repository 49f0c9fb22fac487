"""Places between two articles, in the order of time: where a page of any list begins.

Addresses name them signed: who makes one by hand finds nothing, and an article that is withdrawn meanwhile leaves
readers where they were.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from django.core.signing import Signer
from django.db.models import Q

from articles.models import Article

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TICK = timedelta(microseconds=1)


class Cursor(NamedTuple):
    """Beside the article of this time and number."""

    moment: datetime
    pk: int

    def __str__(self) -> str:
        """As addresses name it."""
        return _signer().sign(f"{(self.moment - _EPOCH) // _TICK}.{self.pk}")

    @classmethod
    def read(cls, text: str) -> Cursor:
        """The place that an address names. Raises `BadSignature`."""
        ticks, pk = _signer().unsign(text).split(".")
        return cls(_EPOCH + int(ticks) * _TICK, int(pk))

    @property
    def older(self) -> Q:
        """What comes after it when the newest is first. The plain bound is what an index can use."""
        return Q(publish_at__lte=self.moment) & (Q(publish_at__lt=self.moment) | Q(pk__lt=self.pk))

    @property
    def newer(self) -> Q:
        """What comes before it when the newest is first."""
        return Q(publish_at__gte=self.moment) & (Q(publish_at__gt=self.moment) | Q(pk__gt=self.pk))


def cursor_of(article: Article) -> Cursor:
    """The place of `article` in every list."""
    return Cursor(article.publish_at or _EPOCH, article.pk)  # what is live has a time


def _signer() -> Signer:
    return Signer(salt="place", sep="~")
