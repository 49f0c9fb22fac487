"""Repair HTML of other programs before it is sanitised, so that what readers saw there is not lost.

Lists of word processors become lists, fallbacks of scripts are unwrapped, lazily loaded images get their address,
embedded players become links, links within the page keep their targets, and the bold wrapper of Google Docs is removed.
Linear in time.
"""

from __future__ import annotations

import re
from html import escape, unescape

from articles.text.office import contains_any, without_office

PREFIX = "anchor-"
"""Of the ids of targets within a text, so that they cannot be those of the page."""

_SUSPECT = re.compile(
    r"<(?:noscript|noembed|noframes|textarea|xmp|listing|plaintext|object|embed|iframe)\b|data-(?:lazy-|original|src)"
    r"|\bsrcset\b|font-weight|href\s*=\s*[\"']?#",
    re.IGNORECASE,
)
_SIGNS = (
    *("<noscript", "<noembed", "<noframes", "<textarea", "<xmp", "<listing", "<plaintext", "<object", "<embed"),
    *("<iframe", "data-", "srcset", "font-weight", "#"),
)
_TAG = re.compile(r"<(/?)([a-z][a-z0-9:]*+)([^<>]*+)>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"([a-z_:][-\w:.]*)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'<>]+)))?", re.IGNORECASE)
_TARGET = re.compile(r"\bhref\s*=\s*(?:\"#([^\"<>]+)\"|'#([^'<>]+)'|#([^\s\"'<>]+))", re.IGNORECASE)
_UNWRAPPED = {"noscript", "noembed", "noframes", "textarea"}
_PREFORMATTED = {"xmp", "listing", "plaintext"}
"""Old elements whose content a parser would take as text without markup up to their end."""

_LAZY = ("data-src", "data-lazy-src", "data-original")
_SETS = ("data-srcset", "data-lazy-srcset", "srcset")
_WEB = re.compile(r"\s*(?:https?:)?(//[^\"'\s<>]+)\s*", re.IGNORECASE)
_OLD_YOUTUBE = re.compile(r"//(?:www\.)?youtube(?:-nocookie)?\.com/v/([\w-]{11})[^\"'\s<>]*")
_NORMAL_WEIGHT = re.compile(r"font-weight\s*:\s*(?:normal|400)\b", re.IGNORECASE)
_BOLD = re.compile(r"font-weight\s*:\s*(?:bold|[6-9]00)\b", re.IGNORECASE)


def repair(html: str) -> str:
    """`html` with the same visible content for a parser without scripts and plug-ins."""
    html = without_office(html)
    return _Repair(html).html() if contains_any(html, _SIGNS) and _SUSPECT.search(html) else html


def targets(html: str) -> set[str]:
    """The ids within a repaired text to which its links lead."""
    found = (match[1] or match[2] or match[3] for match in _TARGET.finditer(html)) if "#" in html else ()
    return {target for target in found if target.startswith(PREFIX)}


class _Repair:
    """One pass over the tags of a text."""

    def __init__(self, html: str) -> None:
        self._source = html
        self._wanted = {unescape(found[1] or found[2] or found[3]) for found in _TARGET.finditer(html)}
        self._anchors = self._existing() if self._wanted else set()
        self._weights: list[str] = []
        self._spans: list[str] = []
        self._has_wrapper = False
        self._images: set[str] = set()
        self._placeholder = -1
        self._fallback = False
        self._objects: list[bool] = []
        self._parts: list[str] = []

    def html(self) -> str:
        """The repaired text."""
        end = 0
        for found in _TAG.finditer(self._source):
            self._add_text(self._source[end : found.start()])
            self._parts.append(self._tag(found))
            end = found.end()
        self._add_text(self._source[end:])
        return "".join(self._parts)

    def _add_text(self, text: str) -> None:
        if text.strip():
            self._placeholder = -1
        self._parts.append(text)

    def _existing(self) -> set[str]:
        tags = (_attributes(found[3]) for found in _TAG.finditer(self._source) if not found[1])
        return {name for tag in tags for name in (tag.get("id"), tag.get("name")) if name} & self._wanted

    def _tag(self, found: re.Match[str]) -> str:
        is_end, name = bool(found[1]), found[2].lower()
        if name in _UNWRAPPED:
            return self._unwrap(is_end, name)
        if name in _PREFORMATTED:
            return f"<{found[1]}pre>"
        if name in ("object", "embed", "iframe", "param"):
            return self._player(is_end, name, _attributes(found[3]))
        if name in ("b", "span"):
            return self._inline(is_end, name, found)
        if is_end or found[3].count('"') % 2:
            return found[0]
        return self._image(found) if name == "img" else self._anchored(found[0], name, found[3])

    def _unwrap(self, is_end: bool, name: str) -> str:
        self._fallback = name == "noscript" and not is_end
        if self._fallback and self._placeholder >= 0:
            self._parts[self._placeholder] = ""
        return ""

    def _image(self, found: re.Match[str]) -> str:
        given = _attributes(found[3])
        own = given.get("src", "")
        lazy = next(filter(None, (given.get(name, "").strip() for name in _LAZY)), "")
        lazy = lazy or next((_first(given[name]) for name in _SETS if given.get(name)), "")
        is_placeholder = not own.strip() or own.lstrip().lower().startswith("data:") or given.keys() & set(_LAZY)
        address = lazy if lazy and is_placeholder else own
        is_again = self._fallback and address in self._images
        self._images.add(address)
        self._placeholder = len(self._parts) if address == own and is_placeholder else -1
        if is_again:
            return ""
        if address == own:
            return self._anchored(found[0], "img", found[3])
        kept = {"src": address} | {name: given[name] for name in ("alt", "title", "width", "height") if name in given}
        return f"<img{_written(kept)}>"

    def _player(self, is_end: bool, name: str, given: dict[str, str]) -> str:
        if name == "object":
            if not is_end:
                self._objects.append(False)
            elif self._objects:
                self._objects.pop()
        if is_end or (self._objects and self._objects[-1]):
            return ""
        if name == "param" and given.get("name", "").lower() not in ("movie", "src"):
            return ""
        found = (_WEB.fullmatch(given.get(each, "")) for each in ("src", "data", *_LAZY, "value"))
        address = next((_OLD_YOUTUBE.sub(r"//www.youtube.com/watch?v=\1", web[1]) for web in found if web), "")
        if address and self._objects:
            self._objects[-1] = True
        shown = escape(f"https:{address}")
        return f'<a href="{shown}">{shown}</a>' if address else ""

    def _inline(self, is_end: bool, name: str, found: re.Match[str]) -> str:
        """A bold element that is not bold is unwrapped; within it, spans are what their style says."""
        opened = self._weights if name == "b" else self._spans
        if is_end:
            tag = opened.pop() if opened else name
            return f"</{tag}>" if tag else ""
        style = _attributes(found[3]).get("style", "")
        if name == "b":
            is_wrapper = _NORMAL_WEIGHT.search(style) is not None
            self._has_wrapper = self._has_wrapper or is_wrapper
            opened.append("" if is_wrapper else "b")
            return "" if is_wrapper else self._anchored(found[0], name, found[3])
        is_bold = self._has_wrapper and _BOLD.search(style) is not None
        opened.append("strong" if is_bold else "span")
        return "<strong>" if is_bold else self._anchored(found[0], name, found[3])

    def _anchored(self, tag: str, name: str, attributes: str) -> str:
        """`tag` with the id of a link within the page, or such a link with its target."""
        if not self._wanted:
            return tag
        given = _attributes(attributes)
        target = given.get("href", "") if name == "a" else ""
        own = next((one for one in (given.get("id"), given.get("name")) if one in self._anchors), None)
        is_link = target.startswith("#") and target[1:] in self._anchors
        if own is None and not is_link:
            return tag
        changed = {each: value for each, value in given.items() if each not in ("id", "name")}
        if own is not None:
            changed["id"] = _prefixed(own)
        if is_link:
            changed["href"] = f"#{_prefixed(target[1:])}"
        return f"<{name}{_written(changed)}>"


def _attributes(text: str) -> dict[str, str]:
    found = _ATTRIBUTE.finditer(text)
    given = [(each[1].lower(), unescape(each[2] or each[3] or each[4] or "")) for each in found]
    return dict(reversed(given))


def _written(attributes: dict[str, str]) -> str:
    return "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())


def _first(candidates: str) -> str:
    """The first address of a `srcset`."""
    return (candidates.split() or [""])[0].rstrip(",")


def _prefixed(name: str) -> str:
    return name if name.startswith(PREFIX) else f"{PREFIX}{'-'.join(name.split())}"
