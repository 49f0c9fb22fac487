"""The size of a body, which decides what it costs to sanitise, compare and show it."""

from __future__ import annotations

from django.utils.translation import gettext as _

from articles.limits import BODY_LENGTH, MOST_BODY_ELEMENTS
from articles.text.blocks import ADDED_TO_LINKS
from articles.text.sanitize import clean_html

_LONGER_AS_HTML = {"&": 4, "<": 3, ">": 3, "\u00a0": 5}
"""Characters that are written as entities, and by how many more."""


def elements_and_lines(body: str) -> int:
    """How many a body has at most: each line end may become an element, and these cost more than other text."""
    ends = body.count("</")
    return max(ends, body.count("<") - ends) + body.count("\n") + body.count("\r") - body.count("\r\n")


def oversize(body: str) -> str:
    """What its author has to do about a body that is too large; "" if it is not. Takes no longer than its cleaning."""
    if elements_and_lines(body) > MOST_BODY_ELEMENTS:
        text = _("The body has more than %(most)d paragraphs, cells, formats and line ends; shorten or split it.")
        return text % {"most": MOST_BODY_ELEMENTS}
    if _is_longer(body):
        return _("The body is longer than %(most)d characters of HTML; split the article.") % {"most": BODY_LENGTH}
    return ""


def is_kept_if_refused(body: str) -> bool:
    """Whether a body, although `oversize`, is autosaved, and shown to its author again as it looked."""
    return elements_and_lines(body) <= 2 * MOST_BODY_ELEMENTS


def _is_longer(body: str) -> bool:
    """Cleaned only if that can make it too long: "&" has five characters in HTML."""
    longest = len(body) + sum(body.count(char) * more for char, more in _LONGER_AS_HTML.items())
    if longest <= BODY_LENGTH or len(body) > BODY_LENGTH:
        return len(body) > BODY_LENGTH
    return len(clean_html(body).replace(ADDED_TO_LINKS, "")) > BODY_LENGTH
