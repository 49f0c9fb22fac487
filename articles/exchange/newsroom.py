"""What an export of a whole site has of articles for the newsroom alone: owners, notes and pending updates."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from articles.exchange.parts import moment, text_fields
from articles.models import Article, Note, Revision, Update

Status = Article.Status


def newsroom_fields(page: Collection[Article]) -> dict[int, dict[str, Any]]:
    """Further fields of these articles, by id."""
    notes, updates = _notes_of(page), _updates_of(page)
    return {
        article.pk: {
            "owner": name_of(article.owner),
            "due_at": moment(article.due_at),
            "notes": notes.get(article.pk, []),
            "update": updates.get(article.pk),
        }
        for article in page
    }


def name_of(user: Any) -> str:
    """The username, or "" for None."""
    return str(user.get_username()) if user else ""


def _notes_of(page: Collection[Article]) -> dict[int, list[dict[str, Any]]]:
    """Threads with their replies, oldest first."""
    rows = Note.objects.filter(article__in=page).select_related("author", "resolved_by").order_by("created_at", "pk")
    notes = list(rows)
    replies: dict[Any, list[dict[str, Any]]] = {}
    for note in notes:
        if note.thread_id:
            replies.setdefault(note.thread_id, []).append(_written(note))
    found: dict[int, list[dict[str, Any]]] = {}
    for note in notes:
        if not note.thread_id:
            found.setdefault(note.article_id, []).append(_thread(note, replies))
    return found


def _written(note: Note) -> dict[str, Any]:
    times = {"created_at": moment(note.created_at), "edited_at": moment(note.edited_at)}
    return {"author": name_of(note.author), "text": note.text, **times}


def _thread(note: Note, replies: Mapping[Any, list[dict[str, Any]]]) -> dict[str, Any]:
    return {
        **_written(note),
        "quote": note.quote,
        "prefix": note.prefix,
        "suffix": note.suffix,
        "resolved_at": moment(note.resolved_at),
        "resolved_by": name_of(note.resolved_by),
        "replies": replies.get(note.pk, []),
    }


def _updates_of(page: Collection[Article]) -> dict[int, dict[str, Any]]:
    related = [f"{text}__{name}" for text in ("draft", "approved") for name in ("channel", "author")]
    rows = Update.objects.filter(article__in=page).select_related("draft", "approved", *related)
    return {update.article_id: _update(update) for update in rows}


def _update(update: Update) -> dict[str, Any]:
    """No automatic review of its draft is running elsewhere, so that becomes one by a person."""
    status = Status.MANUAL_REVIEW if update.status == Status.SUBMITTED else Status(update.status)
    return {
        "status": status.name.lower(),
        "status_reason": update.status_reason,
        "publish_at": moment(update.publish_at),
        "draft": _text(update.draft),
        "approved": _text(update.approved),
    }


def _text(revision: Revision | None) -> dict[str, Any] | None:
    if revision is None:
        return None
    return {
        **text_fields(revision),
        "channel": revision.channel.name if revision.channel else "",
        "tags": list(revision.tags),
        "saved_by": name_of(revision.author),
        "note": revision.note,
        "correction": revision.correction,
    }
