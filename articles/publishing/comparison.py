"""Comparing two revisions field by field."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.cache import caches
from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy

from articles.models import CONTEXT_TIMES, Article, Image, Revision, Text, Update
from articles.text import (
    FORMAT,
    MEDIA,
    MEDIA_PATH,
    Budget,
    Cell,
    Change,
    InlineMedia,
    Piece,
    Row,
    RowChange,
    Shape,
    TextBlock,
    compare_bodies,
    format_time_exactly,
    joined,
    spans,
    split,
    text_of,
    words,
)

_CACHED = 24 * 60 * 60  # seconds
_MOST_CACHED = 200_000  # characters

COMPARED_FIELDS = (*Text.FIELDS, "correction")


def changed_fields(older: Revision, newer: Revision) -> list[str]:
    """The labels of the fields that differ; times with their old and new values."""
    return [*_texts(older, newer), *_context(older.context or {}, newer.context or {})]


def _texts(older: Revision, newer: Revision) -> Iterator[str]:
    for name in COMPARED_FIELDS:
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
    rows: Sequence[Row]
    blocks: Sequence[TextBlock] = ()  #: of the new text, for the rows that are unchanged

    @property
    def pieces(self) -> list[Piece]:
        """The text of all rows in one, without formats, and with the alt text of images."""
        found: list[Piece] = []
        for row in self.rows:
            pieces = [
                Piece(piece.change, piece.media.alt if piece.media else piece.text) for piece in self._all_pieces(row)
            ]
            found += [*([Piece(pieces[0].change, "\n\n")] if found and pieces else []), *pieces]
        return joined(found)

    def _all_pieces(self, row: Row) -> Iterable[Piece]:
        if row.change is RowChange.KEPT:
            blocks = self.blocks[row.new or 0 : (row.new or 0) + row.count]
            return [Piece(Change.KEPT, "\n\n".join(text_of(spans(block.html)) for block in blocks))]
        cells = (piece for line in row.table for cell in line.cells for piece in (*cell.pieces, _between(cell)))
        return [*row.pieces, *cells]


def compare(old: Revision | None, new: Revision) -> list[FieldDiff]:
    """The fields in which `new` differs from `old`; with None, all that are not empty.

    Also the texts of images that both show, as "images".
    """
    budget = Budget()
    names = (name for name in COMPARED_FIELDS if (_value(old, name) if old else "") != _value(new, name))
    found = [_body(old, new, budget) if name == "body" else _field(name, old, new, budget) for name in names]
    shown = [*_image_texts(old.context or {}, new.context or {}, budget)] if old else []
    return [*found, *([FieldDiff("images", gettext_lazy("images"), shown)] if shown else [])]


def compare_texts(name: str, label: str, old: str, new: str) -> FieldDiff:
    """How one text differs from another, for a body or a line."""
    if name != "body":
        return FieldDiff(name, label, _line(old, new, Budget()))
    blocks = split(new)
    return FieldDiff(name, label, compare_bodies(split(old), blocks), blocks)


def _value(revision: Revision, name: str) -> object:
    return getattr(revision, "channel_id" if name == "channel" else name) or ""


def _field(name: str, old: Revision | None, new: Revision, budget: Budget) -> FieldDiff:
    if name == "cover":
        return FieldDiff(name, _label(name), _covers(old.cover if old else [], new.cover))
    return FieldDiff(name, _label(name), _line(_shown(old, name) if old else "", _shown(new, name), budget))


def _line(old: str, new: str, budget: Budget) -> list[Row]:
    shape = Shape("p")
    return [Row(RowChange.CHANGED, 0, 0, was=shape, shape=shape, pieces=tuple(words(old, new, budget)))]


def _body(old: Revision | None, new: Revision, budget: Budget) -> FieldDiff:
    """The body, from the cache if these revisions were compared before: they never change.

    The digests are in the key because a restored database may give the same ids to other texts. The caller has
    checked that the user may see both revisions.
    """
    blocks = split(new.body)
    label, key = _label("body"), ""
    if old and old.pk and new.pk:
        key = f"{FORMAT}:{old.pk}:{new.pk}:{old.digest[:16]}:{new.digest[:16]}"
    if key and (rows := caches["comparisons"].get(key)) is not None:
        return FieldDiff("body", label, rows, blocks)
    rows = compare_bodies(split(old.body) if old else [], blocks, budget)
    # Comparisons of the largest texts would push all others out of the memory of this process.
    if key and sum(_size(row) for row in rows) <= _MOST_CACHED:
        caches["comparisons"].set(key, rows, _CACHED)
    return FieldDiff("body", label, rows, blocks)


def _size(row: Row) -> int:
    """About the characters that it takes."""
    cells = (piece for line in row.table for cell in line.cells for piece in cell.pieces)
    return 100 + sum(len(piece.text) + 50 for piece in (*row.pieces, *cells))


def _covers(old: Sequence[str], new: Sequence[str]) -> list[Row]:
    """The images side by side; they are three at most."""
    names = {str(image.pk): str(image) for image in Image.objects.named([*old, *new])}
    both = set(old) & set(new) if sorted(old) != sorted(new) else set()  # of the same images, the order differs
    gone = tuple(_cover(pk, names, Change.REMOVED) for pk in old if pk not in both)
    pieces = (*gone, *(_cover(pk, names, Change.KEPT if pk in both else Change.ADDED) for pk in new))
    return [Row(RowChange.CHANGED, 0, 0, was=Shape("figure"), shape=Shape("figure"), pieces=pieces)]


def _cover(pk: str, names: Mapping[str, str], change: Change) -> Piece:
    return Piece(change, MEDIA, media=InlineMedia("image", f"{MEDIA_PATH}{pk}/", names.get(pk, "")))


def _image_texts(old: Mapping[str, Any], new: Mapping[str, Any], budget: Budget) -> Iterator[Row]:
    """Alt text, caption and credit of images that both show."""
    before, after = old.get("images"), new.get("images")
    if not isinstance(before, dict) or not isinstance(after, dict):
        return
    for pk in before.keys() & after.keys():
        for name in Image.SHOWN:
            texts = str(before[pk].get(name) or ""), str(after[pk].get(name) or "")
            if texts[0] != texts[1]:
                label = str(Image._meta.get_field(name).verbose_name)  # type: ignore[union-attr]
                image = _cover(pk, {}, Change.KEPT)
                pieces = (image, Piece(Change.KEPT, f"\n{label}: "), *words(*texts, budget))
                yield Row(RowChange.CHANGED, 0, 0, was=Shape("figure"), shape=Shape("figure"), pieces=pieces)


def _between(cell: Cell) -> Piece:
    return Piece(cell.change or Change.KEPT, " ")


def _shown(revision: Revision, name: str) -> str:
    value = getattr(revision, name)
    if name == "cover_mode":
        return str(revision.get_cover_mode_display())
    return gettext(", ").join(value) if isinstance(value, list) else str(value or "")


def _label(name: str) -> str | Promise:
    return Revision._meta.get_field(name).verbose_name  # type: ignore[union-attr]
