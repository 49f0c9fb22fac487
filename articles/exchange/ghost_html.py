"""HTML of Ghost posts without rendered HTML, from the editors' sources: Lexical since 2023, Mobiledoc before.

https://lexical.dev/docs/concepts/serialization and
https://github.com/bustle/mobiledoc-kit/blob/master/MOBILEDOC.md describe them; in both a "card" is non-text content.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from django.utils.translation import gettext as _

from articles.exchange.records import Refused

Node = Mapping[str, Any]

FORMATS = {1: "strong", 2: "em", 4: "s", 8: "u", 16: "code", 32: "sub", 64: "sup", 128: "mark"}
"""Lexical's format bits."""

BLOCKS = {
    "paragraph": "p",
    "quote": "blockquote",
    "extended-quote": "blockquote",
    "aside": "blockquote",
    "listitem": "li",
}
TAGS = {"h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "p", "blockquote", "aside", "pull-quote"}
MAIL_ONLY = {"email", "email-cta", "paywall"}
"""Cards that are not shown on the site."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """A body as HTML, and the kinds of cards that were skipped."""

    html: str
    left_out: tuple[str, ...] = ()


def render(post: Node) -> Rendered:
    """The body of a post without HTML. Raises `Refused` if it cannot be converted."""
    for name, document in (("lexical", _Lexical), ("mobiledoc", _Mobiledoc)):
        if source := post.get(name):
            return _rendered(name, str(source), document)
    if post.get("markdown"):
        raise Refused("body", _("is Markdown without HTML; open the post in Ghost, save it, and export again"))
    return Rendered("")


def _rendered(name: str, source: str, parse: Callable[[Any], _Lexical | _Mobiledoc]) -> Rendered:
    try:
        document = parse(json.loads(source))
        return Rendered(document.html(), tuple(dict.fromkeys(document.left_out)))
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        message = _("has a broken %(name)s document and no HTML; open the post in Ghost, save it, and export again")
        raise Refused("body", message % {"name": name}) from error


class _Lexical:
    """A tree of nodes, each with its `type`."""

    def __init__(self, document: Any) -> None:
        self.left_out: list[str] = []
        self._root: Node = document["root"]

    def html(self) -> str:
        """All of it. Raises `Refused`, and what Python does for what is no such document."""
        return "\n\n".join(filter(None, map(self._node, self._root["children"])))

    def _node(self, node: Node) -> str:
        kind = node["type"]
        if isinstance(node.get("text"), str):
            return _formatted(node["text"], node.get("format") or 0)
        if kind in ("linebreak", "tab"):
            return "<br>" if kind == "linebreak" else "\t"
        if "children" in node:
            return self._element(kind, node)
        return _card(kind, node, self.left_out)

    def _element(self, kind: str, node: Node) -> str:
        inner = "".join(map(self._node, node["children"]))
        if kind in ("link", "autolink", "at-link"):
            return f'<a href="{escape(node.get("url") or "")}">{inner}</a>'
        tag = BLOCKS.get(kind) or node.get("tag")
        start = f' start="{int(node["start"])}"' if tag == "ol" and node.get("start", 1) != 1 else ""
        return f"<{tag}{start}>{inner}</{tag}>" if tag in TAGS or tag == "li" else inner


def _formatted(text: str, bits: int) -> str:
    html = escape(text, quote=False)
    for bit, tag in FORMATS.items():
        html = f"<{tag}>{html}</{tag}>" if bits & bit else html
    return html


class _Mobiledoc:
    """Sections that refer to lists of marks, atoms and cards by index."""

    TEXT, IMAGE, LIST, CARD = 1, 2, 3, 10

    def __init__(self, document: Any) -> None:
        self.left_out: list[str] = []
        self._document: Node = document

    def html(self) -> str:
        """All of it. Raises `Refused`, and what Python does for what is no such document."""
        return "\n\n".join(filter(None, map(self._section, self._document["sections"])))

    def _section(self, section: list[Any]) -> str:
        kind = section[0]
        if kind == self.IMAGE:
            return _image({"src": section[1]})
        if kind == self.CARD:
            name, payload = self._document["cards"][section[1]]
            return _card(name, payload, self.left_out)
        tag = "blockquote" if section[1] in ("aside", "pull-quote") else section[1]
        if tag not in TAGS:
            raise ValueError(tag)
        if kind == self.LIST:
            return f"<{tag}>{''.join(f'<li>{self._markers(item)}</li>' for item in section[2])}</{tag}>"
        inner = self._markers(section[2])
        return f"<{tag}>{inner}</{tag}>" if inner else ""

    def _markers(self, markers: list[Any]) -> str:
        """HTML of markers; each opens marks, adds text or an atom, and closes marks."""
        parts, opened = [], []
        for kind, opening, closing, value in markers:
            for index in opening:
                tag, attributes = (*self._document["markups"][index], [])[:2]
                parts.append(_opening(tag, attributes))
                opened.append(tag)
            parts.append(self._atom(value) if kind == 1 else escape(value, quote=False))
            parts += [f"</{escape(opened.pop())}>" for _each in range(closing)]
        return "".join(parts)

    def _atom(self, index: int) -> str:
        name, text, _payload = self._document["atoms"][index]
        return "<br>" if name == "soft-return" else escape(text or "", quote=False)


def _opening(tag: str, attributes: list[str]) -> str:
    pairs = zip(attributes[::2], attributes[1::2], strict=True)
    given = [f' {escape(name)}="{escape(value)}"' for name, value in pairs]
    return f"<{escape(tag)}{''.join(given)}>"


def _card(kind: str, card: Node, left_out: list[str]) -> str:
    """HTML of a card. Mail-only cards are dropped silently; Markdown cannot be converted, so it is an error."""
    if kind in ("markdown", "card-markdown"):
        raise Refused("body", _("has a Markdown card and no HTML; open the post in Ghost, save it, and export again"))
    if kind in CARDS:
        return CARDS[kind](card)
    if kind not in MAIL_ONLY:
        left_out.append(kind)
    return ""


def _image(card: Node) -> str:
    image = f'<img src="{escape(card["src"])}" alt="{escape(card.get("alt") or "")}">'
    if card.get("href"):
        image = f'<a href="{escape(card["href"])}">{image}</a>'
    return _figure(image, card)


def _gallery(card: Node) -> str:
    return _figure("".join(_image({**image, "caption": ""}) for image in card.get("images") or []), card)


def _figure(inner: str, card: Node) -> str:
    caption = card.get("caption")  # which is HTML
    return f"<figure>{inner}<figcaption>{caption}</figcaption></figure>" if caption else f"<figure>{inner}</figure>"


def _link(address: str, text: str = "") -> str:
    return f'<p><a href="{escape(address)}">{escape(text or address, quote=False)}</a></p>' if address else ""


def _bookmark(card: Node) -> str:
    return _link(card.get("url") or "", (card.get("metadata") or {}).get("title") or "")


CARDS: Mapping[str, Callable[[Node], str]] = {
    "image": _image,
    "gallery": _gallery,
    "html": lambda card: str(card.get("html") or ""),
    "hr": lambda card: "<hr>",
    "horizontalrule": lambda card: "<hr>",
    "code": lambda card: f"<pre><code>{escape(card.get('code') or '', quote=False)}</code></pre>",
    "codeblock": lambda card: f"<pre><code>{escape(card.get('code') or '', quote=False)}</code></pre>",
    "embed": lambda card: _link(card.get("url") or ""),
    "bookmark": _bookmark,
    "callout": lambda card: f"<blockquote>{card.get('calloutText') or ''}</blockquote>",
    "toggle": lambda card: (
        f"<details><summary>{card.get('heading') or ''}</summary>{card.get('content') or ''}</details>"
    ),
    "button": lambda card: _link(card.get("buttonUrl") or "", card.get("buttonText") or ""),
    "video": lambda card: _figure(f'<video src="{escape(card["src"])}" controls></video>', card),
    "audio": lambda card: _figure(f'<audio src="{escape(card["src"])}" controls></audio>', card),
    "file": lambda card: _link(card.get("src") or "", card.get("fileTitle") or card.get("fileName") or ""),
}
