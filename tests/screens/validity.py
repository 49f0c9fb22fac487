"""HTML validation: what browsers would have to repair, and rules of the standard that they tolerate."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

from justhtml import JustHTML

VOID = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
INTERACTIVE = {"a", "button", "select", "textarea", "iframe", "label", "summary"}
OF_LISTS = {"ul": {"li"}, "ol": {"li"}, "dl": {"dt", "dd", "div"}, "picture": {"source", "img"}}
IN_PARAGRAPHS = {"p", "h1", "h2", "h3", "h4", "h5", "h6", "span", "em", "strong", "time", "button", "label"}
BLOCKS = {
    "div",
    "p",
    "section",
    "article",
    "aside",
    "nav",
    "header",
    "footer",
    "main",
    "ul",
    "ol",
    "dl",
    "figure",
    "form",
}
REFERRING = ("for", "aria-labelledby", "aria-describedby", "aria-controls", "list")


def faults(page: str) -> list[str]:
    """The faults, a line each."""
    parsed = JustHTML(page, collect_errors=True, sanitize=False)
    read = Reader()
    read.feed(page)
    return [*(f"{error.line}: {error.code}" for error in parsed.errors), *read.faults, *read.faults_of_the_whole()]


@dataclass
class Seen:
    """What a page has, for the rules that look at all of it."""

    tags: Counter[str] = field(default_factory=Counter)
    ids: Counter[str] = field(default_factory=Counter)
    references: set[str] = field(default_factory=set)
    levels: list[int] = field(default_factory=list)


class Reader(HTMLParser):
    """Parses a page and collects its faults."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: list[str] = []
        self._open: list[str] = []
        self._seen = Seen()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element begins."""
        names = [name for name, _value in attrs]
        self._note(tag, {name: value or "" for name, value in attrs})
        self.faults += [f"{self._place()}: <{tag}> {fault}" for fault in self._misplaced(tag)]
        if len(names) != len(set(names)):
            self.faults.append(f"{self._place()}: <{tag}> has an attribute twice")
        if tag == "img" and not {"alt", "src", "width", "height"} <= set(names):
            self.faults.append(f"{self._place()}: a picture without description or size")
        if re.search(r"\.\d{4}", dict(attrs).get("datetime") or ""):
            self.faults.append(f"{self._place()}: a time to the microsecond")
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """An element ends."""
        if not self._open or self._open.pop() != tag:
            self.faults.append(f"{self._place()}: </{tag}> ends what did not begin")

    def faults_of_the_whole(self) -> Iterator[str]:
        """Faults that are known only at the end of the page."""
        yield from (f"never closed: <{tag}>" for tag in self._open)
        yield from (f"the id {name!r} stands {number} times" for name, number in self._seen.ids.items() if number > 1)
        yield from (f"no element has the id {name!r}" for name in self._seen.references - set(self._seen.ids))
        yield from (f"<{tag}> stands {self._seen.tags[tag]} times" for tag in _ONCE if self._seen.tags[tag] != 1)
        levels = [0, *self._seen.levels]
        yield from (
            f"h{now} after h{before}" for before, now in zip(levels, levels[1:], strict=False) if now > before + 1
        )

    def _note(self, tag: str, attributes: dict[str, str]) -> None:
        self._seen.tags[tag] += 1
        if "id" in attributes:
            self._seen.ids[attributes["id"]] += 1
        for name in REFERRING:
            self._seen.references |= set(attributes.get(name, "").split())
        if attributes.get("href", "").startswith("#"):
            self._seen.references.add(attributes["href"][1:])
        if tag in _HEADINGS:
            self._seen.levels.append(int(tag[1]))

    def _misplaced(self, tag: str) -> Iterator[str]:
        parent = self._open[-1] if self._open else ""
        if parent in OF_LISTS and tag not in OF_LISTS[parent] | {"script", "template"}:
            yield f"must not stand in <{parent}>"
        if tag in BLOCKS and set(self._open) & IN_PARAGRAPHS:
            yield "is a block in a line of text"
        if tag in INTERACTIVE - {"label"} and set(self._open) & (INTERACTIVE - {"label"}):
            yield "is pressed inside of something that is pressed"

    def _place(self) -> str:
        return f"line {self.getpos()[0]}"


_ONCE = ("html", "head", "title", "body", "main", "h1")
_HEADINGS = {f"h{level}" for level in range(1, 7)}
