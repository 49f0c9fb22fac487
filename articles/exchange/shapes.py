"""The names of all fields that an import knows: by kind of record, and of the objects inside records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from articles.exchange.records import PASSWORDS, RECORD_FIELDS, Record
from articles.models import LINES

Shape = Mapping[str, "Shape | None"]
"""Name to None or, for an object or a list of objects, to their shape."""


def _plain(*names: str) -> dict[str, Shape | None]:
    return dict.fromkeys(names)


_REPLY: Shape = _plain("author", "text", "created_at", "edited_at")
_NOTE: Shape = {**_REPLY, **_plain("quote", "prefix", "suffix", "resolved_at", "resolved_by"), "replies": _REPLY}
_TEXT: Shape = _plain(
    *LINES, "slug", "body", "body_format", "cover_mode", "cover", "channel", "tags", "saved_by", "note", "correction"
)
_CARD: Shape = {
    **_plain(
        "uuid", "article", "url", "headline", "kicker", "summary", "image", "no_image", "size", "shows_from",
        "shows_until", "title",
    ),
    "sublinks": _plain("article", "url", "headline"),
}  # fmt: skip
ARTICLE: Shape = {
    **_plain(*RECORD_FIELDS, *PASSWORDS),
    "corrections": _plain("note", "published_at"),
    "notes": _NOTE,
    "update": {**_plain("status", "status_reason", "publish_at"), "draft": _TEXT, "approved": _TEXT},
}

SITE: Mapping[str, Shape] = {
    "site": _plain("url"),
    "user": _plain("number", "username", "first_name", "last_name", "email", "is_active"),
    "image": _plain(
        "id", "digest", "format", "width", "height", "size", "widths", "title", "alt", "caption", "credit", "focus_x",
        "focus_y", "uploaded_by", "created_at",
    ),
    "channel": _plain("name", "slug", "description", "position", "enabled"),
    "tag": _plain("name", "slug"),
    "sensitive_word": _plain("text", "level"),
    "template": _plain("name", "channel", "title", "summary", "body", "tags"),
    "release": {
        **_plain("name", "status", "reason", "publish_at", "published_at", "created_by", "created_at"),
        "members": _plain("article", "title", "action", "old_status"),
    },
    "front": _plain("slug", "language", "channel"),
    "front_version": {
        **_plain(
            "front", "number", "status", "live_from", "live_until", "based_on", "author", "edited_by", "created_at"
        ),
        "release": _plain("name", "created_at"),
        "repeats": _plain("days", "time", "zone", "starts", "until", "skipped", "if_missing", "if_twice"),
        "blocks": {**_plain("uuid", "kind", "title", "backfill", "size", "channel", "tag"), "cards": _CARD},
    },
    "saved_view": _plain("name", "owner", "query", "channel", "author"),
}  # fmt: skip
"""What else a whole site has, by the kind of its records, in the order of an export; templates and what follows come
after the articles."""


def unknown_fields(record: Record) -> set[str]:
    """Field names in the record that do not exist, probably misspelt, and have a value; inner ones as "notes.text"."""
    return set(_unknown(record.fields, SITE.get(record.kind, ARTICLE), ""))


def _unknown(fields: Mapping[str, object], shape: Shape, prefix: str) -> Iterator[str]:
    yield from (prefix + name for name in fields.keys() - shape.keys() if fields[name] not in (None, ""))
    for name, inner in shape.items():
        if inner is not None and (value := fields.get(name)):
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, dict):
                    yield from _unknown(each, inner, f"{prefix}{name}.")
