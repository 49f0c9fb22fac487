"""Sanitise HTML with an allowlist of tags, attributes and URL schemes."""

from __future__ import annotations

import html
import re
from functools import partial
from urllib.parse import urljoin

import nh3

from articles.text.nesting import limit_nesting

TAGS = {
    "a",
    "abbr",
    "audio",
    "b",
    "blockquote",
    "br",
    "caption",
    "cite",
    "code",
    "col",
    "colgroup",
    "dd",
    "del",
    "details",
    "dfn",
    "dl",
    "dt",
    "em",
    "figcaption",
    "figure",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "i",
    "img",
    "ins",
    "kbd",
    "li",
    "mark",
    "ol",
    "p",
    "picture",
    "pre",
    "q",
    "s",
    "samp",
    "small",
    "source",
    "strong",
    "sub",
    "summary",
    "sup",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "time",
    "tr",
    "u",
    "ul",
    "var",
    "video",
}
ATTRIBUTES = {
    "*": {"lang", "dir", "title"},
    "a": {"href"},
    "audio": {"src", "controls"},
    "blockquote": {"cite"},
    "col": {"span"},
    "colgroup": {"span"},
    "img": {"src", "alt", "width", "height"},
    "ol": {"start", "reversed", "type"},
    "q": {"cite"},
    "source": {"src", "type"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan", "scope"},
    "time": {"datetime"},
    "video": {"src", "controls", "poster", "width", "height"},
}
SCHEMES = {"http", "https", "mailto", "tel"}

_CARRIERS = {"div", "span", "section", "article", "center", "font", "iframe", "tt", "o"}
"""Tags that can be removed without loss: their text stays, or a link replaces them."""

_FRAME = re.compile(
    r"<iframe\b[^<>]{0,500}?\ssrc=([\"'])\s*(?:https?:)?(//[^\"'\s<>]+)\s*\1[^<>]*>(?:\s*</iframe>)?", re.IGNORECASE
)
_TAG = re.compile(r"<([a-z][a-z0-9]*)", re.IGNORECASE)

_MARKED_UP = re.compile(r"<(?:p|pre)[\s>]", re.IGNORECASE)
_BLOCK = re.compile(
    r"</?(?:blockquote|details|div|dl|figure|h[1-6]|hr|ol|section|table|ul|audio|video)\b", re.IGNORECASE
)
_BREAK = re.compile(r"</?(?:address|br|dd|div|dt|figcaption|figure|h[1-6]|hr|li|p|pre|td|th|tr)\b", re.IGNORECASE)
_BETWEEN_TAGS = re.compile(r"(?<=>)\s++(?=<)")
_BLANK_LINES = re.compile(r"(?<!\s)\s*\n\s*\n\s*")  # the lookbehind avoids quadratic time on long runs of spaces


def clean_html(body: str, *, base: str = "") -> str:
    """`body` without scripts, styles, forms, comments, classes and handlers; its text stays, frames become links.

    Tags that are nested too deeply are removed (`articles.text.nesting`), so the time is linear. If `base` is given,
    relative URLs are resolved against it.
    """
    body = limit_nesting(_FRAME.sub(r'<a href="https:\2">https:\2</a>', body))
    relative = partial(complete, base) if base else None
    cleaned = nh3.clean(body, tags=TAGS, attributes=ATTRIBUTES, url_schemes=SCHEMES, url_relative=relative)
    return _BLANK_LINES.sub("\n\n", cleaned).strip()


def join_blocks(html: str) -> str:
    """`html` without line ends between tags, where editors differ."""
    return _BETWEEN_TAGS.sub(lambda space: "" if "\n" in space[0] else space[0], html)


def complete(base: str, address: str) -> str:
    """`address` resolved against `base`; fragments and invalid URLs are returned unchanged."""
    try:
        return address if address.startswith("#") else urljoin(base, address)
    except ValueError:  # an invalid URL such as "//["
        return address


def foreign_tags(body: str) -> list[str]:
    """The tags of `body` that sanitising removes with a loss, such as "script"."""
    return sorted({tag.lower() for tag in _TAG.findall(body)} - TAGS - _CARRIERS)


def plain_text(body: str) -> str:
    """The text of a body without markup, with line ends between blocks."""
    return html.unescape(nh3.clean(_BREAK.sub(r"\n\g<0>", limit_nesting(body)), tags=set()))


def add_paragraphs(text: str) -> str:
    """Convert blank lines to `<p>` and line ends to `<br>` in a text without `<p>`."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    if _MARKED_UP.search(text):
        return text
    return "\n\n".join(_paragraph(block) for block in _BLANK_LINES.split(text) if block)


def _paragraph(block: str) -> str:
    return block if _BLOCK.match(block) else f"<p>{block.replace(chr(10), '<br>')}</p>"
