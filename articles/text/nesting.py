"""Limits how deep HTML is nested, in linear time, because parsers take quadratic time and memory for deep nesting.

Browsers flatten deep nesting as well: https://html.spec.whatwg.org/multipage/parsing.html builds a tree of any depth,
but Blink stops at 512 levels.
"""

from __future__ import annotations

import re
from collections import Counter

MAX_DEPTH = 100
MAX_FORMATTING = 10
"""Open elements such as <b>: a parser opens those again in each block that follows."""

_TAG = re.compile(r"<(/?)([a-z][^\s/>]*)", re.IGNORECASE)
_FORMATTING = {"b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"}
_UNNESTED = {
    *("a", "p", "li", "dt", "dd", "thead", "tbody", "tfoot", "tr", "td", "th", "colgroup", "option"),
    *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"),
}
"""Elements that are empty, or that a parser closes itself before it opens the next of their kind."""


def limit_nesting(html: str) -> str:
    """`html` without the tags that are nested deeper than the limits; no text is lost."""
    if html.count("<") <= MAX_FORMATTING:
        return html
    return _TAG.sub(_Limiter().tag, html)


class _Limiter:
    """The open elements at one place of a text, as far as they count."""

    def __init__(self) -> None:
        self._open: list[str] = []
        self._formatting: Counter[str] = Counter()
        self._dropped: Counter[str] = Counter()

    def tag(self, found: re.Match[str]) -> str:
        """The beginning of a tag; a dropped one becomes a comment, which ends where the tag does."""
        is_end, name = bool(found[1]), found[2].lower()
        if name in _UNNESTED:
            return found[0]
        keeps = self._end(name) if is_end else self._start(name)
        return found[0] if keeps else f"<!{found[1]}{found[2]}"

    def _start(self, name: str) -> bool:
        is_formatting = name in _FORMATTING
        if self._formatting.total() >= MAX_FORMATTING if is_formatting else len(self._open) >= MAX_DEPTH:
            self._dropped[name] += 1
            return False
        if is_formatting:
            self._formatting[name] += 1
        else:
            self._open.append(name)
        return True

    def _end(self, name: str) -> bool:
        if self._dropped[name]:
            self._dropped[name] -= 1
            return False
        if self._formatting[name]:
            self._formatting[name] -= 1
        elif name in self._open:
            while self._open.pop() != name:
                pass
        return True
