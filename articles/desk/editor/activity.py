"""The tab *Activity* of the article editor: what happened to an article, in one timeline.

Another kind of event is a function that reads the latest ones of an article, and its row in `SOURCES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.utils.functional import Promise
from django.utils.text import Truncator

from articles.audit import Action, label_of
from articles.desk.audit.details import details_of
from articles.desk.audit.instants import delay_of, seen_at, who_of
from articles.limits import REASON_LENGTH
from articles.models import Article, AuditEntry
from articles.text import format_time_exactly
from articles.workflow import TRANSITIONS

ACTIVITY_LENGTH = 30
"""Events that the tab shows, latest first."""

ICONS = {
    Action.CREATE: "add",
    Action.EDIT: "edit",
    Action.IMPORT: "download",
    Action.SAVE: "edit",
    Action.PUBLISHED: "public",
    Action.UNPUBLISHED: "visibility_off",
    Action.UPDATED: "published_with_changes",
    Action.REVIEWED: "rule",
    Action.ADD_NOTE: "add_comment",
    Action.REPLY: "reply",
    Action.EDIT_NOTE: "edit_note",
    Action.DELETE_NOTE: "delete",
    Action.RESOLVE_NOTE: "check_circle",
    Action.REOPEN_NOTE: "undo",
    Action.ASSIGN: "assignment_ind",
    **{str(transition): rule.icon for transition, rule in TRANSITIONS.items()},
}
"""Icons of Material Symbols by audit action."""

_TIMES = ("unpublish_at", "embargo_until", "update_at")
"""Details of audit entries that are times at which readers see something else."""

_OTHERS = ("assigned", "due_at", "quote")
"""Other details that are shown."""

_QUOTED = 160  # characters of a passage, as beside its note


@dataclass(frozen=True, kw_only=True)
class ActivityEntry:
    """Something that happened. `revision` is the number of the text that it is about, if any."""

    at: datetime
    title: str
    who: str
    icon: str = "circle"
    changes: Sequence[tuple[str | Promise, str]] = field(default=())  #: label and value
    text: str = ""
    revision: int | None = None
    is_about_time: bool = False

    @property
    def when(self) -> str:
        """The time with its zone."""
        return format_time_exactly(self.at)


def events(article: Article) -> list[ActivityEntry]:
    """The latest events of all sources, latest first."""
    found = [event for read in SOURCES for event in read(article)]
    return sorted(found, key=lambda event: event.at, reverse=True)[:ACTIVITY_LENGTH]


def _audited(article: Article) -> Iterable[ActivityEntry]:
    """Revisions, transitions and changed times, from the audit log."""
    for entry in AuditEntry.objects.of(article).with_names()[:ACTIVITY_LENGTH]:
        times, others = ([*_details(entry, names)] for names in (_TIMES, _OTHERS))
        yield ActivityEntry(
            at=seen_at(entry),
            title=label_of(entry.action),
            who=who_of(entry),
            icon=ICONS.get(entry.action, "circle"),
            changes=[*(("", change) for change in (*entry.differences(), *delay_of(entry))), *times, *others],
            text=Truncator(entry.reason).chars(REASON_LENGTH),  # of a note, which stands beside
            revision=entry.revision,
            is_about_time=entry.old_time != entry.new_time or bool(times),
        )


def _details(entry: AuditEntry, names: Iterable[str]) -> Iterable[tuple[str | Promise, str]]:
    """Label and value of those of these details that the entry has."""
    for name in names:
        if name in entry.details:
            value = entry.details[name]
            shown = Truncator(value).chars(_QUOTED) if name == "quote" else value
            yield from details_of(AuditEntry(details={name: shown}))


SOURCES: list[Callable[[Article], Iterable[ActivityEntry]]] = [_audited]
"""The kinds of events."""
