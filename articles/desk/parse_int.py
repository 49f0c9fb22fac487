"""Safe parsing of integers from requests."""

from __future__ import annotations

_DIGITS = 18  # so many fit into 64 bits, whichever they are


def whole_number(text: object) -> int:
    """The number in `text`, or 0 if it is not a number or too large for a database."""
    digits = str(text)
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) <= _DIGITS else 0
