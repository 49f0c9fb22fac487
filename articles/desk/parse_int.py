"""Numbers that come from a browser: whatever was sent, a database can look for what is made of it."""

from __future__ import annotations

_DIGITS = 18  # so many fit into 64 bits, whichever they are


def whole_number(text: object) -> int:
    """The number written in these digits; 0, which nothing has, if they are no number or one beyond any database."""
    digits = str(text)
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) <= _DIGITS else 0
