"""What stands on the calendar: something that happens, or did, at an instant."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from django.db.models import TextChoices
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from articles.text import happens_twice, offset_name


class Kind(TextChoices):
    """What happens."""

    PUBLISH = "publish", _("Goes live")
    PUBLISHED = "published", _("Went live")
    UPDATE = "update", _("Newer text")
    TAKE_OFF = "take-off", _("Is taken off")
    UNPUBLISHED = "taken-off", _("Was taken off")
    EMBARGO = "embargo", _("Embargo ends")
    RELEASE = "release", _("Release goes out")
    RELEASED = "released", _("Release went out")


OVER = frozenset({Kind.PUBLISHED, Kind.UNPUBLISHED, Kind.RELEASED})


class Mark(TextChoices):
    """What somebody should look at."""

    AT_RISK = "at-risk", _("not approved yet")
    OVERDUE = "overdue", _("its time is past, and it has not happened")
    CONFLICT = "clash", _("another article of the channel goes live at nearly the same time")

    @property
    def short(self) -> str:
        """In one word or two, for an entry."""
        return str(_SHORT[self])


_SHORT = {
    Mark.AT_RISK: _("at risk"),
    Mark.OVERDUE: pgettext_lazy("of something on the calendar", "overdue"),
    Mark.CONFLICT: _("clash"),
}


LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Entry:
    """One thing on the calendar. What can be moved has the time that the person `seen` it at."""

    key: str  #: names what is moved, such as "publish_at:12"
    kind: Kind
    at: datetime
    title: str
    address: str = ""  #: where it is changed
    channel: str = ""
    author: str = ""
    state: str = ""  #: where it stands, in words
    note: str = ""
    seen: str = ""  #: the exact time that is stored, as ISO 8601; empty if it cannot be moved
    marks: tuple[Mark, ...] = ()
    article: int | None = None  #: what it is about, or
    release: int | None = None
    changed: datetime = LONG_AGO
    is_off: bool = False  #: called off: for calendar programs that know it already

    @property
    def is_over(self) -> bool:
        """Whether it has happened."""
        return self.kind in OVER

    def marked(self, mark: Mark) -> Entry:
        """The same with one mark more."""
        return replace(self, marks=(*self.marks, mark))

    @cached_property
    def wall(self) -> datetime:
        """What clocks in the current zone show."""
        return timezone.localtime(self.at)

    @property
    def wall_time(self) -> str:
        """The same as ISO 8601, without the zone: for the script, which moves it on the wall."""
        return self.wall.replace(tzinfo=None).isoformat(timespec="seconds")

    @property
    def clock(self) -> str:
        """Hour and minute; with the distance from UTC if the clocks show this time twice."""
        both = happens_twice(self.wall.replace(tzinfo=None), timezone.get_current_timezone())
        return f"{self.wall:%H:%M}" + (f" {offset_name(self.wall)}" if both else "")

    @cached_property
    def name(self) -> str:
        """What happens, in words."""
        return str(self.kind.label)

    @property
    def classes(self) -> str:
        """Kind and marks, for the style sheet."""
        return " ".join((self.kind.value, *(mark.value for mark in self.marks)))

    @cached_property
    def details(self) -> str:
        """Channel, author, where it stands."""
        return " · ".join(detail for detail in (self.channel, self.author, self.state, self.note) if detail)

    @property
    def tip(self) -> str:
        """Everything about it, for who points at it."""
        marks = (str(mark.label) for mark in self.marks)
        return "\n".join((f"{self.wall:%H:%M:%S} {self.title}", self.name, self.details, *marks))
