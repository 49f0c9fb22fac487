"""An article as its editor sees it, saved or not, as the checks read it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from html import unescape
from typing import Self

from articles.models import Article, Image, Text
from articles.text import ATTRIBUTE, TAG, clean_html


@dataclass(frozen=True)
class Draft:
    """The text of an article, and what is planned for it. `is_out` is whether readers see a version of it."""

    text: Text
    now: datetime
    publish_at: datetime | None = None
    correction: str = ""
    is_out: bool = False

    @cached_property
    def body(self) -> BodyReferences:
        """The images and links of its body."""
        return BodyReferences.read(self.text.body)

    @cached_property
    def images(self) -> list[Image]:
        """The images of its cover."""
        return list(Image.objects.named(self.text.cover))

    @property
    def seen_at(self) -> datetime:
        """From when on readers see it: its publish time, or now if that is past or not set."""
        return self.now if self.is_out or self.publish_at is None else max(self.now, self.publish_at)

    @property
    def is_han(self) -> bool:
        """Whether its headline is mostly Chinese, which says as much in fewer characters."""
        return len(_HAN.findall(self.text.title)) * 2 > len(self.text.title)

    @classmethod
    def of(cls, article: Article, text: Text, correction: str, now: datetime) -> Self:
        """The saved article with this text."""
        is_out = article.status in (Article.Status.PUBLISHED, Article.Status.UNPUBLISHED)
        return cls(text, now, article.publish_at, correction, is_out)


@dataclass
class BodyReferences:
    """The images and links of a body, and whether it has any text."""

    has_words: bool = False
    images: int = 0
    undescribed: int = 0  #: images without alt text
    links: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, html: str) -> Self:
        """Those of this HTML."""
        cleaned = clean_html(html)
        body = cls(has_words=bool(unescape(TAG.sub("", cleaned)).strip()))
        for tag, attributes in _TAG.findall(cleaned):
            values = {name: unescape(value) for name, value in ATTRIBUTE.findall(attributes)}
            if tag == "img":
                body.images += 1
                body.undescribed += not values.get("alt", "").strip()
            elif values.get("href"):
                body.links.append(values["href"])
        return body


_TAG = re.compile(r"<(a|img)\b([^<>]*+)>")
"""As `clean_html` writes them."""

_HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
