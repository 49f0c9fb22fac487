"""An article as the review reads it: plain texts, each with its field."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from html.parser import HTMLParser
from typing import Self

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from articles.models import Image, Text
from articles.text import clean_html

_INLINE = frozenset(
    ("a", "abbr", "b", "cite", "code", "del", "dfn", "em", "i", "ins", "kbd")
    + ("mark", "q", "s", "samp", "small", "strong", "sub", "sup", "time", "u", "var")
)
_DESCRIBING = frozenset({"alt", "title"})


class Field(StrEnum):
    """Where a text stands in an article."""

    TITLE = "title"
    SUMMARY = "summary"
    BYLINE = "byline"
    BODY = "body"
    TAGS = "tags"
    CAPTIONS = "captions"
    CORRECTION = "correction"

    @property
    def label(self) -> Promise:
        """Its label."""
        return FIELD_LABELS[self]

    @property
    def has_paragraphs(self) -> bool:
        """Whether findings name a paragraph."""
        return self is Field.BODY


FIELD_LABELS = {
    Field.TITLE: _("headline"),
    Field.SUMMARY: _("summary"),
    Field.BYLINE: _("byline"),
    Field.BODY: _("text"),
    Field.TAGS: _("tags"),
    Field.CAPTIONS: _("image texts"),
    Field.CORRECTION: _("correction"),
}


@dataclass(frozen=True)
class Subject:
    """The subject of a review.

    `body` is HTML. `images` are those of the library in cover and body, whose `read()` gives the file, and `captions`
    their texts. `correction` is the public note of an update.
    """

    title: str
    summary: str = ""
    body: str = ""
    tags: Sequence[str] = ()
    captions: Sequence[str] = ()
    byline: str = ""
    images: Sequence[Image] = ()
    correction: str = ""

    @classmethod
    def of(cls, text: Text, correction: str = "") -> Self:
        """The texts and images of a revision, with its correction."""
        images = Image.objects.named(text.shown)
        captions = [said for image in images for said in (image.alt, image.caption, image.credit) if said]
        return cls(text.title, text.summary, text.body, text.tags, captions, text.byline, images, correction)

    @property
    def length(self) -> int:
        """Characters of all texts, mark-up included."""
        singles = (self.title, self.summary, self.body, self.byline, self.correction)
        return sum(map(len, (*singles, *self.tags, *self.captions)))

    def texts(self) -> Iterator[tuple[Field, str]]:
        """Each plain text with its field; separate parts are separate lines."""
        reader = BodyReader.read(self.body)
        yield Field.TITLE, self.title
        yield Field.SUMMARY, self.summary
        yield Field.BYLINE, self.byline
        yield Field.BODY, reader.prose
        yield Field.TAGS, "\n".join(self.tags)
        yield Field.CAPTIONS, "\n".join([*self.captions, *reader.descriptions])
        yield Field.CORRECTION, self.correction


@dataclass
class BodyReader:
    """A body without its mark-up: the prose, and the descriptions that are attributes."""

    descriptions: list[str] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, body: str) -> Self:
        """The visible text of `body`, however its HTML is nested, broken or split."""
        reader = cls()
        parser = _Parser(reader)
        parser.feed(clean_html(body))
        parser.close()
        return reader

    @property
    def prose(self) -> str:
        """The text; a line ends where a block does."""
        return "".join(self.pieces)


class _Parser(HTMLParser):
    """Fills a `BodyReader`; it is fed what `clean_html` made well-formed."""

    def __init__(self, reader: BodyReader) -> None:
        super().__init__(convert_charrefs=True)
        self._reader = reader

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._reader.descriptions += [value for name, value in attrs if name in _DESCRIBING and value]
        self._part(tag)

    def handle_endtag(self, tag: str) -> None:
        self._part(tag)

    def handle_data(self, data: str) -> None:
        self._reader.pieces.append(data)

    def _part(self, tag: str) -> None:
        if tag not in _INLINE and tag != "img":
            self._reader.pieces.append("\n")
