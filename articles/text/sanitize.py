"""Sanitise HTML with an allowlist of tags, attributes and URL schemes."""

from __future__ import annotations

import html
import re
from functools import partial
from urllib.parse import urljoin

import nh3

from articles.text.memo import remembered
from articles.text.nesting import limit_nesting
from articles.text.repair import repair, targets

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

_AROUND = {
    *("html", "head", "body", "title", "meta", "link", "base", "xml", "main", "header", "footer", "nav", "aside"),
    *(
        "address",
        "hgroup",
        "fieldset",
        "legend",
        "label",
        "big",
        "strike",
        "acronym",
        "nobr",
        "wbr",
        "bdi",
        "bdo",
        "data",
    ),
    *("ruby", "rb", "rt", "rp", "dir", "menu", "noscript"),
}
"""More of those, which only whole pages and old editors write."""

_CITE = re.compile(r"cite", re.IGNORECASE)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*", re.IGNORECASE)
_UNSEEN = re.compile(r"[\x00-\x20\x7f-\xa0]")
_TAG = re.compile(r"<([a-z][a-z0-9-]*)", re.IGNORECASE)

_PLAYER = re.compile(r"<(object|embed|iframe)\b", re.IGNORECASE)

_BLOCK = re.compile(
    r"<(/?)(address|article|aside|audio|blockquote|center|details|div|dl|fieldset|figure|footer|form|h[1-6]|header|hr|main"
    r"|nav|ol|p|pre|script|section|style|table|ul|video)\b[^<>]*>",
    re.IGNORECASE,
)
_TRANSPARENT = {"article", "aside", "center", "div", "fieldset", "footer", "form", "header", "main", "nav", "section"}
"""Blocks around others, between which text may stand."""

_SHOWN = re.compile(r"<(?:img|iframe|object|embed|input|hr)\b|(?:^|>)[^<]*[^<\s][^<]*(?:<|$)", re.IGNORECASE)
_BREAK = re.compile(r"(?=</?(?:address|br|dd|div|dt|figcaption|figure|h[1-6]|hr|li|p|pre|td|th|tr)\b)", re.IGNORECASE)
_BETWEEN_TAGS = re.compile(r"(?<=>)\s++(?=<)")
_BLANK_LINES = re.compile(r"\n\s*\n\s*")  # begins with a fixed character, which is found much faster


def clean_html(body: str, *, base: str = "") -> str:
    """`body` without scripts, styles, forms, comments, classes and handlers; its text stays, players become links.

    Tags that are nested too deeply are removed (`articles.text.nesting`), so the time is linear. If `base` is given,
    relative URLs are resolved against it.
    """
    return _clean(body, base) if base else _remembered(body)


@remembered
def _remembered(body: str) -> str:
    return _clean(body, "")


def _clean(body: str, base: str) -> str:
    body = limit_nesting(repair(body))  # which drops the tags that are to be repaired
    relative = partial(complete, base) if base else None
    checked = _with_known_scheme if _CITE.search(body) else None
    ids = targets(body)
    anchors = {tag: {"id": ids} for tag in TAGS} if ids else None
    cleaned = nh3.clean(
        body,
        tags=TAGS,
        attributes=ATTRIBUTES,
        url_schemes=SCHEMES,
        url_relative=relative,
        attribute_filter=checked,
        tag_attribute_values=anchors,
    )
    *parts, last = _BLANK_LINES.split(cleaned)
    return "\n\n".join([*(part.rstrip() for part in parts), last]).strip()


def _with_known_scheme(_tag: str, attribute: str, value: str) -> str | None:
    """The value; None for a `cite` with an unknown scheme, as the library checks addresses in `href` and `src` only."""
    return value if attribute != "cite" or is_harmless(value) else None


def is_harmless(address: str) -> bool:
    """Whether an address is relative or has a known scheme.

    Browsers and readers of feeds ignore spaces and control characters before and within a scheme.
    """
    scheme, colon, _rest = _UNSEEN.sub("", address).partition(":")
    return not colon or not _SCHEME.fullmatch(scheme) or scheme.lower() in SCHEMES


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


def lost_tags(body: str) -> list[str]:
    """Those of another program's HTML: what is repaired, such as players with an address, is not lost."""
    found = {tag.lower() for tag in _TAG.findall(body)} - TAGS - _AROUND - _CARRIERS | _players_in(body)
    if not found:
        return []
    repaired = repair(body)
    lost_players = _players_in(body) if repaired.count("<a ") == body.count("<a ") else set()
    return sorted({*foreign_tags(repaired)} - _AROUND | lost_players)


def _players_in(body: str) -> set[str]:
    return {tag.lower() for tag in _PLAYER.findall(body)}


def plain_text(body: str) -> str:
    """The text of a body without markup, with line ends between blocks."""
    return html.unescape(nh3.clean(_BREAK.sub("\n", limit_nesting(body)), tags=set()))


def add_paragraphs(text: str) -> str:
    """Convert blank lines to `<p>` and line ends to `<br>` in the text outside blocks, as WordPress does."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    parts: list[str] = []
    begin, name, depth = 0, "", 0
    for found in _BLOCK.finditer(text):
        is_end, tag = bool(found[1]), found[2].lower()
        if (
            name == "p" and not is_end and tag not in ("script", "style")
        ):  # a paragraph ends where the next block begins
            parts.append(text[begin : found.start()])
            begin, name, depth = found.start(), "", 0
        if name:
            depth += (tag == name) * (-1 if is_end else 1)
            if depth == 0:
                parts.append(_inner_paragraphs(text[begin : found.end()], name))
                begin, name = found.end(), ""
            continue
        if begin < found.start():
            parts += _paragraphs(text[begin : found.start()])
        begin = found.start()
        if is_end or tag in _TRANSPARENT or tag == "hr":
            parts.append(found[0])
            begin = found.end()
        else:
            name, depth = tag, 1
    parts += [text[begin:]] if name else _paragraphs(text[begin:])
    return "\n\n".join(filter(None, (part.strip() for part in parts)))


def _inner_paragraphs(block: str, name: str) -> str:
    """A quotation with blank lines between its paragraphs has those, unless they are marked up already."""
    if name != "blockquote" or not _BLANK_LINES.search(block):
        return block
    start, end = block.index(">") + 1, block.rindex("<")
    inner = block[start:end]
    return block if _BLOCK.search(inner) else f"{block[:start]}{''.join(_paragraphs(inner))}{block[end:]}"


def _paragraphs(text: str) -> list[str]:
    blocks = (block.strip() for block in _BLANK_LINES.split(text))
    return [f"<p>{block.replace(chr(10), '<br>')}</p>" if _SHOWN.search(block) else block for block in blocks if block]
