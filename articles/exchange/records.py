"""What a file brings, before anybody has judged it, and what there is to say about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Protocol

from django.utils.translation import gettext_lazy as _

from articles.exceptions import ArticleError

FIELDS = {
    "external_id",
    "title",
    "slug",
    "summary",
    "body",
    "body_format",
    "status",
    "status_reason",
    "retraction_notice",
    "publish_at",
    "unpublish_at",
    "embargo_until",
    "published_at",
    "text_changed_at",
    "cover_mode",
    "cover",
    "author",
    "author_name",
    "byline",
    "channel",
    "channel_slug",
    "channel_description",
    "tags",
}
"""The names that a record may use, in any format."""


class Unreadable(ArticleError):
    """The file as a whole cannot be read, so that nothing of it is imported."""

    code = "unreadable"
    message = _("The file cannot be read.")


class Refused(ArticleError):
    """This record cannot become an article; says which field and what to do."""

    code = "refused"
    message = _("This cannot become an article.")

    def __init__(self, field: str = "", message: str = "") -> None:
        super().__init__(f"{field}: {message}" if field else "")


class Kind(Enum):
    """What became of the record that a remark is about."""

    FAILED = "failed"
    NOTED = "noted"
    FOREIGN = "foreign"


@dataclass(frozen=True, slots=True)
class Record:
    """One article as its file has it. `place` is for people: "line 12". `notes` are told with how many have them."""

    place: str
    fields: Mapping[str, object]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Remark:
    """Something to tell about one place of the file. A FOREIGN one names only what sort of thing was left out."""

    kind: Kind
    place: str
    message: str


class Reader(Protocol):
    """A format: yields what `path` holds, one by one, in constant memory.

    Yields a FAILED remark for a record that cannot be read and goes on behind it. Raises `Unreadable` when there is
    no going on, or when the file is not of this format. `encoding` is for text without a byte-order mark.
    `site` is the address of the site that the articles come from, for formats that leave it out.
    """

    def __call__(self, path: Path, *, encoding: str, site: str = "") -> Iterator[Record | Remark]: ...
