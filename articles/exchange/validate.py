"""Validate records: each becomes an article that can be stored, or an error."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from datetime import datetime

from django.conf import settings
from django.utils.text import Truncator
from django.utils.translation import gettext as _

from articles.exceptions import UnknownImage
from articles.exchange import fields as read, inner
from articles.exchange.digest import ImportedArticle, ImportedText
from articles.exchange.external_id import shortened
from articles.exchange.losses import losses
from articles.exchange.outside_times import Parsed
from articles.exchange.records import PASSWORDS, Record, Refused
from articles.exchange.shapes import unknown_fields
from articles.exchange.statuses import ImportedStatus, Times, Timetable, may_be_shown
from articles.images import unknown_images
from articles.models import LINES, Article, Channel, Correction, CoverMode, Revision, Tag
from articles.text import add_paragraphs, clean_html, oversize, plain_text, references, visible

Moments = Mapping[str, datetime | None]
_DECIDING = ("publish_at", "published_at", "embargo_until", "unpublish_at")
"""Times that decide from when to when readers see an article."""

_TIMES = (*_DECIDING, "text_changed_at", "created_at", "due_at")

LONGEST_BODY = 1_000_000
"""Characters; with four bytes each it still fits into one database statement."""


def length_of(model: type[Article | Channel | Correction | Revision | Tag], name: str) -> int:
    """The maximum length of a column."""
    return int(model._meta.get_field(name).max_length or 0)  # type: ignore[union-attr]


TITLE, SLUG, SUMMARY, BYLINE, REASON = (
    length_of(Article, name) for name in ("title", "slug", "summary", "byline", "status_reason")
)
CHANNEL, CHANNEL_SLUG, CHANNEL_DESCRIPTION = (length_of(Channel, name) for name in ("name", "slug", "description"))
TAG = length_of(Tag, "name")
USER = inner.NAME
MOST_POSITIONS = 32_767
MOST_NUMBER = 10**9
"""The highest number that an import gives: the next article gets a higher one, and columns end at 2³¹."""
UNTITLED_LENGTH = 80
"""Characters of a headline that is made from the text."""


class Checker:
    """Validates records. `channel` replaces the channels in the file."""

    def __init__(self, timetable: Timetable, *, channel: str | None = None) -> None:
        named = {"channel": channel, "channel_slug": "", "channel_description": "", "channel_position": None}
        self._one_channel = {} if channel is None else named
        self.timetable = timetable
        self.former_site = ""  #: the address of the site that the file comes from, if it says that
        self.fronts: dict[str, tuple[str, str]] = {}  #: language and channel of the file's fronts, by slug
        self.front_versions: dict[tuple[int, int], int] = {}  #: ids here, by the front's and the number in the file
        self.images: set[str] = set()  #: the ids of images that a dry run did not store

    def check(self, record: Record) -> tuple[ImportedArticle, str]:
        """The article and a note for the report, or "". Raises `Refused`."""
        source = {**record.fields, **self._one_channel}
        notes: list[str] = []
        lines = {name: read.line(source, name, length_of(Article, name), notes) for name in LINES}
        lines["title"] = lines["title"] if visible(lines["title"]).strip() else _first_words(source, notes)
        found, unclear = _moments(source)
        moments = {name: parsed and parsed.moment for name, parsed in found.items()}
        if "embargo_until" in unclear:  # or it would go live at its time, once it is approved, without the embargo
            moments["publish_at"] = None
        times = Times(moments["publish_at"], moments["published_at"], moments["embargo_until"])
        decide = self.timetable.held if any(name in unclear for name in _DECIDING) else self.timetable.decide
        outcome = decide(_status(source), times)
        article = self._article(record, source, lines, moments, outcome, notes)
        has_lost_cover = article.cover_mode != read.line(source, "cover_mode", 40)
        lost = (
            _("the images of its cover do not exist here; the cover is chosen from the text") if has_lost_cover else ""
        )
        converted = [f"{name}: {parsed.note}" for name, parsed in found.items() if parsed and parsed.note]
        return article, "; ".join(filter(None, [*unclear.values(), outcome.note, *converted, *notes, lost]))

    def _article(
        self,
        record: Record,
        source: read.Fields,
        lines: Mapping[str, str],
        moments: Moments,
        outcome: ImportedStatus,
        notes: list[str],
    ) -> ImportedArticle:
        cover_mode, cover = self._cover(source)
        former_ids = tuple(map(shortened, record.former_ids))
        slug = read.slug(source, SLUG, title=lines["title"])
        return ImportedArticle(
            external_id=shortened(read.line(source, "external_id", LONGEST_BODY)) or f"sha:{digest(record.fields)}",
            former_ids=former_ids,
            digest=digest(source),
            former_digests=frozenset(digest({**source, "external_id": former}) for former in former_ids),
            held=outcome.held,
            lines=lines,
            slug=slug,
            body=self.body(source, notes, is_clean=record.is_clean),
            status=outcome.status,
            status_reason=read.line(source, "status_reason", REASON, notes),
            retraction_notice=_retraction_notice(source, outcome, notes),
            publish_at=outcome.publish_at,
            published_at=outcome.published_at,
            cleared_at=outcome.cleared_at,
            embargo_until=moments["embargo_until"],
            unpublish_at=_unpublish_at(moments, outcome),
            text_changed_at=self._past(moments["text_changed_at"]),
            created_at=self._past(moments["created_at"]),
            cover_mode=cover_mode,
            cover=cover,
            author=read.line(source, "author", USER, notes),
            author_name=read.line(source, "author_name", USER, notes),
            channel=read.line(source, "channel", CHANNEL, notes),
            channel_slug=read.valid_slug(source, "channel_slug", CHANNEL_SLUG),
            channel_description=_shortened(read.line(source, "channel_description", LONGEST_BODY), CHANNEL_DESCRIPTION),
            channel_position=read.number(source, "channel_position", MOST_POSITIONS),
            channel_enabled=read.flag(source, "channel_enabled"),
            tag_slugs=_tag_slugs(source),
            corrections=_corrections(source, notes),
            tags=read.tags(source, notes),
            number=read.number(source, "number", MOST_NUMBER) or None,
            former_slugs=inner.former_slugs(source, SLUG, now=slug),
            owner=read.line(source, "owner", USER, notes),
            due_at=moments["due_at"],
            notes=inner.notes(source, notes),
            update=inner.update(source, self.timetable, notes, status=outcome.status, text_of=self._text),
        )

    def _text(self, given: read.Fields, notes: list[str]) -> ImportedText:
        """A text of an update."""
        source = {**given, **self._one_channel}
        lines = {name: read.line(source, name, length_of(Article, name), notes) for name in LINES}
        lines["title"] = lines["title"] if visible(lines["title"]).strip() else _first_words(source, notes)
        cover_mode, cover = self._cover(source)
        return ImportedText(
            lines=lines,
            slug=read.slug(source, SLUG, title=lines["title"]),
            body=self.body(source, notes),
            cover_mode=cover_mode or CoverMode.AUTO,
            cover=cover,
            channel=read.line(source, "channel", CHANNEL, notes),
            tags=read.tags(source, notes),
            saved_by=read.line(source, "saved_by", USER, notes),
            note=read.line(source, "note", length_of(Revision, "note"), notes),
            correction=read.line(source, "correction", length_of(Correction, "note"), notes),
        )

    def _cover(self, source: read.Fields) -> tuple[str, tuple[str, ...]]:
        """Cover mode and images: automatic if the images do not exist here, "" if the file has no cover mode."""
        mode, cover = read.line(source, "cover_mode", 40), read.names(source, "cover", 40)
        if mode not in ("", *CoverMode.values):
            known = _(", ").join(CoverMode.values)
            raise Refused(
                "cover_mode", _('"%(word)s" is not known; use one of %(known)s') % {"word": mode, "known": known}
            )
        wanted = CoverMode(mode or CoverMode.AUTO).takes
        if wanted is not None and wanted != len(cover):
            raise Refused(
                "cover", _("has %(found)d images instead of %(wanted)d") % {"found": len(cover), "wanted": wanted}
            )
        return (CoverMode.AUTO, ()) if self._unknown(list(cover)) else (mode, cover)

    def body(self, source: read.Fields, notes: list[str], *, is_clean: bool = False) -> str:
        """The sanitised body, as HTML if the source's is not.

        Raises `Refused` for one that is too large or has unknown images.
        """
        body = read.text(source, "body", LONGEST_BODY)
        if not is_clean or body != source["body"]:  # dropped control characters may have parted what is unsafe
            notes += losses(body)
            body = clean_html(body if _is_html(source) else add_paragraphs(body))
        body = _relative(body, settings.SITE_URL)
        if self.former_site and self.former_site != settings.SITE_URL.rstrip("/"):
            body = self._moved(body)
        if reason := oversize(body):
            raise Refused("body", reason)
        if unknown := self._unknown(references(body)):
            raise Refused("body", str(UnknownImage(unknown)))
        return body

    def _moved(self, body: str) -> str:
        """The body of another site that moves here: its links and images lead here, if its images do."""
        moved = _relative(body, self.former_site)
        return body if self._unknown(references(moved)) else moved

    def _unknown(self, ids: list[str]) -> list[str]:
        return unknown_images([pk for pk in ids if pk not in self.images])

    def _past(self, moment: datetime | None) -> datetime | None:
        return moment if moment and moment <= self.timetable.now else None


def _moments(source: read.Fields) -> tuple[dict[str, Parsed | None], dict[str, str]]:
    """The times of a record, None for missing and unclear ones; and what is wrong with the unclear ones, by name."""
    found: dict[str, Parsed | None] = {}
    unclear: dict[str, str] = {}
    for name in _TIMES:
        try:
            found[name] = read.moment(source, name)
        except Refused as error:
            found[name], unclear[name] = None, str(error)
    return found, unclear


def _first_words(source: read.Fields, notes: list[str]) -> str:
    """A headline for a text without one. Raises `Refused` if there is no text either."""
    texts = (plain_text(read.text(source, "body", LONGEST_BODY)), str(source.get("summary") or ""))
    words = next(filter(None, (" ".join(visible(text[:1000]).split()) for text in texts)), "")
    if not words:
        raise Refused("title", _("is empty"))
    notes.append(_("has no title; its first words become the headline"))
    return Truncator(words).chars(UNTITLED_LENGTH)


def _shortened(text: str, length: int) -> str:
    return Truncator(text).chars(length)


def _relative(html: str, site: str) -> str:
    """Sanitised `html` with the URLs of a site made relative."""
    address = rf'(<[a-z][^<>]*?\s(?:cite|href|poster|src)="){re.escape(site)}(?=/)'
    return re.sub(address, r"\1", html) if site in html else html


def _is_html(source: read.Fields) -> bool:
    """Whether the body is declared as HTML; otherwise a text without paragraph tags is plain text."""
    word = read.line(source, "body_format", 40)
    if word not in ("", "html"):
        raise Refused("body_format", _('"%(word)s" is not known; write html, or leave it out') % {"word": word})
    return word == "html"


def _retraction_notice(source: read.Fields, outcome: ImportedStatus, notes: list[str]) -> str:
    """The retraction notice; "" for an article that is not retracted."""
    notice = read.line(source, "retraction_notice", REASON, notes)
    return notice if outcome.status == Article.Status.RETRACTED else ""


def _status(source: read.Fields) -> str:
    """The word of the status. A text behind a password is never public."""
    is_protected = any(source.get(name) for name in PASSWORDS)
    return "private" if is_protected else read.line(source, "status", 40)


def _tag_slugs(source: read.Fields) -> dict[str, str]:
    """Slugs by the names of tags."""
    given = source.get("tag_slugs")
    slugs = given if isinstance(given, dict) else {}
    return {str(name): read.valid_slug({"slug": slug}, "slug", TAG) for name, slug in slugs.items()}


def _corrections(source: read.Fields, notes: list[str]) -> tuple[tuple[str, datetime], ...]:
    """The notes to readers on what was corrected, and when."""
    return tuple(_correction(one, notes) for one in inner.objects(source, "corrections"))


def _correction(one: read.Fields, notes: list[str]) -> tuple[str, datetime]:
    published = read.moment(one, "published_at")
    if published is None:
        raise Refused("corrections", _("is not a list of objects with note and published_at"))
    return read.line(one, "note", length_of(Correction, "note"), notes), published.moment


def _unpublish_at(moments: Moments, outcome: ImportedStatus) -> datetime | None:
    moment = moments["unpublish_at"]
    live = [time for time in (outcome.publish_at, moments["embargo_until"]) if time is not None]
    if moment is not None and live and moment <= max(live):
        raise Refused("unpublish_at", _("comes before the article goes live"))
    return moment


def digest(fields: read.Fields) -> str:
    """A hash of the content, independent of the order of fields."""
    content = json.dumps(dict(fields), sort_keys=True, default=str)
    return hashlib.blake2b(content.encode(), digest_size=11).hexdigest()


def shows_unknown(record: Record) -> str:
    """The first unknown field, which may be a misspelt time, of a record that readers would see; or ""."""
    try:
        is_shown = may_be_shown(_status(record.fields))
    except Refused:  # and so will be the record
        is_shown = False
    return min(unknown_fields(record), default="") if is_shown or is_of_site(record) else ""


def is_of_site(record: Record) -> bool:
    """Whether the record is no article, but something else of a site, or of a kind that may be misspelt."""
    return bool(record.kind) or ("kind" in record.fields and not record.fields.get("title"))
