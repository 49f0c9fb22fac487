"""Read-only rows of the article form; all show the newest text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any

from django.contrib import admin
from django.db.models import prefetch_related_objects
from django.utils.translation import gettext, gettext_lazy

from articles.models import LINES, Article, Channel, CoverMode, Image, Text, named
from articles.pages import newest_text
from articles.templatetags.newsroom import prose

Row = Callable[[Article], Any]


def _row(name: str, read: Callable[[Text], Any]) -> Row:
    """A row that shows `read` of the newest text."""

    def row(article: Article) -> Any:
        prefetch_related_objects([article], "tags")  # the form asks each row for its value several times
        return read(newest_text(article)[0]) or "—"

    row.__name__ = f"{name}_shown"
    label = Article._meta.get_field(name).verbose_name  # type: ignore[union-attr]
    return admin.display(description=label)(row)


def _channel(text: Text) -> Channel | None:
    return Channel.objects.filter(pk=text.channel_id).first() if text.channel_id else None


def _cover(text: Text) -> str:
    return gettext(", ").join(map(str, Image.objects.named(text.cover)))


READING: Mapping[str, Row] = {
    **{name: _row(name, attrgetter(name)) for name in (*LINES, "slug")},
    "body": _row("body", lambda text: prose(text.body)),
    "cover_mode": _row("cover_mode", lambda text: CoverMode(text.cover_mode).label),
    "cover": _row("cover", _cover),
    "channel": _row("channel", _channel),
    "tags": _row("tags", lambda text: gettext(", ").join(text.tags)),
}
"""Row by field name."""


@admin.display(description=gettext_lazy("author"))
def author_shown(article: Article) -> str:
    """The author's display name."""
    return named(article.author)
