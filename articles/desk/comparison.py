"""Shows a comparison: the rendered old and new text side by side, and in one column for narrow windows.

What is shown is written here, tag by tag, from text, formats and links: no HTML of the compared texts gets through.
Media load only from the image library.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.utils.html import escape, format_html
from django.utils.safestring import mark_safe
from django.utils.translation import gettext as _, ngettext

from articles.images import markup
from articles.models import Image
from articles.publishing import FieldDiff, notes
from articles.text import (
    Cell,
    Change,
    InlineMedia,
    Look,
    Piece,
    Row,
    RowChange,
    Shape,
    TableRow,
    is_harmless,
    reference,
    unchanged,
    visible,
)

_CONTEXT = 1
"""Unchanged blocks that are shown before and after a change."""

_MOST_SKIPPED = 40
"""Unchanged blocks that can be unfolded."""

_MOST_SHOWN = 20_000
"""Bytes of HTML of a field after which a page that is cut ends; with its frame it has 64 kB."""

_WIDE = "(min-width: 64rem) 24rem, 80vw"

_FORMATS = {
    "bold": "strong",
    "italic": "em",
    "underlined": "u",
    "struck": "s",
    "code": "code",
    "quoted": "q",
    "small": "small",
    "subscript": "sub",
    "superscript": "sup",
}
"""The element of each format. Insertions and deletions that the author marked are none of this comparison's."""

_BLOCKS = {"blockquote", "dd", "dl", "dt", "li", "ol", "pre", "ul"}

Marked = Callable[[str], str]
"""Escapes text, and may mark words of it."""

_OLD, _NEW = {Change.KEPT, Change.REMOVED}, {Change.KEPT, Change.ADDED}
_ALL = {*Change}


@dataclass(frozen=True)
class ShownRow:
    """A row as HTML: both sides, of which narrow windows show `inline` instead if there is one, or that alone."""

    change: RowChange
    title: str = ""
    old: str = ""
    new: str = ""
    inline: str = ""
    notes: Sequence[str] = ()
    skipped: Sequence[str] = ()  #: unchanged blocks between others, folded
    is_more: bool = False  #: it stands for all that follows, which can be shown

    @property
    def size(self) -> int:
        """Bytes of its HTML."""
        return sum(len(part.encode()) for part in (self.old, self.new, self.inline, *self.skipped)) + 200

    @property
    def is_kept(self) -> bool:
        """Whether both sides are equal."""
        return self.change is RowChange.KEPT


def shown(field: FieldDiff, marked: Marked = escape, *, is_cut: bool = False) -> list[ShownRow]:
    """The rows of a field; long unchanged parts are folded. Those of a page that is cut end after some."""
    rows = [*_with_context(field)]
    found = _Shower(rows, marked).rows()
    return [*(_first(found, rows) if is_cut else found)]


def _first(found: Iterable[ShownRow], rows: Sequence[Row | list[Row] | int]) -> Iterator[ShownRow]:
    """As many as a page that is cut shows, and how many changes follow."""
    changes = [isinstance(one, Row) and one.change is not RowChange.KEPT for one in rows]
    size, left = 0, sum(changes)
    for row, is_change in zip(found, changes, strict=True):
        if size > _MOST_SHOWN and left:
            title = ngettext("%d more change", "%d more changes", left) % left
            yield ShownRow(RowChange.OMITTED, title, is_more=True)
            return
        yield row
        size, left = size + row.size, left - is_change


def _with_context(field: FieldDiff) -> Iterator[Row | list[Row] | int]:
    """Rows, folded rows, and the number of rows that are not shown."""
    for number, row in enumerate(field.rows):
        if row.change is not RowChange.KEPT:
            yield row
            continue
        first = row.new or 0
        blocks = field.blocks[first : first + row.count]
        before = _CONTEXT if number else 0
        after = _CONTEXT if number < len(field.rows) - 1 else 0
        middle = blocks[before : len(blocks) - after]
        if len(middle) < 2:
            yield from map(unchanged, blocks)
            continue
        yield from map(unchanged, blocks[:before])
        yield [unchanged(block) for block in middle] if len(middle) <= _MOST_SKIPPED else len(middle)
        yield from map(unchanged, blocks[len(blocks) - after :])


class _Shower:
    def __init__(self, rows: Sequence[Row | list[Row] | int], marked: Marked) -> None:
        self._rows, self._marked = rows, marked
        found = [
            row for part in rows if not isinstance(part, int) for row in (part if isinstance(part, list) else [part])
        ]
        self._images = _images(found)
        self._places = {(row.change, row.old): place for place, row in enumerate(found)}

    def rows(self) -> Iterator[ShownRow]:
        for part in self._rows:
            if isinstance(part, Row):
                yield self._row(part)
            else:
                count = part if isinstance(part, int) else len(part)
                title = ngettext("%d unchanged paragraph", "%d unchanged paragraphs", count) % count
                skipped = [] if isinstance(part, int) else [self._side(row, row.shape, _ALL) for row in part]
                yield ShownRow(RowChange.KEPT, title, skipped=skipped)

    def _row(self, row: Row) -> ShownRow:
        change = row.change
        if change is RowChange.OMITTED:
            title = ngettext("%d more paragraph is not compared", "%d more paragraphs are not compared", row.count)
            return ShownRow(change, title % row.count)
        if change in (RowChange.MOVED, RowChange.MOVED_AWAY):
            whole = self._side(row, row.shape or row.was, _ALL)
            return ShownRow(change, self._title(row), inline=whole, notes=notes(row))
        old = self._side(row, row.was, _OLD) if change is not RowChange.ADDED else ""
        new = self._side(row, row.shape, _NEW) if change is not RowChange.REMOVED else ""
        is_mixed = row.table or any(piece.change is Change.KEPT for piece in row.pieces)
        inline = self._side(row, row.shape or row.was, _ALL) if is_mixed and change is not RowChange.KEPT else ""
        return ShownRow(change, "", old, new, inline, notes(row))

    def _title(self, row: Row) -> str:
        """Of a row that moved."""
        places = self._places
        from_above = places.get((RowChange.MOVED_AWAY, row.old), 0) < places.get((RowChange.MOVED, row.old), 0)
        if row.change is RowChange.MOVED:
            return _("Moved here from further up") if from_above else _("Moved here from further down")
        return _("Moved further down") if from_above else _("Moved further up")

    def _side(self, row: Row, shape: Shape | None, changes: Collection[Change]) -> str:
        """A block with the pieces of these changes."""
        if row.table:
            return self._table(row.table, changes)
        return _in_block(shape or Shape("p"), self._pieces(row.pieces, changes))

    def _pieces(self, pieces: Sequence[Piece], changes: Collection[Change]) -> str:
        is_both = len(changes) == len(_ALL)
        again = {piece.media.address for piece in pieces if piece.media and piece.change is Change.ADDED and is_both}
        parts = []
        for piece in pieces:
            is_seen_below = piece.media and piece.change is Change.REMOVED and piece.media.address in again
            if piece.change in changes and not is_seen_below:
                is_old = Change.ADDED not in changes and piece.was is not None
                look = piece.was if is_old and piece.was else piece.look
                parts.append(self._piece(piece, look))
        return "".join(parts)

    def _piece(self, piece: Piece, look: Look) -> str:
        if piece.media:
            which = {Change.REMOVED: _("Removed"), Change.ADDED: _("Added")}.get(piece.change)
            text = format_html('<span class="diff-which">{}</span>', which) if which else ""
            text += self._media(piece.media) * len(piece.text)
        else:
            text = escape(piece.text) if piece.change is Change.REMOVED else self._marked(piece.text)
        for name in look.formats:
            element = _FORMATS.get(name)
            text = f"<{element}>{text}</{element}>" if element else f'<span class="diff-{name}">{text}</span>'
        if look.link:
            text = _link(look.link, text)
        text += _unseen(piece)
        if piece.change is Change.KEPT:
            return f'<span class="diff-look">{text}</span>' if piece.was else text
        element = "ins" if piece.is_added else "del"
        return f"<{element}>{text}</{element}>"

    def _media(self, media: InlineMedia) -> str:
        """An image of the library; of all else, what it is and where."""
        pk = reference(media.address) if media.kind == "image" else None
        if pk and (image := self._images.get(pk)):
            return markup(image, alt=media.alt, sizes=_WIDE, is_small=True)
        kinds = {"image": _("Image"), "sound": _("Sound"), "film": _("Film")}
        where = _("no longer in the library") if pk else _host(media.address)
        parts = [kinds[media.kind], where, media.alt]
        return format_html('<span class="diff-media">{}</span>', " · ".join(filter(None, parts)))

    def _table(self, rows: Iterable[TableRow], changes: Collection[Change]) -> str:
        found = mark_safe("".join(self._table_row(row, changes) for row in rows))  # noqa: S308 (escaped there)
        start = format_html('<div class="diff-table" role="group" aria-label="{}" tabindex="0">', _("Table"))
        return f"{start}<table>{found}</table></div>"

    def _table_row(self, row: TableRow, changes: Collection[Change]) -> str:
        if not row.cells and row.count:
            text = ngettext("%d unchanged row", "%d unchanged rows", row.count)
            if row.change is RowChange.OMITTED:
                text = ngettext("%d more row is not compared", "%d more rows are not compared", row.count)
            return format_html('<tr class="diff-rows"><td colspan="99">{}</td></tr>', text % row.count)
        if row.change in (RowChange.ADDED, RowChange.REMOVED) and Change(row.change) not in changes:
            return ""
        cells = (self._cell(cell, changes) for cell in row.cells if cell.change is None or cell.change in changes)
        return f'<tr class="diff-row-{row.change}">{"".join(cells)}</tr>'

    def _cell(self, cell: Cell, changes: Collection[Change]) -> str:
        element = "th" if cell.tag == "th" else "td"
        width = 99 if cell.tag == "caption" else cell.colspan
        span = f' colspan="{width}"' if width > 1 else ""
        return f"<{element}{span}>{self._pieces(cell.pieces, changes)}</{element}>"


def _unseen(piece: Piece) -> str:
    """What stands for a change of which nothing is seen, such as a line end or a zero-width space."""
    if piece.change is Change.KEPT or visible(piece.text).strip():
        return ""
    names = ["↵" if sign == "\n" else "␣" if sign.isspace() else f"U+{ord(sign):04X}" for sign in piece.text[:5]]
    return format_html('<span class="diff-unseen">{}</span>', " ".join(names))


def _images(rows: Iterable[Row]) -> Mapping[str, Image]:
    """The library's images in these rows, by id."""
    pieces = [piece for row in rows for piece in row.pieces]
    pieces += [piece for row in rows for line in row.table for cell in line.cells for piece in cell.pieces]
    ids = (reference(piece.media.address) for piece in pieces if piece.media and piece.media.kind == "image")
    return {str(image.pk): image for image in Image.objects.named(filter(None, ids))}


def _in_block(shape: Shape, text: str) -> str:
    """Text in the elements that readers see it in; a heading is none of this page's."""
    name = shape.tag if shape.tag in _BLOCKS else "div"
    html = f'<{name} class="diff-text diff-{shape.tag or "p"}">{text}</{name}>'
    if shape.tag == "hr":
        html = '<hr class="diff-hr">'
    for place, around in enumerate(reversed(shape.around)):
        element = around if around in _BLOCKS else "div"
        start = f' start="{shape.ordinal}"' if around == "ol" and not place else ""
        html = f"<{element}{start}>{html}</{element}>"
    return html


def _link(address: str, text: str) -> str:
    """A link that a reviewer can follow, in another window."""
    if address.startswith("#") or not is_harmless(address):
        return format_html('<span class="diff-link" title="{}">{}</span>', address, mark_safe(text))  # noqa: S308 (escaped)
    return format_html(
        '<a href="{}" title="{}" target="_blank" rel="noopener noreferrer">{}</a>',
        address,
        address,
        mark_safe(text),  # noqa: S308 (escaped)
    )


def _host(address: str) -> str:
    try:
        return urlsplit(address).netloc or address[:80]
    except ValueError:  # an invalid one, such as "//["
        return address[:80]
