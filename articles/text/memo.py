"""Results of functions of a text that are asked for again, as each article that goes live invalidates other pages."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

_TEXTS = 32
_LENGTH = 128 * 1024  # characters; longer texts are worked on each time, or they would take much memory


def remembered(function: Callable[[str], str]) -> Callable[[str], str]:
    """`function`, which depends on nothing but its text."""
    known = lru_cache(maxsize=_TEXTS)(function)
    return lambda text: (known if len(text) <= _LENGTH else function)(text)
