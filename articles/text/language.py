"""The language of a text: a guess, for the `lang` attribute and for the lists of a language."""

from __future__ import annotations

import re

HAN = "\u3400-\u9fff\U00020000-\U000323af"
"""Chinese characters, for a class of a pattern."""

_HAN = re.compile(f"[{HAN}]")


def language_of(text: str) -> str:
    """Chinese if it has a Chinese character, else English."""
    return "zh" if _HAN.search(text) else "en"


def base_language(code: str) -> str:
    """The language of the texts in a language of the site, such as `zh` in `zh-hans`."""
    return code.partition("-")[0]
