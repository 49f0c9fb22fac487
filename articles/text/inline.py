"""The text of a block with its looks: formats, links and media. Only these are shown of it in a comparison."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import unescape
from itertools import groupby
from typing import NamedTuple

from articles.text.blocks import TAG
from articles.text.image_refs import ATTRIBUTE

MEDIA = "\ufffc"
"""Stands for an image, a film or a sound in the text."""

FORMATS = {
    **dict.fromkeys(("b", "strong"), "bold"),
    **dict.fromkeys(("em", "i"), "italic"),
    **dict.fromkeys(("ins", "u"), "underlined"),
    **dict.fromkeys(("del", "s"), "struck"),
    **dict.fromkeys(("code", "kbd", "samp", "var"), "code"),
    "mark": "highlighted",
    "q": "quoted",
    "small": "small",
    "sub": "subscript",
    "sup": "superscript",
}
"""By element."""

_MOST_TAGS = 5_000
"""In one block, after which its text alone is compared."""

_MEDIA_TAGS = {"img": "image", "audio": "sound", "video": "film"}
_BREAKS = {"dd", "div", "dl", "dt", "figcaption", "h1", "h2", "h3", "h4", "h5", "h6", "li", "ol", "p", "summary", "tr"}
_BREAKS |= {"blockquote", "br", "caption", "details", "figure", "pre", "table", "ul"}
_SPACE = re.compile(r"[ \t\n\r\f]+")


class Look(NamedTuple):
    """How text looks."""

    formats: tuple[str, ...] = ()  #: values of `FORMATS`, sorted
    link: str = ""  #: the address


class InlineMedia(NamedTuple):
    """An image, a film or a sound."""

    kind: str
    address: str
    alt: str


class Span(NamedTuple):
    """Text of one look; `MEDIA` alone if it stands for media."""

    text: str
    look: Look = Look()
    media: InlineMedia | None = None


def text_of(spans: Sequence[Span]) -> str:
    """The text alone."""
    return "".join(span.text for span in spans)


def spans(html: str) -> list[Span]:
    """The text of a block that `blocks.split` found: white space as browsers show it, line ends between its parts."""
    if html.count("<") > _MOST_TAGS:
        return [Span(text)] if (text := unescape(TAG.sub("", html)).strip()) else []
    found = [*_spans(html, keeps_space=html.startswith("<pre"))]
    runs = groupby(found, key=lambda span: (span.look, span.media))
    return _stripped([Span("".join(span.text for span in run), *key) for key, run in runs])


def _spans(html: str, *, keeps_space: bool) -> Iterator[Span]:
    """Without line ends or spaces after a line end, and so at the beginning."""
    formats: list[str] = []
    links: list[str] = []
    look, place, last = Look(), 0, "\n"
    for found in TAG.finditer(html):
        if text := _text(html[place : found.start()], last, keeps_space):
            yield Span(text, look)
            last = text[-1]
        place = found.end()
        is_end, name = bool(found[1]), found[2]
        if name in FORMATS:
            formats.remove(FORMATS[name]) if is_end else formats.append(FORMATS[name])
        elif name == "a":
            links.pop() if is_end else links.append(_attributes(found[3]).get("href", ""))
        elif name in _MEDIA_TAGS and not is_end:
            given = _attributes(found[3])
            media = InlineMedia(_MEDIA_TAGS[name], given.get("src", ""), given.get("alt", ""))
            yield Span(MEDIA, look, media)
            last = MEDIA
            continue
        elif name in ("td", "th") and not is_end and last != "\n":
            yield Span("\t")
            last = "\t"
        elif name in _BREAKS:
            if last != "\n" or (name == "br" and place < len(html)):
                yield Span("\n")
                last = "\n"
            if name == "li" and not is_end and found.start():
                yield Span("• ")
        look = Look(tuple(sorted(set(formats))), links[-1] if links else "")
    if text := _text(html[place:], last, keeps_space):
        yield Span(text, look)


def _text(html: str, last: str, keeps_space: bool) -> str:
    text = unescape(html).replace(MEDIA, "\ufffd")
    if keeps_space:
        return text
    text = _SPACE.sub(" ", text)
    return text.lstrip(" ") if last in " \n" else text


def _stripped(found: list[Span]) -> list[Span]:
    """Without white space at the end."""
    while found and not (text := found[-1].text.rstrip(" \n\t")):
        found.pop()
    return [*found[:-1], found[-1]._replace(text=text)] if found else []


def _attributes(tag: str) -> dict[str, str]:
    return {name: unescape(value) for name, value in ATTRIBUTE.findall(tag)}
