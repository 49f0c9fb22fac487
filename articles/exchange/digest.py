"""An imported article, and the fingerprint that a repeated import compares."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from articles.models import Article, CoverMode
from articles.text import references

STATE = ("status", "publish_at", "unpublish_at", "embargo_until")
AROUND = ("published_at", "cleared_at", "status_reason", "retraction_notice")
"""Columns that belong to the state but are not set by editors."""


@dataclass(frozen=True, slots=True)
class ImportedArticle:
    """A validated article of a file. `external_id` identifies it in the source, `digest` is a hash of its content.

    `former_ids` and `former_digests` are those that it may have got before: former versions did not name the source,
    and entries of feeds get longer ids when another one copies theirs.
    """

    external_id: str
    former_ids: tuple[str, ...]
    digest: str
    former_digests: frozenset[str]
    held: bool
    lines: Mapping[str, str]
    slug: str
    body: str
    status: Article.Status
    status_reason: str
    retraction_notice: str
    publish_at: datetime | None
    published_at: datetime | None
    cleared_at: datetime | None
    embargo_until: datetime | None
    unpublish_at: datetime | None
    text_changed_at: datetime | None
    cover_mode: str
    cover: tuple[str, ...]
    author: str
    author_name: str
    channel: str
    channel_slug: str
    channel_description: str
    channel_position: int | None
    channel_enabled: bool
    tags: tuple[str, ...]
    tag_slugs: Mapping[str, str]
    corrections: tuple[tuple[str, datetime], ...]

    @property
    def new_channel(self) -> dict[str, Any]:
        """Values for its channel, in case it must be created."""
        return {
            "slug": self.channel_slug,
            "description": self.channel_description,
            "position": self.channel_position,
            "enabled": self.channel_enabled,
        }

    @property
    def chosen_cover(self) -> dict[str, Any]:
        """The columns of the cover; empty if the file has none."""
        if not self.cover_mode:
            return {}
        cover = CoverMode(self.cover_mode).cover(self.cover, references(self.body))
        return {"cover_mode": self.cover_mode, "cover": cover}


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The value of `Article.external_digest`: a repeated import detects changes in the file and in the database."""

    content: str
    state: str
    held: bool

    @classmethod
    def of(cls, item: ImportedArticle) -> Self:
        """The fingerprint of an imported article."""
        return cls(item.digest, signature(item), item.held)

    @classmethod
    def on(cls, article: Article) -> Self:
        """The fingerprint that the last import stored."""
        content, state, held, *_rest = f"{article.external_digest}...".split(".")
        return cls(content, state, bool(held))

    def __str__(self) -> str:
        return f"{self.content}.{self.state}" + ".held" * self.held


def signature(subject: Article | ImportedArticle) -> str:
    """A hash of the status and times of `subject`."""
    state = "|".join(str(getattr(subject, name)) for name in STATE)
    return hashlib.blake2b(state.encode(), digest_size=6).hexdigest()
