"""What an import brings for one article, and what it leaves on the article by which a repeat knows it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from articles.models import Article, CoverMode
from articles.text import references

STATE = ("status", "publish_at", "unpublish_at", "embargo_until")
AROUND = ("published_at", "status_reason", "retraction_notice")
"""What comes with a state, but is none of what editors choose."""


@dataclass(frozen=True, slots=True)
class ImportedArticle:
    """A checked article of a file. `external_id` is its name over there, `digest` stands for all its content."""

    external_id: str
    digest: str
    held: bool
    title: str
    slug: str
    summary: str
    body: str
    status: Article.Status
    status_reason: str
    retraction_notice: str
    publish_at: datetime | None
    published_at: datetime | None
    embargo_until: datetime | None
    unpublish_at: datetime | None
    text_changed_at: datetime | None
    cover_mode: str
    cover: tuple[str, ...]
    author: str
    author_name: str
    byline: str
    channel: str
    channel_slug: str
    channel_description: str
    tags: tuple[str, ...]

    @property
    def new_channel(self) -> dict[str, str]:
        """What the file says about its channel, should that have to be made."""
        return {"slug": self.channel_slug, "description": self.channel_description}

    @property
    def chosen_cover(self) -> dict[str, Any]:
        """The columns of the cover, if the file says anything of it."""
        if not self.cover_mode:
            return {}
        cover = CoverMode(self.cover_mode).cover(self.cover, references(self.body))
        return {"cover_mode": self.cover_mode, "cover": cover}


@dataclass(frozen=True, slots=True)
class Imprint:
    """What an import leaves on an article, as `Article.external_digest`: by it a repeat sees what has changed where."""

    content: str
    state: str
    held: bool

    @classmethod
    def of(cls, item: ImportedArticle) -> Self:
        """The imprint that storing `item` leaves."""
        return cls(item.digest, signature(item), item.held)

    @classmethod
    def on(cls, article: Article) -> Self:
        """The imprint that the last import left on `article`."""
        content, state, held, *_rest = f"{article.external_digest}...".split(".")
        return cls(content, state, bool(held))

    def __str__(self) -> str:
        return f"{self.content}.{self.state}" + ".held" * self.held


def signature(subject: Article | ImportedArticle) -> str:
    """Stands for the status and times of `subject`."""
    state = "|".join(str(getattr(subject, name)) for name in STATE)
    return hashlib.blake2b(state.encode(), digest_size=6).hexdigest()
