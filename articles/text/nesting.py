"""Limit the nesting depth of HTML in linear time, because parsers need quadratic time and memory for deep nesting.

One pass reads the tags as a parser does (https://html.spec.whatwg.org/multipage/parsing.html) and writes each end tag
that the standard implies. So the parser has exactly those elements open that this pass has: what it counts is what is
built. Tags that the sanitiser removes anyway are dropped here, so that no rule of theirs matters.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

from articles.limits import HTML_DEPTH

_FEW = 10  # tags that are not worth a look

_SPACE = r"[\t\n\f\r ]"
_ATTRIBUTE = (
    rf"[^\t\n\f\r />][^\t\n\f\r />=]*+(?:{_SPACE}*+=(?:{_SPACE}*+"
    r"(?:\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z)|[^\t\n\f\r \"'>][^\t\n\f\r >]*+))?)?"
)
_TOKEN = re.compile(
    r"<!--(?:-?>|(?s:.)*?(?:--!?>|\Z))"
    r"|<(?:[!?]|/(?![a-z]|\Z))[^>]*+(?:>|\Z)"
    rf"|<(?P<end>/?)(?P<name>[a-z][^\t\n\f\r />]*+)(?:[\t\n\f\r /]++|{_ATTRIBUTE})*(?:>|\Z)",
    re.IGNORECASE | re.ASCII,
)
"""A comment or a tag; what is unfinished reaches to the end, as in a parser, so each character is read once."""

_VOID = {"br", "hr", "img", "source"}
_COLUMNS = {"col", "colgroup"}
_HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
_CLOSES_PARAGRAPH = _HEADINGS | {
    *("address", "article", "aside", "blockquote", "center", "dd", "details", "div", "dl", "dt", "figcaption"),
    *("figure", "footer", "header", "hr", "li", "main", "nav", "ol", "p", "pre", "section", "summary", "table", "ul"),
}
_PHRASES = {
    *("a", "abbr", "audio", "b", "big", "cite", "code", "del", "dfn", "em", "font", "i", "ins", "kbd", "mark", "o"),
    *(
        "picture",
        "q",
        "s",
        "samp",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "time",
        "tt",
        "u",
        "var",
        "video",
    ),
}
_CELLS = {"td", "th"}
_ROW_GROUPS = {"tbody", "tfoot", "thead"}
_TABLE_PARTS = {"caption", "tr", *_CELLS, *_ROW_GROUPS}
_SCOPE = {"caption", "table", "td", "th"}
"""Elements that an end tag within does not reach through."""

_BLOCKS = _CLOSES_PARAGRAPH - _VOID | _TABLE_PARTS
_ITEMS = {"li": {"li"}, "dd": {"dd", "dt"}, "dt": {"dd", "dt"}}
_AROUND_ITEMS = _BLOCKS - {"address", "div", "p"}
"""Blocks that keep a list item open when they are in it."""

_PARENTS = {
    "caption": ["table"],
    **dict.fromkeys(_ROW_GROUPS, ["table"]),
    "tr": ["table", "tbody"],
    **dict.fromkeys(_CELLS, ["table", "tbody", "tr"]),
}
"""In which elements a part of a table is; those below the table are implied."""

_IN_TABLES = _COLUMNS | _TABLE_PARTS
_PARTS_OR_TABLE = _TABLE_PARTS | {"table"}
_AROUND = {**dict.fromkeys(_TABLE_PARTS, {"table"}), "li": {"ol", "ul", *_SCOPE}}
"""Elements that an end tag of this name does not reach through, unless they are `_SCOPE`."""

_PARAGRAPH, _LINK, _TABLE = ["p"], ["a"], ["table"]
_KNOWN = _PHRASES | _BLOCKS | _VOID | _COLUMNS

_FLAT = re.compile(
    rf"(?:<p>[^<]*+(?:<(?P<name>{'|'.join(sorted(_PHRASES, key=len, reverse=True))})(?: [a-z]++=\"[^\"<>]*+\")*>"
    r"[^<]*+</(?P=name)>[^<]*+)*</p>\s*+)+"
)
"""Paragraphs of text with phrases in which are no others, as most are: they stay as they are."""

_TEXT = {"iframe", "noembed", "noframes", "script", "style", "textarea", "title", "xmp"}
"""Elements in which tags are text."""

_REMOVED = {"script", "style"}
_ENTITIES = {"textarea", "title"}
_END_OF = {name: re.compile(rf"</{name}(?=[\t\n\f\r />])", re.IGNORECASE | re.ASCII) for name in _TEXT}
_DROPPED = "<!>"  # an empty comment: without it, the text around it could become a tag


@lru_cache(maxsize=4)  # `clean_html` and `plain_text` read the same text, one after the other
def limit_nesting(html: str) -> str:
    """`html` without tags that are too deep, unknown or end nothing; all text stays, but that of scripts."""
    return html if html.count("<") <= _FEW else _Limiter().limit(html)


@dataclass(slots=True)
class _Element:
    """An open element. One that has ended stays open until the blocks in it are closed."""

    name: str
    has_ended: bool = False


class _Limiter:
    """Follows the open elements, and collects the text and the tags that stay, and implied end tags."""

    def __init__(self) -> None:
        self._open: list[_Element] = []
        self._count: Counter[str] = Counter()  # of open elements by name
        self._dropped: Counter[str] = Counter()
        self._parts: list[str] = []

    def limit(self, html: str) -> str:
        """What stands for `html`."""
        place, write = 0, self._parts.append
        while found := _TOKEN.search(html, place):
            write(html[place : found.start()])
            if not self._open and not self._dropped and (flat := _FLAT.match(html, found.start())):
                write(flat[0])
                place = flat.end()
                continue
            place, name, is_end = found.end(), _name(found), bool(found["end"])
            if name in _TEXT and not is_end:
                end = _END_OF[name].search(html, place)
                start, place = place, end.start() if end else len(html)
                write(_without_tags(name, html[start:place]))
            elif is_end:
                self._end(name)
            else:
                self._start(name, found[0])
        write(html[place:])
        return "".join(self._parts)

    def _start(self, name: str, tag: str) -> None:
        """Write what stands for a start tag."""
        if name not in _KNOWN or (name in _IN_TABLES and not self._count["table"]):
            self._parts.append(_DROPPED)
            return
        self._close_before(name)
        if name in _VOID or name in _COLUMNS:
            self._parts.append(tag)
        elif len(self._open) >= HTML_DEPTH or (name == "a" and self._count["a"]):
            self._dropped[name] += 1
            self._parts.append(_DROPPED)
        else:
            self._parts.append(tag)
            self._push(name)

    def _close_before(self, name: str) -> None:
        """End what the standard ends before it opens this element."""
        if name in _IN_TABLES:
            self._close_in_table(_PARENTS.get(name, _TABLE))
        if name in _ITEMS:
            self._close(self._find(_ITEMS[name], within=_AROUND_ITEMS))
        if name in _CLOSES_PARAGRAPH and self._count["p"]:
            self._close(self._find(_PARAGRAPH, within=_SCOPE))
        if name in _HEADINGS and self._open and self._open[-1].name in _HEADINGS:
            self._close(len(self._open) - 1)
        if name == "a" and self._count["a"]:
            self._close(self._find(_LINK, within=_BLOCKS))
        if name == "table" and self._is_between_rows():
            self._close(self._find(_TABLE))

    def _close_in_table(self, parents: list[str]) -> None:
        """End what is open in the innermost table, but not these parents of what comes, and add implied ones."""
        place = self._find(parents if "tbody" not in parents else {*parents, *_ROW_GROUPS})
        self._close(None if place is None else place + 1)
        found = self._open[-1].name
        missing = parents[parents.index("tbody" if found in _ROW_GROUPS else found) + 1 :]
        for name in missing:
            self._push(name)

    def _push(self, name: str) -> None:
        self._open.append(_Element(name))
        self._count[name] += 1

    def _is_between_rows(self) -> bool:
        """Whether a table is open, but no cell or caption of it."""
        place = self._find(_PARTS_OR_TABLE) if self._count["table"] else None
        return place is not None and self._open[place].name not in {"caption", *_CELLS}

    def _end(self, name: str) -> None:
        """Write what stands for an end tag; one that ends nothing is dropped."""
        if name in _COLUMNS:
            self._parts.append(f"</{name}>")
        elif self._dropped[name]:
            self._dropped[name] -= 1
            self._parts.append(_DROPPED)
        elif name in _PHRASES:
            self._end_phrase(name)
        else:
            place = self._find(_HEADINGS if name in _HEADINGS else (name,), within=_AROUND.get(name, _SCOPE))
            if place is None:
                self._parts.append(_DROPPED)
            self._close(place)

    def _end_phrase(self, name: str) -> None:
        place = self._find((name,)) if self._count[name] else None
        if place is None:
            self._parts.append(_DROPPED)
        elif _BLOCKS.isdisjoint(element.name for element in self._open[place:]):
            self._close(place)
        else:
            self._open[place].has_ended = True
            self._parts.append(_DROPPED)

    def _find(self, names: Collection[str], *, within: Collection[str] = ()) -> int | None:
        """The innermost of these open elements, unless one of `within` is in between."""
        place = len(self._open)
        for element in reversed(self._open):
            place -= 1
            if element.name in names:
                return place
            if element.name in within:
                return None
        return None

    def _close(self, place: int | None) -> None:
        """Write the end tags of the elements from this place on, if there is one."""
        while place is not None and (len(self._open) > place or (self._open and self._open[-1].has_ended)):
            name = self._open.pop().name
            self._count[name] -= 1
            self._parts.append(f"</{name}>")


def _name(tag: re.Match[str]) -> str:
    name = tag["name"] or ""
    return name.lower() if name.isascii() else ""


def _without_tags(name: str, text: str) -> str:
    """The content of an element whose tags are text, without its own tags."""
    if name in _REMOVED:
        return _DROPPED
    text = text if name in _ENTITIES else text.replace("&", "&amp;")
    return _DROPPED + text.replace("<", "&lt;")
