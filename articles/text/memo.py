"""Results of functions of a text that are asked for again: by each part of a form, and when a page is built again."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps

_TEXTS = 32
_LENGTH = 128 * 1024  # characters; of longer texts, which take much memory, few results are kept
_LONG_TEXTS = 4


def remembered(function: Callable[[str], str]) -> Callable[[str], str]:
    """`function`, which depends on nothing but its text."""
    known, of_long = (lru_cache(maxsize=most)(function) for most in (_TEXTS, _LONG_TEXTS))

    @wraps(function)
    def ask(text: str) -> str:
        return (known if len(text) <= _LENGTH else of_long)(text)

    return ask
