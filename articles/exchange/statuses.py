"""Which status an imported article gets, and when it goes live.

Ours by name or number, and WordPress's. Nobody is surprised by an article going live: what has no status, or one
that only some may read, becomes a draft.
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
"""What other systems say, in our words. "submitted" would wait for a review that nobody has started."""

NEEDS_A_TIME = frozenset({"scheduled", "future"})


class PastDue(StrEnum):
    """What becomes of an article whose time to go live was missed."""

    HOLD = "hold"  # a draft, named in the report
    PUBLISH = "publish"  # goes live at once
    RESCHEDULE = "reschedule"  # one a minute from the next full minute on, in the order of the file


@dataclass(frozen=True, slots=True)
class Times:
    """The times that a file gives an article, each in UTC or missing."""

    publish_at: datetime | None
    published_at: datetime | None
    embargo_until: datetime | None

    def goes_live_after(self, now: datetime) -> bool:
        """Whether readers may first see it later than `now`."""
        return any(time is not None and time > now for time in (self.publish_at, self.embargo_until))


@dataclass(frozen=True, slots=True)
class Outcome:
    """Status and times of an imported article, and what the report says about it."""

    status: Status
    publish_at: datetime | None
    published_at: datetime | None = None
    held: bool = False
    note: str = ""


class Timetable:
    """Decides outcomes during one import that began at `now`."""

    def __init__(self, *, now: datetime, past_due: PastDue) -> None:
        self.now = now
        self._next_slot = now.replace(second=0, microsecond=0)
        self._late: Callable[[Outcome], Outcome] = {
            PastDue.HOLD: self._hold,
            PastDue.PUBLISH: self._publish,
            PastDue.RESCHEDULE: self._reschedule,
        }[past_due]

    def decide(self, word: str, times: Times) -> Outcome:
        """The outcome for an article that its file gives this status and these times."""
        word = word.lower()
        status = _status(word)
        if status in Status.waiting():
            return self._wait(status, times, needs_a_time=word in NEEDS_A_TIME)
        if status == Status.PUBLISHED:
            return self._published(times)
        if status in (Status.UNPUBLISHED, Status.RETRACTED):
            return Outcome(status, times.publish_at or times.published_at, times.published_at)
        note = _("not for all to read; imported as a draft") if word == "private" else ""
        return Outcome(status, times.publish_at, note=note)

    def _published(self, times: Times) -> Outcome:
        publish_at = times.publish_at or times.published_at or self.now
        if replace(times, publish_at=publish_at).goes_live_after(self.now):
            return Outcome(Status.APPROVED, publish_at)
        return Outcome(Status.PUBLISHED, publish_at, self._credible(times.published_at or publish_at, publish_at))

    def _credible(self, published_at: datetime, publish_at: datetime) -> datetime:
        """Readers are told no time before the article's own, and none that is still to come."""
        return min(max(published_at, publish_at), self.now)

    def _wait(self, status: Status, times: Times, *, needs_a_time: bool) -> Outcome:
        if times.publish_at is None and needs_a_time:
            raise Refused("publish_at", _("is missing; a scheduled article needs the time to go live"))
        outcome = Outcome(status, times.publish_at)
        missed = times.publish_at is not None and not times.goes_live_after(self.now)
        return self._late(outcome) if missed else outcome

    def _hold(self, outcome: Outcome) -> Outcome:
        note = _("was due at %(time)s; held as a draft") % {"time": _shown(outcome.publish_at)}
        return replace(outcome, status=Status.DRAFT, held=True, note=note)

    def _publish(self, outcome: Outcome) -> Outcome:
        return replace(outcome, note=_("was due at %(time)s; goes live at once") % {"time": _shown(outcome.publish_at)})

    def _reschedule(self, outcome: Outcome) -> Outcome:
        self._next_slot += timedelta(minutes=1)
        note = _("was due at %(time)s; goes live at %(slot)s") % {
            "time": _shown(outcome.publish_at),
            "slot": _shown(self._next_slot),
        }
        return replace(outcome, publish_at=self._next_slot, note=note)


def _status(word: str) -> Status:
    if word.isdecimal() and int(word) in Status.values:
        word = Status(int(word)).name.lower()
    if word in OTHER_NAMES:
        return OTHER_NAMES[word]
    if word.upper() in Status.names:
        return Status.__members__[word.upper()]
    known = _(", ").join(sorted({name.lower() for name in Status.names} | OTHER_NAMES.keys() - {""}))
    raise Refused("status", _('"%(word)s" is not known; use one of %(known)s') % {"word": word, "known": known})


def _shown(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
