"""What changed between two revisions, in the words of the newsroom."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from articles.diffing import NAMES
from articles.models import Article, Material, Revision, Update
from articles.models.revision import CONTEXT_TIMES
from articles.times import spoken_exactly


def what_changed(older: Revision, newer: Revision) -> list[str]:
    """The names of what differs; times with what they were and are."""
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
    yield from _pictures(older.get("pictures"), newer.get("pictures"))


def _pictures(older: object, newer: object) -> Iterator[str]:
    """What is said of pictures that both show."""
    if not isinstance(older, dict) or not isinstance(newer, dict):
        return
    both = older.keys() & newer.keys()
    for name in Material.SHOWN:
        if any(older[pk].get(name) != newer[pk].get(name) for pk in both):
            yield str(Material._meta.get_field(name).verbose_name)  # type: ignore[union-attr]


def _time(value: object) -> str:
    return spoken_exactly(datetime.fromisoformat(value)) if isinstance(value, str) else "—"
