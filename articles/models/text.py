"""The text fields of an article: one list for revisions, diffs, review, search, import, export, API and forms."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from django.db import models
from django.utils.translation import gettext_lazy as _

from articles.limits import BYLINE_LENGTH, SUMMARY_LENGTH, TITLE_LENGTH
from articles.models.cover import CoverMode
from articles.text import one_line, references

if TYPE_CHECKING:
    from articles.models.article import Article


class TextLines(models.Model):
    """The one-line texts, in columns of articles and revisions. To add one, see CONTRIBUTING.md."""

    title = models.CharField(_("headline"), max_length=TITLE_LENGTH)
    summary = models.CharField(_("summary"), max_length=SUMMARY_LENGTH, blank=True)
    byline = models.CharField(
        _("byline"), max_length=BYLINE_LENGTH, blank=True, help_text=_("Shown instead of the author.")
    )
    search_title = models.CharField(
        _("search title"), max_length=TITLE_LENGTH, blank=True, help_text=_("In search results. Default: the headline.")
    )
    social_title = models.CharField(
        _("social title"),
        max_length=TITLE_LENGTH,
        blank=True,
        help_text=_("In shared links. Default: the headline."),
    )
    social_summary = models.CharField(
        _("social summary"),
        max_length=SUMMARY_LENGTH,
        blank=True,
        help_text=_("In shared links. Default: the summary."),
    )

    class Meta:
        abstract = True


LINES = tuple(column.name for column in TextLines._meta.local_fields)
"""Their names."""


@dataclass(frozen=True, kw_only=True)
class Text:
    """The text fields of an article, which an approval covers."""

    COLUMNS: ClassVar[tuple[str, ...]]
    """The article's own columns; tags are a relation."""

    FIELDS: ClassVar[tuple[str, ...]]
    """The names of the model's fields, in the order of diffs."""

    NAMES: ClassVar[frozenset[str]]
    """The same as a set."""

    title: str
    slug: str
    summary: str
    body: str
    byline: str
    channel_id: int | None
    tags: tuple[str, ...]
    cover_mode: str = CoverMode.AUTO
    cover: list[str] = field(default_factory=list)
    search_title: str = ""
    social_title: str = ""
    social_summary: str = ""

    @classmethod
    def of(cls, article: Article, tags: Iterable[str] | None = None) -> Self:
        """The text in the columns of `article`; its tags are queried unless given."""
        names = [tag.name for tag in article.tags.all()] if tags is None else tags
        return cls(**{name: getattr(article, name) for name in cls.COLUMNS}, tags=tuple(sorted(names)))

    def changed(self, changes: Mapping[str, Any]) -> Self:
        """This text with `changes` (field name to value; tags as a collection of `Tag`); lines are lines."""
        values = {name: value for name, value in changes.items() if name not in ("channel", "tags")}
        if "channel" in changes:
            values["channel_id"] = changes["channel"] and changes["channel"].pk
        if "tags" in changes:
            values["tags"] = tuple(sorted(tag.name for tag in changes["tags"]))
        values |= {name: one_line(values[name]) for name in LINES if name in values}
        text = replace(self, **values)
        return replace(text, cover=CoverMode(text.cover_mode).cover(text.cover, text.images))

    def differences(self, other: Text) -> set[str]:
        """The names of the fields that differ."""
        columns = {name: "channel_id" if name == "channel" else name for name in self.NAMES}
        return {name for name, column in columns.items() if getattr(self, column) != getattr(other, column)}

    def looks_like(self, other: Text) -> bool:
        """Whether both look the same to readers, who do not see how the cover was chosen."""
        return replace(self, cover_mode=other.cover_mode) == other

    @property
    def lines(self) -> dict[str, str]:
        """The one-line texts by name."""
        return {name: getattr(self, name) for name in LINES}

    @property
    def images(self) -> list[str]:
        """The ids of the images in the body."""
        return references(self.body)

    @property
    def shown(self) -> list[str]:
        """The ids of all images: those of the cover, then those of the body."""
        return list(dict.fromkeys([*self.cover, *self.images]))

    @property
    def columns(self) -> dict[str, Any]:
        """Column to value."""
        return {name: getattr(self, name) for name in self.COLUMNS}

    @property
    def digest(self) -> str:
        """A SHA-256 digest of the text."""
        # A line that was added later has the default "" and counts only with another value, so old digests stay valid.
        names = [one.name for one in fields(self) if one.default != "" or getattr(self, one.name)]
        values = {name: getattr(self, name) for name in names}
        if self.cover_mode == CoverMode.AUTO and not self.cover:  # as every text was before there were covers
            del values["cover_mode"], values["cover"]
        return hashlib.sha256(json.dumps(values, ensure_ascii=False).encode()).hexdigest()


Text.COLUMNS = tuple(one.name for one in fields(Text) if one.name != "tags")
Text.FIELDS = tuple(one.name.removesuffix("_id") for one in fields(Text))
Text.NAMES = frozenset(Text.FIELDS)
