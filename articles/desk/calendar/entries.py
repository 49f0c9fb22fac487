"""Calendar entries: events at an instant."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache

from django.db.models import Choices, TextChoices
from django.utils.functional import cached_property
from django.utils.translation import get_language, gettext_lazy as _, pgettext_lazy

from articles.text import happens_twice, local_time, offset_name, wall_clock


@lru_cache(typed=True)
def label(member: Choices, language: str | None) -> str:
    """The label in `language`, the active one; remembered, as the many entries of a page have few labels."""
    return str(member.label)


class EntryKind(TextChoices):
    """The event."""

    PUBLISH = "publish", _("Goes live")
    PUBLISHED = "published", _("Went live")
    UPDATE = "update", _("Update")
    UNPUBLISHING = "unpublishing", _("Will be unpublished")
    UNPUBLISHED = "unpublished", _("Unpublished")
    EMBARGO = "embargo", _("Embargo ends")
    RELEASE = "release", _("Release")
    RELEASED = "released", _("Release published")
    FRONT = "front", _("Front goes live")
    FRONTED = "fronted", _("Front went live")


OVER = frozenset({EntryKind.PUBLISHED, EntryKind.UNPUBLISHED, EntryKind.RELEASED, EntryKind.FRONTED})


class Mark(TextChoices):
    """A warning on an entry."""

    AT_RISK = "at-risk", _("not approved")
    OVERDUE = "overdue", _("overdue: it has not happened yet")
    CONFLICT = "conflict", _("another article in this channel goes live at nearly the same time")

    @property
    def short(self) -> str:
        """Short label."""
        return str(_SHORT[self])


_SHORT = {
    Mark.AT_RISK: _("at risk"),
    Mark.OVERDUE: pgettext_lazy("of something on the calendar", "overdue"),
    Mark.CONFLICT: _("conflict"),
}


@lru_cache
def _short(mark: Mark, language: str | None) -> str:
    return mark.short


LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(eq=False)
class CalendarEntry:
    """An entry. Movable ones carry the time at which the user has `seen` them."""

    key: str  #: names the movable time, such as "publish_at:12"
    kind: EntryKind
    at: datetime
    title: str
    address: str = ""  #: URL of its form
    channel: str = ""
    author: str = ""
    state: str = ""  #: as a label
    state_name: str = ""  #: that readers see, or the status of a release
    note: str = ""
    seen: str = ""  #: the exact time that is stored, as ISO 8601; empty if it cannot be rescheduled
    marks: tuple[Mark, ...] = ()
    article: int | None = None  #: its subject, or
    release: int | None = None
    changed: datetime = LONG_AGO
    is_cancelled: bool = False  #: for calendar apps that have it already
    language: str | None = field(default_factory=get_language)  #: the active one; asking for it takes a while

    @property
    def is_over(self) -> bool:
        """Whether it has happened."""
        return self.kind in OVER

    @cached_property
    def wall(self) -> datetime:
        """Wall time in the current zone."""
        return local_time(self.at)

    @property
    def wall_time(self) -> str:
        """Wall time as ISO 8601 without zone, for the script."""
        return self.wall.replace(tzinfo=None).isoformat(timespec="seconds")

    @property
    def clock(self) -> str:
        """The time of day; with the UTC offset if this time occurs twice."""
        both = happens_twice(self.wall.replace(tzinfo=None), self.wall.tzinfo or UTC)
        return wall_clock(self.wall) + (f" {offset_name(self.wall)}" if both else "")

    @cached_property
    def name(self) -> str:
        """The event in words."""
        return label(self.kind, self.language)

    @property
    def short_marks(self) -> list[tuple[str, str]]:
        """Value and short label of each mark."""
        return [(mark.value, _short(mark, self.language)) for mark in self.marks]

    @property
    def classes(self) -> str:
        """CSS classes of kind and marks."""
        return " ".join((self.kind.value, *(mark.value for mark in self.marks)))

    @cached_property
    def details(self) -> str:
        """Channel, author and status."""
        return " · ".join(detail for detail in (self.channel, self.author, self.state, self.note) if detail)

    @property
    def tip(self) -> str:
        """Tooltip text."""
        marks = (label(mark, self.language) for mark in self.marks)
        return "\n".join((f"{self.wall:%H:%M:%S} {self.title}", self.name, self.details, *marks))
