"""Limit the nesting depth of HTML in linear time, because parsers need quadratic time and memory for deep nesting.

Browsers limit it as well: https://html.spec.whatwg.org/multipage/parsing.html allows any depth, but Blink stops at 512
levels.
"""

from __future__ import annotations

import re
from collections import Counter

MAX_DEPTH = 100
MAX_FORMATTING = 10
"""Open elements such as <b>, which a parser reopens in each following block."""

_TAG = re.compile(r"<(/?)([a-z][^\s/>]*)", re.IGNORECASE)
_FORMATTING = {"b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"}
_UNNESTED = {
    *("a", "p", "li", "dt", "dd", "thead", "tbody", "tfoot", "tr", "td", "th", "colgroup", "option"),
    *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"),
}
"""Void elements, and elements that a parser closes before it opens the next one of the same kind."""


def limit_nesting(html: str) -> str:
    """`html` without the tags that exceed the limits; all text stays."""
    if html.count("<") <= MAX_FORMATTING:
        return html
    return _TAG.sub(_Limiter().tag, html)


class _Limiter:
    """Tracks the open elements that count towards the limits."""

    def __init__(self) -> None:
        self._open: list[str] = []
        self._formatting: Counter[str] = Counter()
        self._dropped: Counter[str] = Counter()

    def tag(self, found: re.Match[str]) -> str:
        """The start of a tag; for a dropped tag the start of a comment, which ends at the same `>`."""
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
