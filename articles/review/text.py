"""An article as the review reads it: plain texts, each with its field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from typing import Self

from articles.models import BODY, Image, Text
from articles.text import ATTRIBUTE, TAG, clean_html

_INLINE = frozenset(
    ("a", "abbr", "b", "cite", "code", "del", "dfn", "em", "i", "ins", "kbd")
    + ("img", "mark", "q", "s", "samp", "small", "strong", "sub", "sup", "time", "u", "var")
)
_DESCRIBING = frozenset({"alt", "title"})


@dataclass(frozen=True)
class ReviewSubject:
    """The subject of a review.

    `lines` are the one-line texts by name, `body` is HTML. `images` are those of the library in cover and body, whose
    `read()` gives the file, and `captions` their texts. `correction` is the public note of an update.
    """

    lines: Mapping[str, str]
    body: str = ""
    tags: Sequence[str] = ()
    captions: Sequence[str] = ()
    images: Sequence[Image] = ()
    correction: str = ""

    @classmethod
    def of(cls, text: Text, correction: str = "") -> Self:
        """The texts and images of a revision, with its correction."""
        images = Image.objects.named(text.shown)
        captions = [said for image in images for said in (image.alt, image.caption, image.credit) if said]
        return cls(text.lines, text.body, text.tags, captions, images, correction)

    @property
    def title(self) -> str:
        """The headline."""
        return self.lines.get("title", "")

    @property
    def length(self) -> int:
        """Characters of all texts, mark-up included."""
        return sum(map(len, (*self.lines.values(), self.body, self.correction, *self.tags, *self.captions)))

    def texts(self) -> Iterator[tuple[str, str]]:
        """Each plain text with its field; separate parts are separate lines."""
        reader = BodyReader.read(self.body)
        yield from self.lines.items()
        yield BODY, reader.prose
        yield "tags", "\n".join(self.tags)
        yield "captions", "\n".join([*self.captions, *reader.descriptions])
        yield "correction", self.correction


@dataclass
class BodyReader:
    """A body without its mark-up: the prose, and the descriptions that are attributes."""

    descriptions: list[str] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, body: str) -> Self:
        """The visible text of `body`, however its HTML is nested, broken or split."""
        first, *rest = TAG.split(clean_html(body))
        reader = cls(pieces=[unescape(first)])
        for tag, attributes, text in zip(rest[1::4], rest[2::4], rest[3::4], strict=True):
            if attributes:
                found = ATTRIBUTE.findall(attributes)
                reader.descriptions += [unescape(value) for name, value in found if name in _DESCRIBING and value]
            if tag not in _INLINE:
                reader.pieces.append("\n")
            if text:
                reader.pieces.append(unescape(text))
        return reader

    @property
    def prose(self) -> str:
        """The text; a line ends where a block does."""
        return "".join(self.pieces)
