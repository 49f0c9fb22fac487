"""What a comparison says in words beside the marked text: formats, links, images, kinds of blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import urlsplit

from django.utils.text import Truncator
from django.utils.translation import gettext as _

from articles.text import Change, InlineMedia, Look, Piece, Row, RowChange, Shape

_EXCERPT = 60  # characters
_MOST_EXCERPTS = 4


def notes(row: Row) -> list[str]:
    """Each change in the new text that its words do not show, such as “now bold: “harbour””."""
    if row.change not in (RowChange.ADDED, RowChange.CHANGED, RowChange.MOVED, RowChange.REPLACED):
        return []
    cells = [cell.pieces for line in row.table for cell in line.cells]
    found: dict[str, list[str]] = {}
    for pieces in (row.pieces, *cells):
        for said, text in (*_looks(pieces), *_links(pieces), *_media(pieces)):
            found.setdefault(said, []).append(text)
    sentences = [*_kinds(row), *(_with_excerpts(said, texts) for said, texts in found.items())]
    return sentences or (
        [_("only details of the markup, which readers do not see as text")] if _is_unchanged(row) else []
    )


def _is_unchanged(row: Row) -> bool:
    cells = (piece for line in row.table for cell in line.cells for piece in cell.pieces)
    is_same = all(piece.change is Change.KEPT for piece in (*row.pieces, *cells))
    return row.change is RowChange.CHANGED and is_same


def _with_excerpts(said: str, texts: Sequence[str]) -> str:
    """The sentence with the texts that it is about."""
    parts = [Truncator(" ".join(text.split())).chars(_EXCERPT) for text in texts if text.strip()]
    quoted = [_("“%s”") % part for part in dict.fromkeys(parts)]
    if not quoted:
        return said
    shown = _(", ").join(quoted[:_MOST_EXCERPTS]) + (" …" if len(quoted) > _MOST_EXCERPTS else "")
    return _("%(what)s: %(texts)s") % {"what": said, "texts": shown}


def _kinds(row: Row) -> Iterator[str]:
    """“heading level 2 → 3”, “paragraph → list item”."""
    if row.was is None or row.shape is None or row.was[:2] == row.shape[:2]:
        return
    was, now = _level(row.was), _level(row.shape)
    if was and now and row.was.around == row.shape.around:
        yield _("heading level %(old)d → %(new)d") % {"old": was, "new": now}
    elif (old := _kind(row.was)) != (new := _kind(row.shape)):
        yield _("%(old)s → %(new)s") % {"old": old, "new": new}


def _level(shape: Shape) -> int:
    return int(shape.tag[1]) if shape.tag[:1] == "h" and shape.tag[1:].isdigit() else 0


def _kind(shape: Shape) -> str:
    if level := _level(shape):
        kind = _("heading level %d") % level
    elif shape.tag == "li":
        kind = _("numbered list item") if shape.around[-1:] == ("ol",) else _("list item")
    else:
        names = {
            "caption": _("caption"),
            "dd": _("definition"),
            "dt": _("term"),
            "figure": _("image"),
            "hr": _("rule"),
            "pre": _("preformatted text"),
            "summary": _("summary of a box"),
            "table": _("table"),
        }
        kind = names.get(shape.tag) or _("paragraph")
    return _("%s in a quotation") % kind if "blockquote" in shape.around else kind


def _looks(pieces: Sequence[Piece]) -> Iterator[tuple[str, str]]:
    """Formats of unchanged text, and links that it had or has now, each with all of the text side by side."""
    said: dict[str, str] = {}
    for piece in pieces:
        before, said = said, {}
        for words in _look(piece.was, piece.look) if piece.was else ():
            said[words] = before.pop(words, "") + piece.text
        yield from before.items()
    yield from said.items()


def _look(was: Look, look: Look) -> Iterator[str]:
    for name in sorted({*look.formats} - {*was.formats}):
        yield _("now %s") % _format(name)
    for name in sorted({*was.formats} - {*look.formats}):
        yield _("no longer %s") % _format(name)
    if was.link != look.link:
        yield _link(was.link, look.link)


def _format(name: str) -> str:
    return {
        "bold": _("bold"),
        "italic": _("italic"),
        "underlined": _("underlined"),
        "struck": _("struck through"),
        "code": _("as code"),
        "highlighted": _("highlighted"),
        "quoted": _("in quotation marks"),
        "small": _("in small type"),
        "subscript": _("subscript"),
        "superscript": _("superscript"),
    }[name]


def _links(pieces: Sequence[Piece]) -> Iterator[tuple[str, str]]:
    """Links of text that was removed or added: their addresses are not seen in it."""
    there = {link for piece in pieces if piece.change is Change.KEPT for link in _both(piece)}
    sides = [_by_link(pieces, change, there) for change in (Change.REMOVED, Change.ADDED)]
    gone, new = (
        {link: text for link, text in side.items() if link not in other} for side, other in (sides, sides[::-1])
    )
    if len(gone) == len(new) == 1:
        yield _link(*gone, *new), [*new.values()][0]
        return
    for link, text in gone.items():
        yield _link(link, ""), text
    for link, text in new.items():
        yield _link("", link), text


def _by_link(pieces: Iterable[Piece], change: Change, there: set[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for piece in pieces:
        if piece.change is change and piece.look.link and piece.look.link not in there:
            found[piece.look.link] = found.get(piece.look.link, "") + piece.text
    return found


def _both(piece: Piece) -> list[str]:
    looks: list[Look] = [piece.look, *([piece.was] if piece.was else [])]
    return [look.link for look in looks if look.link]


def _link(old: str, new: str) -> str:
    """“link: a.example → b.example”."""
    if not old:
        return _("new link to %s") % _short(new)
    if not new:
        return _("no longer a link to %s") % _short(old)
    short = _host(old), _host(new)
    if short[0] == short[1] or not all(short):
        short = _short(old), _short(new)
    return _("link: %(old)s → %(new)s") % {"old": short[0], "new": short[1]}


def _short(address: str) -> str:
    return Truncator(address.removeprefix("https://").removeprefix("http://").removesuffix("/")).chars(80)


def _host(address: str) -> str:
    try:
        return urlsplit(address).netloc
    except ValueError:  # an invalid one, such as "//["
        return ""


def _media(pieces: Sequence[Piece]) -> Iterator[tuple[str, str]]:
    """Images that were replaced, and alt texts, which are not seen."""
    gone, new = (
        [piece.media for piece in pieces if piece.media and piece.change is change]
        for change in (Change.REMOVED, Change.ADDED)
    )
    for media in new:
        old = next((other for other in gone if other.address == media.address), None)
        if old is None and len(gone) == len(new) == 1:
            old = gone[0]
            yield _("image replaced") if media.kind == old.kind == "image" else _("media replaced"), ""
        if old is None or old.alt != media.alt:
            yield _alt(old, media), ""


def _alt(old: InlineMedia | None, new: InlineMedia) -> str:
    """“alt text: “a ship” → “a boat””."""
    now = _("“%s”") % new.alt if new.alt else _("none")
    if old is None:
        return _("alt text: %s") % now
    before = _("“%s”") % old.alt if old.alt else _("none")
    return _("alt text: %(old)s → %(new)s") % {"old": before, "new": now}
