"""Status and times of imported articles, from our statuses (name or number) or WordPress's.

Articles without a status and private ones become drafts, so that nothing goes live by accident.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from django.utils.translation import gettext as _

from articles.exchange.records import Refused
from articles.models import Article

Status = Article.Status

OTHER_NAMES = {
    "": Status.DRAFT,
    "private": Status.DRAFT,
    "submitted": Status.MANUAL_REVIEW,
    "pending": Status.MANUAL_REVIEW,
    "review": Status.MANUAL_REVIEW,
    "scheduled": Status.APPROVED,
    "future": Status.APPROVED,
    "publish": Status.PUBLISHED,
}
"""Statuses of other systems. "submitted" would wait for an automatic review that is not running."""

NEEDS_TIME = frozenset({"scheduled", "future"})


class PastDue(StrEnum):
    """What happens to an article whose publication time is in the past."""

    HOLD = "hold"  # becomes a draft and is reported
    PUBLISH = "publish"  # goes live at once
    RESCHEDULE = "reschedule"  # one per minute, starting at the next full minute, in the order of the file


@dataclass(frozen=True, slots=True)
class Times:
    """An article's times in the file, in UTC or None."""

    publish_at: datetime | None
    published_at: datetime | None
    embargo_until: datetime | None

    def goes_live_after(self, now: datetime) -> bool:
        """Whether it goes live after `now`."""
        return any(time is not None and time > now for time in (self.publish_at, self.embargo_until))


@dataclass(frozen=True, slots=True)
class ImportedStatus:
    """Status and times of an imported article, and a note for the report."""

    status: Status
    publish_at: datetime | None
    published_at: datetime | None = None
    cleared_at: datetime | None = None
    held: bool = False
    note: str = ""


class Timetable:
    """Decides the outcomes of one import, which started at `now`."""

    def __init__(self, *, now: datetime, past_due: PastDue) -> None:
        self.now = now
        self._next_slot = now.replace(second=0, microsecond=0)
        self._late: Callable[[ImportedStatus], ImportedStatus] = {
            PastDue.HOLD: self._hold,
            PastDue.PUBLISH: self._publish,
            PastDue.RESCHEDULE: self._reschedule,
        }[past_due]

    def decide(self, word: str, times: Times) -> ImportedStatus:
        """The outcome for an article with this status and these times in the file."""
        word = word.lower()
        status = status_named(word)
        if status in Status.waiting():
            return self._scheduled(status, times, needs_time=word in NEEDS_TIME)
        if status == Status.PUBLISHED:
            return self._published(times)
        if status in (Status.UNPUBLISHED, Status.RETRACTED):
            return self._seen(status, times.publish_at or times.published_at, times.published_at)
        note = _("private; imported as a draft") if word == "private" else ""
        return ImportedStatus(status, times.publish_at, note=note)

    def held(self, word: str, times: Times) -> ImportedStatus:
        """The outcome for an article one of whose times is unclear: a draft, unless it is not approved anyway."""
        status = status_named(word.lower())
        kept = status if status in Status.unapproved() else Status.DRAFT
        return ImportedStatus(
            kept, times.publish_at, held=True, note=_("imported as a draft") if kept != status else ""
        )

    def decide_alone(self, moment: datetime | None) -> tuple[datetime | None, str]:
        """The time of an update or a release, which is no article, and a note; None to leave it without."""
        if moment is None or moment > self.now:
            return moment, ""
        outcome = self._late(ImportedStatus(Status.APPROVED, moment))
        if outcome.held:
            return None, _("was due at %(time)s; imported without its time") % {"time": _shown(moment)}
        return outcome.publish_at, outcome.note

    def _published(self, times: Times) -> ImportedStatus:
        publish_at = times.publish_at or times.published_at or times.embargo_until
        if publish_at is None:  # the present time would be invented, and would lead every list
            return ImportedStatus(Status.DRAFT, None, held=True, note=_("has no date; imported as a draft"))
        if replace(times, publish_at=publish_at).goes_live_after(self.now):
            return ImportedStatus(Status.APPROVED, publish_at)
        if times.published_at and times.published_at > self.now:  # it says that no reader has seen it yet
            note = went_by(publish_at, times.published_at)
            return ImportedStatus(Status.APPROVED, times.published_at, note=note)
        earliest = max(publish_at, times.embargo_until or publish_at)
        return self._seen(Status.PUBLISHED, publish_at, max(times.published_at or earliest, earliest))

    def _seen(self, status: Status, publish_at: datetime | None, published_at: datetime | None) -> ImportedStatus:
        """An article that readers could see since `published_at`, which is never to come, but maybe after its time."""
        moment = published_at and min(published_at, self.now)
        is_late = moment is not None and publish_at is not None and moment > publish_at
        return ImportedStatus(status, publish_at, moment, cleared_at=moment if is_late else None)

    def _scheduled(self, status: Status, times: Times, *, needs_time: bool) -> ImportedStatus:
        if times.publish_at is None and needs_time:
            raise Refused("publish_at", _("is missing; a scheduled article needs a publication time"))
        outcome = ImportedStatus(status, times.publish_at)
        missed = times.publish_at is not None and not times.goes_live_after(self.now)
        return self._late(outcome) if missed else outcome

    def _hold(self, outcome: ImportedStatus) -> ImportedStatus:
        note = _("was due at %(time)s; imported as a draft") % {"time": _shown(outcome.publish_at)}
        return replace(outcome, status=Status.DRAFT, held=True, note=note)

    def _publish(self, outcome: ImportedStatus) -> ImportedStatus:
        return replace(outcome, note=_("was due at %(time)s; goes live at once") % {"time": _shown(outcome.publish_at)})

    def _reschedule(self, outcome: ImportedStatus) -> ImportedStatus:
        self._next_slot += timedelta(minutes=1)
        return replace(outcome, publish_at=self._next_slot, note=went_by(outcome.publish_at, self._next_slot))


def went_by(due: datetime | None, slot: datetime) -> str:
    """The note that a time has passed, and which one is instead of it."""
    return _("was due at %(time)s; goes live at %(slot)s") % {"time": _shown(due), "slot": _shown(slot)}


def status_named(word: str) -> Status:
    if word.isdecimal() and int(word) in Status.values:
        word = Status(int(word)).name.lower()
    if word in OTHER_NAMES:
        return OTHER_NAMES[word]
    if word.upper() in Status.names:
        return Status.__members__[word.upper()]
    known = _(", ").join(sorted({name.lower() for name in Status.names} | OTHER_NAMES.keys() - {""}))
    raise Refused("status", _('"%(word)s" is not known; use one of %(known)s') % {"word": word, "known": known})


def may_be_shown(word: str) -> bool:
    """Whether readers see articles of this status, now or from some time on."""
    try:
        return status_named(word.lower()) in Status.visible()
    except Refused:
        return False


def _shown(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
