"""Texts of word processors: lists become lists, and what is not shown there is removed. Linear in time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

_OFFICE = re.compile(r"\bmso-|\bMso[A-Z]|<o:p\b|urn:schemas-microsoft-com", re.IGNORECASE)
_SIGNS = ("mso", "<o:p", "urn:schemas")
_HIDDEN = re.compile(r"<(span|p|a|b|i)\b(?=[^<>]*\bmso-hide:\s*all)[^<>]*+>[^<>]*+</\1\s*>", re.IGNORECASE)
_ITEM = re.compile(
    r"<p\b(?=[^<>]*\bmso-list:\s*[^\s:;\"'<>]++\s++level(?P<level>[1-9]))[^<>]*+>"
    r"(?P<inner>[^<]*(?:<(?!/?p\b)[^<]*)*)</p\s*>\s*",
    re.IGNORECASE,
)
_MARK = re.compile(
    r"<span\b(?=[^<>]*\bmso-list:\s*Ignore)[^<>]*+>(?P<mark>[^<>]*)(?:<span\b[^<>]*>[^<>]*</span>)?[^<>]*</span>",
    re.IGNORECASE,
)
_ISLAND = re.compile(r"<(xml|title)\b[^<>]*>[^<]*(?:<(?!/?\1\b)[^<]*)*</\1\s*>", re.IGNORECASE)
_ORDERED = re.compile(r"\s*(?:\d+|[a-z]{1,4})[.)]", re.IGNORECASE)
_TITLE = re.compile(r"<p\b(?=[^<>]*\bMsoTitle\b)[^<>]*+>([^<]*(?:<(?!/?p\b)[^<]*)*)</p\s*>", re.IGNORECASE)
_EMPTY = re.compile(r"<p\b[^<>]*>\s*(?:<o:p>\s*)?(?:&nbsp;\s*)*(?:</o:p>\s*)?</p\s*>\s*", re.IGNORECASE)


def contains_any(html: str, words: Iterable[str]) -> bool:
    """Whether `html` has one of these words in lower case; in ordinary texts many times as fast as an expression."""
    lower = html.lower()
    return any(word in lower for word in words)


class _Item(NamedTuple):
    """A paragraph that its program shows as an item of a list, at this level of lists within lists."""

    level: int
    tag: str
    inner: str


def without_office(html: str) -> str:
    """`html` of Word or LibreOffice as others write it; other HTML unchanged."""
    if not contains_any(html, _SIGNS) or not _OFFICE.search(html):
        return html
    html = _TITLE.sub(r"<h2>\1</h2>", _EMPTY.sub("", _HIDDEN.sub("", _ISLAND.sub("", html))))
    return "".join(_parts(html))


def _parts(html: str) -> Iterator[str]:
    """The text, with a list for each run of items without text between them."""
    items: list[_Item] = []
    end = 0
    for found in _ITEM.finditer(html):
        if found.start() != end:
            yield from (_listed(items), html[end : found.start()])
            items = []
        items.append(_item(found))
        end = found.end()
    yield from (_listed(items), html[end:])


def _item(found: re.Match[str]) -> _Item:
    mark = _MARK.search(found["inner"])
    is_ordered = mark is not None and _ORDERED.match(mark["mark"])
    return _Item(int(found["level"]), "ol" if is_ordered else "ul", _MARK.sub("", found["inner"]).strip())


def _listed(items: list[_Item]) -> str:
    parts: list[str] = []
    opened: list[str] = []
    for item in items:
        parts += (f"</li></{opened.pop()}>" for _each in range(len(opened) - item.level))
        if len(opened) == item.level:
            parts.append("</li><li>")
        while len(opened) < item.level:
            opened.append(item.tag)
            parts.append(f"<{item.tag}><li>")
        parts.append(item.inner)
    return "".join([*parts, *(f"</li></{tag}>" for tag in reversed(opened))])
