"""Parts of exported records, and reading rows for them in constant memory."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, TypeVar

from django.conf import settings
from django.db import models

from articles.exchange.external_id import identity
from articles.exchange.fields import tidy
from articles.models import LINES, Article, CoverMode, Revision
from articles.text import clean_html

_Row = TypeVar("_Row", bound=models.Model)


def pages(rows: models.QuerySet[_Row], size: int) -> Iterator[list[_Row]]:
    """All rows by their ids, in pages; the database driver would load the whole of one long result."""
    page = list(rows.order_by("pk")[:size])
    while page:
        last = page[-1].pk
        yield page
        page.clear()  # or two pages would be in memory
        page = list(rows.filter(pk__gt=last).order_by("pk")[:size])


def external_id_of(article: Article) -> str:
    """Its id in files."""
    return article.external_id or identity(article)


def text_fields(text: Article | Revision) -> dict[str, Any]:
    """The text of an article or revision, but for channel and tags."""
    return {
        **{name: tidy(getattr(text, name)) for name in LINES},
        "slug": text.slug,
        "body": tidy(clean_html(text.body, base=f"{settings.SITE_URL}/")),
        "body_format": "html",
        "cover_mode": text.cover_mode,
        "cover": [] if text.cover_mode == CoverMode.AUTO else text.cover,
    }


def moment(at: datetime | None) -> str | None:
    """A time in a file."""
    return at.astimezone(UTC).isoformat() if at else None
