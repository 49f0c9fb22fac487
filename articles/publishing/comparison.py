"""Comparing two revisions field by field."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.functional import Promise
from django.utils.translation import gettext

from articles.models import CONTEXT_TIMES, Article, Image, Revision, Text, Update
from articles.text import Budget, Passage, Piece, format_time_exactly, joined, passages, readable

NAMES = (*Text.FIELDS, "correction")


def changed_fields(older: Revision, newer: Revision) -> list[str]:
    """The labels of the fields that differ; times with their old and new values."""
    return [*_texts(older, newer), *_context(older.context or {}, newer.context or {})]


def _texts(older: Revision, newer: Revision) -> Iterator[str]:
    for name in NAMES:
        attribute = "channel_id" if name == "channel" else name
        if getattr(older, attribute) != getattr(newer, attribute):
            yield str(Revision._meta.get_field(name).verbose_name)  # type: ignore[union-attr]


def _context(older: dict[str, object], newer: dict[str, object]) -> Iterator[str]:
    if not older:
        return
    for name in (*CONTEXT_TIMES, "update_at"):
        if older.get(name) != newer.get(name):
            model, column = (Update, "publish_at") if name == "update_at" else (Article, name)
            label = str(model._meta.get_field(column).verbose_name)  # type: ignore[union-attr]
            yield f"{label} ({_time(older.get(name))} → {_time(newer.get(name))})"
    if older.get("author") != newer.get("author"):
        yield str(Article._meta.get_field("author").verbose_name)
    yield from _images(older.get("images"), newer.get("images"))


def _images(older: object, newer: object) -> Iterator[str]:
    """The changed fields of images that both show."""
    if not isinstance(older, dict) or not isinstance(newer, dict):
        return
    both = older.keys() & newer.keys()
    for name in Image.SHOWN:
        if any(older[pk].get(name) != newer[pk].get(name) for pk in both):
            yield str(Image._meta.get_field(name).verbose_name)  # type: ignore[union-attr]


def _time(value: object) -> str:
    return format_time_exactly(datetime.fromisoformat(value)) if isinstance(value, str) else "—"


@dataclass(frozen=True)
class FieldDiff:
    """One field that differs."""

    name: str
    label: str | Promise
    passages: Sequence[Passage]

    @property
    def pieces(self) -> list[Piece]:
        """All passages in one."""
        return joined([piece for passage in self.passages for piece in passage.pieces])


def compare(old: Revision | None, new: Revision) -> list[FieldDiff]:
    """The fields in which `new` differs from `old`; with None, all that are not empty."""
    pairs = ((name, _shown(old, name) if old else "", _shown(new, name)) for name in NAMES)
    budget = Budget()
    return [
        FieldDiff(name, _label(name), passages(before, after, budget))
        for name, before, after in pairs
        if before != after
    ]


def _shown(revision: Revision, name: str) -> str:
    value = getattr(revision, name)
    if name == "cover":
        return gettext(", ").join(map(str, Image.objects.named(value)))
    if name == "cover_mode":
        return str(revision.get_cover_mode_display())
    text = gettext(", ").join(value) if isinstance(value, list) else str(value or "")
    return readable(text) if name == "body" else text


def _label(name: str) -> str | Promise:
    return Revision._meta.get_field(name).verbose_name  # type: ignore[union-attr]
