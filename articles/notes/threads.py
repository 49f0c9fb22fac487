"""Writing, answering, resolving and deleting notes. Users who may see the article in the newsroom may do all of it.

Each change is recorded in the audit log, and notifies the users it concerns.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from django.db.models import Prefetch, Q, Sum
from django.db.models.functions import Length
from django.utils.translation import gettext as _

from articles.audit import Action, Actor, record_annotation
from articles.exceptions import ArticleGone, NotAllowed, NoteChanged, NoteEmpty, NoteGone, TooLong, TooMany
from articles.limits import CONTEXT_LENGTH, MOST_NOTES, MOST_REPLIES, NOTE_LENGTH, QUOTE_LENGTH, THREAD_LENGTH
from articles.models import Article, Note, NoteQuerySet, Notification, as_id
from articles.notes.mentions import new_mentions
from articles.notifications import notify_users
from articles.permissions import newsroom, require_newsroom
from articles.text import Selector
from scheduling.database import lock_by_ids, read_database_clock, retried

Kind = Notification.Kind

ON_ARTICLE = Selector("")
"""The selector of a note that is about no passage."""

_SENT = ("author_id", "article_id", "thread_id", "text", "quote")
"""What is the same in a note that is sent again, as its answer was lost."""


def threads_of(article: Article) -> NoteQuerySet:
    """The threads of an article with their replies, oldest first."""
    replies = Note.objects.select_related("author").order_by("created_at", "pk")
    threads = Note.objects.filter(article=article).threads().select_related("author", "resolved_by")
    return threads.prefetch_related(Prefetch("replies", replies))


def find_note(article: Article, key: str) -> Note:
    """The note or reply of the article with this id. Raises `NoteGone`, also for text that is no id."""
    pk = as_id(key)
    found = Note.objects.select_related("article", "thread__article").filter(article=article, pk=pk) if pk else None
    note = found.first() if found is not None else None
    if note is None:
        raise NoteGone
    return note


@retried
def add_note(article: Article, *, by: Actor, text: str, about: Selector = ON_ARTICLE, pk: UUID | None = None) -> Note:
    """Start a thread about a passage of the body, or about the whole article.

    The same `pk` sent again with the same note returns the stored one; another note gets an id of its own. Raises
    `NotAllowed`, `NoteEmpty`, `TooLong`, `TooMany`, `WithoutAccess` and `ArticleGone`.
    """
    require_newsroom(by)
    _lock_article(article.pk)
    if len(about.quote) > QUOTE_LENGTH:
        words = {"most": QUOTE_LENGTH}
        raise TooLong(_("A note can be about %(most)d characters of the text; select a shorter passage.") % words)
    note = Note(article=article, text=text, quote=about.quote.strip())
    if note.quote:
        note.prefix, note.suffix = about.prefix[-CONTEXT_LENGTH:], about.suffix[:CONTEXT_LENGTH]
    return _write(note, by=by, pk=pk, concerned=[article.author_id, article.owner_id])


@retried
def reply(thread: Note, *, by: Actor, text: str, pk: UUID | None = None) -> Note:
    """Answer in a thread; `pk` and errors as in `add_note`, and `NoteGone`."""
    require_newsroom(by)
    first = thread.thread or thread
    _lock_article(first.article_id)
    _lock(first)
    writers = Note.objects.filter(thread=first).values_list("author", flat=True)
    answer = Note(article=first.article, thread=first, text=text)
    return _write(answer, by=by, pk=pk, concerned=[first.author_id, *writers])


@retried
def edit_note(note: Note, *, by: Actor, text: str, seen: datetime | None = None) -> None:
    """Change the text of one's own note; `seen` is the `changed_at` that the user started from.

    Raises `NotAllowed`, `NoteGone`, `NoteChanged`, `NoteEmpty`, `TooLong`, `TooMany`, `WithoutAccess` and
    `ArticleGone`.
    """
    require_newsroom(by)
    _lock_article(note.article_id)  # or two edits at once would not count each other's text
    _lock(note)
    if note.author_id != by.pk:
        raise NotAllowed(_("This is another user’s note; reply to it instead."))
    text = _checked(text)
    if text == note.text:
        return
    if len(text) > len(note.text):
        _refuse_long(note.thread or note, text, former=note)
    if seen is not None and seen != note.changed_at:
        raise NoteChanged
    mentioned = new_mentions(text, before=note.text)
    note.text, note.edited_at = text, read_database_clock()
    note.save(update_fields=["text", "edited_at"])
    _record(Action.EDIT_NOTE, note, by=by, reason=text)
    notify_users(Kind.MENTIONED, note.article, {user.pk for user in mentioned}, by=by, reason=text)


@retried
def resolve_note(note: Note, *, by: Actor, text: str = "", pk: UUID | None = None) -> None:
    """Resolve a thread, with a closing reply if `text` is given; nothing happens if it is resolved already.

    `pk` is that of the reply. Raises `NotAllowed` and `NoteGone`; with a reply, what `reply` does.
    """
    _set_resolved(note, Action.RESOLVE_NOTE, read_database_clock(), by)
    if text.strip():  # after it, as the notes of a resolved thread do not count to those of the article
        reply(note, by=by, text=text, pk=pk)


@retried
def reopen_note(note: Note, *, by: Actor, text: str = "", pk: UUID | None = None) -> None:
    """Reopen a resolved thread, with a reply and errors as in `resolve_note`, and `TooMany`."""
    _set_resolved(note, Action.REOPEN_NOTE, None, by)
    if text.strip():
        reply(note, by=by, text=text, pk=pk)


@retried
def delete_note(note: Note, *, by: Actor) -> None:
    """Delete a note, and with the first note of a thread its replies. Raises `NotAllowed` and `NoteGone`."""
    require_newsroom(by)
    _lock(note)
    if note.author_id != by.pk and not by.is_superuser:  # type: ignore[union-attr]
        raise NotAllowed(_("Only its author or an administrator may delete a note."))
    if not may_delete(note, by):
        raise NotAllowed(_("Other users have replied to this note; resolve it instead."))
    _record(Action.DELETE_NOTE, note, by=by)
    note.delete()


def may_delete(note: Note, by: Actor) -> bool:
    """Administrators may delete all notes; authors their own, unless that would delete the replies of others."""
    if by.is_superuser:  # type: ignore[union-attr]
        return True
    return note.author_id == by.pk and all(answer.author_id == by.pk for answer in note.replies.all())


def _write(note: Note, *, by: Actor, pk: UUID | None, concerned: Collection[int | None]) -> Note:
    """Store a new note, record it, and notify the users it mentions and those it concerns."""
    note.text, note.author_id = _checked(note.text), by.pk
    if pk is not None:
        stored = Note.objects.filter(pk=pk).first()
        if stored is None:
            note.pk = pk
        elif all(getattr(stored, name) == getattr(note, name) for name in _SENT):
            return stored
    if note.thread is None or not note.thread.is_resolved:
        _refuse_many(note.article_id, 1)
    if note.thread is not None:
        _refuse_long(note.thread, note.text)
        if note.thread.replies.count() >= MOST_REPLIES:
            raise TooMany(_("A thread has at most %(most)d replies; start a new one.") % {"most": MOST_REPLIES})
    mentioned = {user.pk for user in new_mentions(note.text)}
    note.created_at = read_database_clock()
    note.save(force_insert=True)
    _record(Action.REPLY if note.thread_id else Action.ADD_NOTE, note, by=by, reason=note.text)
    notify_users(Kind.MENTIONED, note.article, mentioned, by=by, reason=note.text)
    others = newsroom().filter(pk__in={pk for pk in concerned if pk is not None} - mentioned)
    notify_users(Kind.NOTED, note.article, others.values_list("pk", flat=True), by=by, reason=note.text)
    return note


def _refuse_many(article_id: int, more: int) -> None:
    """Raise `TooMany` if the article would have too many notes in open threads with so many more."""
    threads = Q(thread=None, resolved_at=None) | Q(thread__resolved_at=None, thread__isnull=False)
    if Note.objects.filter(threads, article=article_id).count() + more > MOST_NOTES:
        raise TooMany(_("An article has at most %(most)d open notes; resolve some first.") % {"most": MOST_NOTES})


def _refuse_long(thread: Note, text: str, *, former: Note | None = None) -> None:
    """Raise `TooLong` if the thread is too long with this text, in place of that of the `former` note."""
    others = Note.objects.filter(Q(pk=thread.pk) | Q(thread=thread))
    if former is not None:
        others = others.exclude(pk=former.pk)
    length = others.aggregate(length=Sum(Length("text")))["length"] or 0
    if length + len(text) > THREAD_LENGTH:
        words = {"most": THREAD_LENGTH}
        raise TooLong(_("The notes of a thread can have %(most)d characters together; start a new one.") % words)


def _set_resolved(note: Note, action: str, moment: datetime | None, by: Actor) -> None:
    require_newsroom(by)
    first = note.thread or note
    _lock_article(first.article_id)  # or two threads that are reopened at once would not count each other
    _lock(first)
    if (first.resolved_at is None) == (moment is None):
        return
    if moment is None:
        _refuse_many(first.article_id, 1 + first.replies.count())
    first.resolved_at, first.resolved_by_id = moment, by.pk if moment else None
    first.save(update_fields=["resolved_at", "resolved_by"])
    _record(action, first, by=by)


def _lock_article(article_id: int) -> None:
    """Keep the article from being deleted until the end of the transaction. Raises `ArticleGone`."""
    if not lock_by_ids(Article, [article_id]).values_list("pk").first():
        raise ArticleGone


def _lock(note: Note) -> None:
    """Lock the row until the end of the transaction and load it. Raises `NoteGone`."""
    try:
        note.refresh_from_db(from_queryset=lock_by_ids(Note, [note.pk]))
    except Note.DoesNotExist as error:
        raise NoteGone from error


def _checked(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\0", "").strip()
    if not text:
        raise NoteEmpty
    if len(text) > NOTE_LENGTH:
        words = {"most": NOTE_LENGTH, "length": len(text)}
        raise TooLong(_("A note can have %(most)d characters; this one has %(length)d. Shorten it.") % words)
    return text


def _record(action: str, note: Note, *, by: Actor, reason: str = "") -> None:
    quote = {"quote": note.quote} if note.quote else {}
    record_annotation(action, note.article, by=by, reason=reason, note=str(note.pk), **quote)
