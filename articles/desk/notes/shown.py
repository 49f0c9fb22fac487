"""What the templates of notes show of an article."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any
from uuid import UUID, uuid4

from django.core.paginator import Page, Paginator
from django.db.models import Case, Count, F, OuterRef, Q, Subquery, When
from django.db.models.functions import Coalesce
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.translation import gettext as _

from articles.desk.monitoring.cards import short_time
from articles.models import Article, Note, named, named_apart
from articles.notes import Part, may_delete, mentioned_users, parts_of, threads_of
from articles.pages import newest_number, newest_text
from articles.permissions import CHANGE, allows, newsroom
from articles.publishing import Actor
from articles.text import SearchedText, Selector, plain_text
from scheduling.database import read_database_clock

THREADS_SHOWN = 10
"""Threads beside a text, and on each page of the screen of the notes, which has all.

With the limits of a thread this bounds what a page sends, and the fields of the form: a request may have 1,000.
"""


@dataclass(frozen=True)
class ShownNote:
    """A note with what the user may do with it."""

    note: Note
    author: str
    parts: Sequence[Part]
    is_mine: bool
    may_delete: bool
    seen: str
    when: str
    typed_edit: str  #: what was typed instead of its text and not saved, or ""
    typed_reply: str = ""
    new_id: UUID = field(default_factory=uuid4)  #: of the reply that is written next; sent twice, it is stored once


@dataclass(frozen=True)
class Thread:
    """A thread with its replies, and the passage that it is about as it is now."""

    first: ShownNote
    replies: Sequence[ShownNote]
    passage: Selector | None

    @property
    def is_lost(self) -> bool:
        """Whether its passage was deleted."""
        return bool(self.first.note.quote) and self.passage is None


@dataclass(frozen=True)
class ShownNotes:
    """The notes and the assignment of an article, as `by` sees them.

    `body` is the text in which passages are searched, by default the newest. `typed` is what of the submitted form
    is shown again. `page` is that of the screen of the notes; 0 stands for the threads beside a text, which are those
    of the first page. The threads in `kept` are shown on whichever page they are.
    """

    article: Article
    by: Actor
    body: str | None = None
    typed: Any = None
    page: int = 0
    kept: Collection[UUID] = ()
    new_id: UUID = field(default_factory=uuid4)

    @cached_property
    def shown_page(self) -> Page[Note]:
        """The page of the threads: open ones by their newest note, then resolved ones, the last resolved one first."""
        replies = Note.objects.filter(thread=OuterRef("pk")).order_by("-created_at").values("created_at")
        # For open ones alone, as there may be any number of the others.
        written = Case(When(resolved_at=None, then=Coalesce(Subquery(replies[:1]), "created_at")))
        order = F("resolved_at").desc(nulls_first=True), written.desc(), "pk"
        return Paginator(threads_of(self.article).order_by(*order), THREADS_SHOWN).get_page(self.page or 1)

    @cached_property
    def _rows(self) -> list[Note]:
        """The threads shown, oldest first: the kept ones, and as many others as there is room for."""
        kept = threads_of(self.article).in_bulk(self.kept) if self.kept else {}
        others = [row for row in self.shown_page if row.pk not in kept]
        rows = [*kept.values(), *others[: max(0, THREADS_SHOWN - len(kept))]]
        return sorted(rows, key=lambda row: (row.created_at, row.pk))

    @cached_property
    def threads(self) -> list[Thread]:
        """The threads shown, oldest first."""
        users = mentioned_users(note.text for first in self._rows for note in [first, *first.replies.all()])
        text = SearchedText(plain_text(self._body)) if any(row.quote for row in self._rows) else None
        return [self._thread(row, users, text) for row in self._rows]

    @property
    def total(self) -> int:
        """Number of all threads, if a screen has those that are not shown here; else 0."""
        total = self.count + self.resolved_count
        return 0 if self.page or len(self.threads) == total else total

    @property
    def unresolved(self) -> list[Thread]:
        """Open threads."""
        return [thread for thread in self.threads if not thread.first.note.is_resolved]

    @property
    def resolved(self) -> list[Thread]:
        """Resolved threads."""
        return [thread for thread in self.threads if thread.first.note.is_resolved]

    @property
    def is_unfolded(self) -> bool:
        """Whether the resolved threads are shown at once: on their further pages, and where something was refused."""
        key = self._typed("do").partition(":")[2]
        shown = [one for thread in self.resolved for one in [thread.first, *thread.replies]]
        return self.page > 1 or any(one.typed_reply or one.typed_edit or str(one.note.pk) == key for one in shown)

    @property
    def count(self) -> int:
        """Number of open threads."""
        return self._counts["opened"]

    @property
    def resolved_count(self) -> int:
        """Number of resolved threads."""
        return self._counts["resolved"]

    @cached_property
    def _counts(self) -> dict[str, int]:
        is_open = Q(resolved_at=None)
        threads = Note.objects.filter(article=self.article, thread=None)
        return threads.aggregate(opened=Count("pk", filter=is_open), resolved=Count("pk", filter=~is_open))

    @property
    def typed_text(self) -> str:
        """What was typed as a new note, and below notes that were deleted since."""
        if not self.typed:
            return ""
        there = {str(note.pk) for first in self._rows for note in [first, *first.replies.all()]}
        verb, _colon, key = self._typed("do").partition(":")
        names = [name for name in self.typed if name.startswith("reply-")] + ([f"edit-{key}"] if verb == "edit" else [])
        lost = [self._typed(name) for name in names if name.partition("-")[2] not in there]
        return "\n".join(filter(str.strip, [self._typed("text"), *lost]))

    @property
    def has_typed(self) -> bool:
        """Whether something typed is shown."""
        shown = [one for thread in self.threads for one in [thread.first, *thread.replies]]
        return bool(self.typed_text.strip()) or any(one.typed_edit or one.typed_reply.strip() for one in shown)

    @property
    def passages(self) -> list[dict[str, str]]:
        """The passages of open threads, for scripts."""
        found = [(thread.first.note.pk, thread.passage) for thread in self.unresolved if thread.passage]
        return [
            {"id": str(pk), "quote": passage.quote, "prefix": passage.prefix, "suffix": passage.suffix}
            for pk, passage in found
        ]

    @property
    def address(self) -> str:
        """The URL of its screen."""
        return reverse("admin:articles_article_notes", args=[self.article.pk])

    @cached_property
    def version(self) -> str:
        """Differs after any change of what is shown."""
        notes = [note for first in self._rows for note in [first, *first.replies.all()]]
        states = [(str(note.pk), note.changed_at, note.resolved_at, named(note.author)) for note in notes]
        shown = states, self.count, self.resolved_count, self.assigned, self.is_late, newest_number(self.article)
        return sha256(repr(shown).encode()).hexdigest()[:16]

    @property
    def is_late(self) -> bool:
        """Whether the owner's time is past."""
        return self.article.due_at is not None and self.article.is_late_at(read_database_clock())

    @property
    def assigned(self) -> str:
        """The assignment, for comparison with a later one."""
        return assignment_of(self.article)

    @cached_property
    def may_assign(self) -> bool:
        """Whether the user may set the owner."""
        return allows(CHANGE, self.by, self.article)

    @cached_property
    def config(self) -> dict[str, Any]:
        """Data for `articles/notes/notes.js`."""
        people = newsroom().order_by("first_name", "last_name", "username")
        names = {user.pk: user.get_username() for user in people}
        return {
            "address": self.address,
            "user": self.by.pk,
            "signIn": reverse("admin:login"),
            "page": self.page,
            "version": self.version,
            "passages": self.passages,
            "people": [{"username": names[pk], "name": name} for pk, name in named_apart(people).items()],
            "texts": {
                "offline": _("No connection. Your text is still here; send it again in a moment."),
                "signedOut": _("You have been signed out. Your text is still here:"),
                "signIn": _("sign in again in a new window"),
                "moved": _("The note you were writing on is no longer shown here. Your text is in the new note."),
                "failed": _("Not saved. Your text is still here; try again in a moment."),
                "select": _("Select a passage of the text first."),
            },
        }

    @cached_property
    def _body(self) -> str:
        return newest_text(self.article)[0].body if self.body is None else self.body

    def _thread(self, first: Note, users: Any, text: SearchedText | None) -> Thread:
        passage = text.find(Selector(first.quote, first.prefix, first.suffix)) if text and first.quote else None
        replies = [self._note(answer, users, may_delete=self._may_delete(answer)) for answer in first.replies.all()]
        return Thread(self._note(first, users, may_delete=may_delete(first, self.by)), replies, passage)

    def _typed(self, name: str) -> str:
        return str(self.typed.get(name, "")) if self.typed else ""

    def _typed_edit(self, note: Note) -> str:
        typed = self._typed(f"edit-{note.pk}")
        return typed if is_edited(typed, note.text) else ""

    def _may_delete(self, answer: Note) -> bool:
        return answer.author_id == self.by.pk or bool(getattr(self.by, "is_superuser", False))

    def _note(self, note: Note, users: Any, *, may_delete: bool) -> ShownNote:
        return ShownNote(
            note=note,
            author=named(note.author),
            parts=list(parts_of(note.text, users)),
            is_mine=note.author_id == self.by.pk,
            may_delete=may_delete,
            seen=_stamp(note.changed_at),
            when=short_time(note.created_at.replace(second=0, microsecond=0)),
            typed_edit=self._typed_edit(note),
            typed_reply=self._typed(f"reply-{note.pk}"),
        )


def is_edited(typed: str, text: str) -> bool:
    """Whether another text was typed over this one; browsers send all fields, with other ends of lines."""
    return bool(typed) and typed.replace("\r\n", "\n") != text


def assignment_of(article: Article) -> str:
    """A text that differs for every other owner or due time."""
    return f"{article.owner_id or ''} {article.due_at.isoformat() if article.due_at else ''}"


def _stamp(moment: datetime) -> str:
    return moment.isoformat()
