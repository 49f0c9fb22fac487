"""The blocks of a body, such as paragraphs, items and headings: for comparing and merging, and joined again."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from articles.limits import HTML_DEPTH
from articles.text.sanitize import TAGS, add_paragraphs, clean_html

TAG = re.compile(r'<(/?)([a-z][a-z0-9]*)((?:[ \t\n]++[a-z]++(?:="[^"<>]*+")?)*+)[ \t\n]*+/?>')
"""A tag as `clean_html` writes it; so it is safe to split text that has only such tags."""

_MAX_DEPTH = 2 * HTML_DEPTH  # a parser adds elements, such as bodies of tables
ADDED_TO_LINKS = ' rel="noopener noreferrer"'
_ADDED = re.compile(
    r' (?:colspan|rowspan)="1"|(?<=<li>)<p>|(?<=<t[dh]>)<p>|(?<=<t[dh] colspan="1" rowspan="1">)<p>'
    r"|</p>(?=</(?:li|t[dh])>)"
)
_VOID = {"br", "col", "hr", "img", "source"}
_INLINE = {
    *("a", "abbr", "audio", "b", "br", "cite", "code", "del", "dfn", "em", "i", "img", "ins", "kbd", "mark"),
    *("picture", "q", "s", "samp", "small", "source", "strong", "sub", "sup", "time", "u", "var", "video"),
}
_CONTAINERS = {"blockquote", "details", "dl", "ol", "ul"}
_TABLES = {"table", "tbody", "tfoot", "thead"}


class TextBlock(NamedTuple):
    """One block: HTML without its containers."""

    html: str
    path: tuple[str, ...]  #: the start tags of the containers around it, such as `<ul>`
    opened: int  #: how many of them also contain the block before
    ordinal: int  #: its place in its innermost container, from 1

    @property
    def tag(self) -> str:
        """The name of its element; "" for text without one."""
        found = TAG.match(self.html)
        return found[2] if found and found[2] not in _INLINE else ""

    @property
    def plain(self) -> str:
        """The HTML without what makes no difference to readers: what editor and sanitiser add by themselves."""
        html = self.html.replace(ADDED_TO_LINKS, "")
        return _ADDED.sub("", html) if html.startswith(("<li", "<t")) else html

    @property
    def around(self) -> tuple[str, ...]:
        """The names of its containers."""
        return tuple(name_of(tag) for tag in self.path)


def name_of(tag: str) -> str:
    """The name in a start tag."""
    return tag[1:].partition(" ")[0].rstrip(">")


def split(body: str) -> list[TextBlock]:
    """The blocks of a body, sanitised."""
    return _split(add_paragraphs(body), _CONTAINERS)


def split_html(html: str) -> list[TextBlock]:
    """The blocks of HTML that has its paragraphs, sanitised; rows of tables are blocks, too."""
    return _split(html, _CONTAINERS | _TABLES)


def _split(html: str, containers: set[str]) -> list[TextBlock]:
    try:
        return _blocks(html, containers)
    except _Unclean:  # most bodies are stored as `clean_html` writes them, which takes far longer than this
        return _blocks(clean_html(html), containers)


def rows(table: str) -> list[TextBlock]:
    """The rows of a table that `split` found, and its caption."""
    return [row for row in _blocks(table, _TABLES) if row.tag in ("caption", "tr")]


def cells(row: TextBlock) -> list[TextBlock]:
    """The cells of a row; a caption is its own cell."""
    return _blocks(row.html[row.html.index(">") + 1 : -len("</tr>")], set()) if row.tag == "tr" else [row]


def join(blocks: Iterable[TextBlock]) -> str:
    """HTML of these blocks in their containers, also of blocks of several bodies."""
    parts: list[str] = []
    path: tuple[str, ...] = ()
    is_loose = False
    for block in blocks:
        common = _common(path, block.path[: block.opened])
        if is_loose and not block.tag and common == len(path) == len(block.path):
            parts.append("<br>")  # of two versions; within one, they would be one block
        parts += [f"</{name_of(tag)}>" for tag in reversed(path[common:])]
        parts += [*block.path[common:], block.html]
        path, is_loose = block.path, not block.tag
    return "".join([*parts, *(f"</{name_of(tag)}>" for tag in reversed(path))])


def _common(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    if one is other:
        return len(one)
    pairs = zip(one, other, strict=False)
    return next((place for place, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


class _Unclean(Exception):
    """It has other tags than `clean_html` writes, or tags that do not match."""


def _blocks(body: str, containers: set[str]) -> list[TextBlock]:
    """Raises `_Unclean`."""
    blocks: list[TextBlock] = []
    path: tuple[str, ...] = ()
    ordinals = [0]
    stack: list[str] = []  # open elements, the containers first
    opened = begin = count = 0
    is_loose = False  # whether the block is text or inline elements without an element of their own

    def end_block(end: int) -> None:
        nonlocal opened
        if html := body[begin:end].strip():
            ordinals[-1] += 1
            blocks.append(TextBlock(html, path, opened, ordinals[-1]))
            opened = len(path)

    for found in TAG.finditer(body):
        count += 1
        is_end, name, depth = found[1], found[2], len(path)
        if name not in TAGS:
            raise _Unclean
        if is_end:
            if not stack or stack.pop() != name:
                raise _Unclean
            if len(stack) < depth:
                end_block(found.start())
                path, begin = path[:-1], found.end()
                opened = min(opened, len(path))
                ordinals.pop()
            elif len(stack) == depth and not is_loose:
                end_block(found.end())
                begin = found.end()
            continue
        is_outside = len(stack) == depth
        if is_outside and name not in _INLINE:
            end_block(found.start())
            begin, is_loose = found.start(), False
            if name in containers:
                path, begin = (*path, found[0]), found.end()
                ordinals.append(0)
            elif name in _VOID:
                end_block(found.end())
                begin = found.end()
        elif is_outside:
            is_loose = True
        if name not in _VOID:
            stack.append(name)
        if len(stack) > _MAX_DEPTH:
            raise _Unclean
    if stack or count != body.count("<"):
        raise _Unclean
    end_block(len(body))
    return blocks
