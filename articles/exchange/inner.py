"""Validate what a record of an article has besides its text: former slugs, notes and the pending update."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from articles.exchange import fields as read
from articles.exchange.digest import ImportedNote, ImportedText, ImportedUpdate
from articles.exchange.records import Refused
from articles.exchange.statuses import Timetable, status_named
from articles.limits import CONTEXT_LENGTH, MOST_REPLIES, NOTE_LENGTH, QUOTE_LENGTH, THREAD_LENGTH
from articles.models import Article
from articles.publishing import users_named

Status = Article.Status

MOST_SLUGS = 200
"""Former slugs of one article; each is stored as a revision."""
NAME = 254
"""Characters of the name of a user."""

_OF_DRAFTS = (Status.DRAFT, Status.REJECTED, Status.MANUAL_REVIEW)


def objects(source: read.Fields, name: str) -> list[read.Fields]:
    """A list of objects; empty if it is missing."""
    given = source.get(name)
    if not given:
        return []
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise Refused(name, _("is not a list of objects"))
    return given


def former_slugs(source: read.Fields, longest: int, *, now: str) -> tuple[str, ...]:
    """The slugs of former addresses, oldest first, without the present one."""
    given = source.get("former_slugs") or []
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given) or len(given) > MOST_SLUGS:
        raise Refused("former_slugs", _("is not a list of at most %(limit)d texts") % {"limit": MOST_SLUGS})
    found = (read.valid_slug({"former_slugs": one}, "former_slugs", longest) for one in given)
    return tuple(dict.fromkeys(slug for slug in found if slug and slug != now))


def notes(source: read.Fields, remarks: list[str]) -> tuple[ImportedNote, ...]:
    """The newsroom's notes on the article, with their replies; a thread that is too long goes on in the next one."""
    return tuple(thread for one in objects(source, "notes") for thread in _threads(one, remarks))


def _threads(one: read.Fields, remarks: list[str]) -> Iterator[ImportedNote]:
    thread: dict[str, Any] = {
        "quote": read.text(one, "quote", QUOTE_LENGTH, remarks),
        "prefix": _around(one, "prefix")[-CONTEXT_LENGTH:],
        "suffix": _around(one, "suffix")[:CONTEXT_LENGTH],
        "resolved_at": moment(one, "resolved_at"),
        "resolved_by": read.line(one, "resolved_by", NAME, remarks),
    }
    shown: list[ImportedNote] = []
    for each in (one, *objects(one, "replies")):
        note = ImportedNote(**_written(each, remarks))
        if len(shown) > MOST_REPLIES or sum(len(other.text) for other in shown) + len(note.text) > THREAD_LENGTH:
            yield replace(shown[0], **thread, replies=tuple(shown[1:]))
            shown = []
        shown.append(note)
    yield replace(shown[0], **thread, replies=tuple(shown[1:]))


def _around(one: read.Fields, name: str) -> str:
    """The text before or after a quote with its spaces, by which the passage is found."""
    return read.text({name: f"|{one.get(name) or ''}|"}, name, QUOTE_LENGTH)[1:-1]


def _written(one: read.Fields, remarks: list[str]) -> dict[str, Any]:
    created_at, text = moment(one, "created_at"), read.text(one, "text", NOTE_LENGTH, remarks)
    if created_at is None or not text:
        raise Refused("notes", _("has a note without text or created_at"))
    author = read.line(one, "author", NAME, remarks)
    return {"author": author, "text": text, "created_at": created_at, "edited_at": moment(one, "edited_at")}


def update(
    source: read.Fields,
    timetable: Timetable,
    remarks: list[str],
    *,
    status: Article.Status,
    text_of: Callable[[read.Fields, list[str]], ImportedText],
) -> ImportedUpdate | None:
    """The pending update of an article of this status. One whose time is past keeps it as the policy says."""
    given = source.get("update")
    if not given:
        return None
    if not isinstance(given, dict):
        raise Refused("update", _("is not an object with draft or approved"))
    draft, approved = (_text(given, name, text_of, remarks) for name in ("draft", "approved"))
    if draft is None and approved is None:
        raise Refused("update", _("is not an object with draft or approved"))
    is_kept = status in (*Status.passed(), Status.RETRACTED)
    publish_at, remark = timetable.decide_alone(moment(given, "publish_at")) if is_kept else (None, "")
    if not is_kept:
        remark = _("the article is not approved here, so its text is a revision only")
    if remark:
        remarks.append(f"update: {remark}")
    return ImportedUpdate(
        status=_status_of_draft(given),
        status_reason=read.line(given, "status_reason", 500, remarks),
        publish_at=publish_at,
        draft=draft,
        approved=approved,
        is_kept=is_kept,
    )


def _text(
    given: read.Fields, name: str, text_of: Callable[[read.Fields, list[str]], ImportedText], remarks: list[str]
) -> ImportedText | None:
    text = given.get(name)
    if not text:
        return None
    if not isinstance(text, dict):
        raise Refused("update", _("is not an object with draft or approved"))
    return text_of(text, remarks)


def _status_of_draft(given: read.Fields) -> Article.Status:
    """The status of the draft of an update, which is never approved."""
    status = status_named(read.line(given, "status", 40).lower())
    if status not in _OF_DRAFTS:
        raise Refused("update", _("has a draft that is not a draft, rejected or in review"))
    return status


def user_in(fields: read.Fields, name: str) -> Any:
    """The user here with the name in the field; None without one."""
    return next(iter(users_in({name: [read.line(fields, name, NAME)]}, name).values()), None)


def users_in(fields: read.Fields, name: str) -> dict[str, Any]:
    """The users here with the names in the field."""
    names = read.names(fields, name, NAME)
    return users_named(names) if names else {}


def moment(fields: read.Fields, name: str) -> datetime | None:
    """An instant in UTC, or None if it is missing."""
    parsed = read.moment(fields, name)
    return parsed.moment if parsed else None
