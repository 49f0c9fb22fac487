"""Records of an import file before validation, and remarks about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Protocol

from django.utils.translation import gettext_lazy as _

from articles.exceptions import ArticleError
from articles.models import LINES

RECORD_FIELDS = {
    "external_id",
    *LINES,
    "slug",
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
    "created_at",
    "cover_mode",
    "cover",
    "author",
    "author_name",
    "channel",
    "channel_slug",
    "channel_description",
    "channel_position",
    "channel_enabled",
    "tags",
    "tag_slugs",
    "corrections",
    "number",
    "former_slugs",
    "owner",
    "due_at",
    "notes",
    "update",
}
"""The field names of articles, in any format."""

PASSWORDS = {"password", "post_password"}
"""Fields with a value in records that are never public."""


class Unreadable(ArticleError):
    """The file cannot be read; nothing is imported from here on."""

    code = "unreadable"
    message = _("The file cannot be read.")


class Refused(ArticleError):
    """The record cannot be imported; the message names the field and says what to do."""

    code = "refused"
    message = _("The record cannot be imported.")

    def __init__(self, field: str = "", message: str = "") -> None:
        super().__init__(f"{field}: {message}" if field else "")


class Kind(Enum):
    """The result for the record of a remark."""

    FAILED = "failed"
    NOTED = "noted"
    FOREIGN = "foreign"


@dataclass(frozen=True, slots=True)
class Record:
    """One article in a file. `place` is for messages, such as "line 12"; `notes` are reported with their number.

    With a `kind` it is something else of a whole site, see `articles.exchange.shapes.SITE`. If `is_clean`, its body is
    the result of `clean_html`.
    """

    place: str
    fields: Mapping[str, object]
    notes: tuple[str, ...] = ()
    former_ids: tuple[str, ...] = ()  #: external ids that other versions of it had, which are not unique
    kind: str = ""
    is_clean: bool = False


@dataclass(frozen=True, slots=True)
class Stored:
    """What became of a record: it is new or was here already, with a note, or has a problem and is left out."""

    is_new: bool = False
    note: str = ""
    problem: str = ""


COUNTED = Record("", {})
"""What a survey yields for each article of a format whose fields the reader names itself."""


@dataclass(frozen=True, slots=True)
class Remark:
    """A message about one record. The message of a FOREIGN one is the kind of content that was skipped."""

    kind: Kind
    place: str
    message: str


class Reader(Protocol):
    """A format: yields the records of the file `path` in constant memory.

    Yields a FAILED remark for a record that cannot be read, and continues after it. Raises `Unreadable` if it cannot
    continue or the file does not have this format. `encoding` is for text without a byte-order mark. `site` is the URL
    of the site that the articles come from, for formats that omit it. A `survey` is for the names of fields and for
    numbers: readers without unknown fields and numbers yield `COUNTED` instead of converting each article.
    """

    def __call__(
        self, path: Path, *, encoding: str, site: str = "", survey: bool = False
    ) -> Iterator[Record | Remark]: ...
