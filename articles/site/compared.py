"""A page at two instants side by side, as text: what appears, goes and changes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from difflib import SequenceMatcher
from html import unescape
from itertools import zip_longest

import nh3
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from articles.text import Budget, format_time_exactly, matching_ranges

MOST_ROWS = 1_000
"""Lines that are shown; the rest is left out, and said to be."""

_READ = 120
"""Characters of a line that tell what it is like."""

_ALIKE = 0.75

_BLOCKS = frozenset(
    ("article", "aside", "blockquote", "br", "dd", "div", "dl", "dt", "figcaption", "figure", "footer", "form", "h1")
    + ("h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p", "section", "table", "td", "th")
    + ("tr", "ul")
)
"""Tags that begin or end a line."""

_UNSEEN = frozenset({"script", "style", "svg", "template"})
_TAG = re.compile(r"</?[a-z0-9]+>")  # of sanitised HTML without attributes, in which texts have no "<"


@dataclass(frozen=True)
class ComparedLine:
    """A line on both sides; one that is on one side alone is empty on the other."""

    old: str
    new: str

    @property
    def kind(self) -> str:
        """The class of the row."""
        return "is-gone" if not self.new else "is-new" if not self.old else "is-changed"

    @property
    def what(self) -> Promise:
        """What happens, in words."""
        return {"is-gone": _("Goes"), "is-new": _("Appears"), "is-changed": _("Changes")}[self.kind]


Side = tuple[datetime, HttpResponse]


def compare(request: HttpRequest, old: Side, new: Side) -> TemplateResponse:
    """The page that shows both."""
    rows = list(differences(lines_of(old[1]), lines_of(new[1])))
    context = {
        "old": format_time_exactly(old[0]),
        "new": format_time_exactly(new[0]),
        "rows": rows[:MOST_ROWS],
        "left_out": len(rows) - MOST_ROWS,
    }
    return TemplateResponse(request, "articles/compared.html", context)


def differences(old: list[str], new: list[str]) -> Iterator[ComparedLine]:
    """The lines that are not on both sides, in order, within a budget of steps."""
    for found in matching_ranges(old, new, Budget()):
        if not found.is_equal:
            pairs = zip_longest(old[found.start : found.end], new[found.new_start : found.new_end], fillvalue="")
            for before, after in pairs:
                if before and after and not _is_alike(before, after):
                    yield from (ComparedLine(before, ""), ComparedLine("", after))
                else:
                    yield ComparedLine(before, after)


def _is_alike(before: str, after: str) -> bool:
    """Whether one is a new version of the other, by their beginnings."""
    return SequenceMatcher(None, before[:_READ], after[:_READ], autojunk=False).ratio() >= _ALIKE


def lines_of(response: HttpResponse) -> list[str]:
    """What a response says, line by line: the main part of a page, each element of a feed or an answer of the API."""
    if location := response.headers.get("Location"):
        return [f"→ {location}"]
    text = response.content.decode(response.charset)
    kind = response.headers.get("Content-Type", "")
    if kind.startswith("text/html"):
        text = _text_of_page(text)
    elif "json" in kind:
        text = json.dumps(json.loads(text), ensure_ascii=False, indent=1)
    else:
        text = text.replace("><", ">\n<")
    lines = (" ".join(line.split()) for line in text.splitlines())
    return [line for line in lines if line]


def _text_of_page(page: str) -> str:
    # By an HTML parser, which takes linear time, as expressions for elements and comments do not.
    shown = nh3.clean(page, tags=set(_BLOCKS), clean_content_tags=set(_UNSEEN), attributes={"*": set()})
    main = shown.partition("<main>")[2].rpartition("</main>")[0]
    return unescape(_TAG.sub("\n", main or shown))
