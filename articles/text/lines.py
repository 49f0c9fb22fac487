"""One-line texts, such as headlines: one line, with something to see."""

from __future__ import annotations

import re

from articles.text.normalize import shows

_BREAKS = re.compile(r"[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]+")
_REMOVED = re.compile(r"[\x01-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff]")
"""Control characters, but NUL, which is refused; and those that turn the direction of the text after the headline."""


def one_line(text: str) -> str:
    """`text` on one line, without control characters; "" if nothing of it can be seen."""
    parts = (part.strip() for part in _BREAKS.split(_REMOVED.sub("", text)))
    line = " ".join(part for part in parts if part)
    return line if shows(line) else ""
