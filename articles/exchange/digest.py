"""An imported article, and the fingerprint that a repeated import compares."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from articles.models import Article, CoverMode
from articles.text import references

STATE = ("status", "publish_at", "unpublish_at", "embargo_until")
AROUND = ("published_at", "cleared_at", "status_reason", "retraction_notice")
"""Columns that belong to the state but are not set by editors."""
NEW_CHANNEL: Mapping[str, Any] = {"slug": "", "description": "", "position": None, "enabled": True}
"""Values for a channel of which the file has no more than the name."""


@dataclass(frozen=True, slots=True)
class ImportedNote:
    """A note of the newsroom, or a reply, which has neither quote nor replies; users by name."""

    author: str
    text: str
    created_at: datetime
    edited_at: datetime | None = None
    quote: str = ""
    prefix: str = ""
    suffix: str = ""
    resolved_at: datetime | None = None
    resolved_by: str = ""
    replies: tuple[ImportedNote, ...] = ()


@dataclass(frozen=True, slots=True)
class ImportedText:
    """A text of a pending update; `saved_by` is the name of the user who wrote it."""

    lines: Mapping[str, str]
    slug: str
    body: str
    cover_mode: str
    cover: tuple[str, ...]
    channel: str
    tags: tuple[str, ...]
    saved_by: str
    note: str
    correction: str


@dataclass(frozen=True, slots=True)
class ImportedUpdate:
    """A pending update: a draft, an approved text, or both. Not `is_kept` if the article itself is not approved."""

    status: Article.Status
    status_reason: str
    publish_at: datetime | None
    draft: ImportedText | None
    approved: ImportedText | None
    is_kept: bool

    @property
    def texts(self) -> Iterator[ImportedText]:
        """Its texts, oldest first."""
        yield from filter(None, (self.approved, self.draft))


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
    created_at: datetime | None
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
    number: int | None
    former_slugs: tuple[str, ...]
    owner: str
    due_at: datetime | None
    notes: tuple[ImportedNote, ...]
    update: ImportedUpdate | None

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
    def texts_of_update(self) -> list[ImportedText]:
        """The texts of its pending update, oldest first."""
        return list(self.update.texts) if self.update else []

    @property
    def users(self) -> set[str]:
        """The names of all users in it."""
        notes = [note for thread in self.notes for note in (thread, *thread.replies)]
        written = {name for note in notes for name in (note.author, note.resolved_by)}
        return {self.author, self.owner, *written, *(text.saved_by for text in self.texts_of_update)} - {""}

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
