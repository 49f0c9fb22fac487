"""What readers may see of one story, and when: the model of the newsroom that the checker compares with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

FOREVER = float("inf")
_TOLERANCE = 0.002  # seconds; times are stored in microseconds, and some are compared as milliseconds

Span = tuple[float, float, int]
"""From when, until when, and which text is shown."""


def seconds(moment: str | None) -> float | None:
    """Seconds since 1970 of a time in ISO 8601."""
    return None if moment is None else datetime.fromisoformat(moment).timestamp()


@dataclass(frozen=True)
class State:
    """A story after an operation. What changes by the clock alone is in `spans`."""

    is_approved: bool = False  #: once; a new text is an update from then on
    is_shown: bool = False  #: approved or published, so that its times decide
    is_stamped: bool = False  #: stored as published
    publish_at: float | None = None
    embargo_until: float | None = None
    unpublish_at: float | None = None
    text: int = 1
    draft: int | None = None  #: of an update
    update: int | None = None  #: approved
    update_at: float | None = None
    late_date: tuple[float, float] | None = None
    """A `publish_at` by a worker that knew no earlier end of the commit, and from when readers may have seen it."""

    @property
    def goes_live_at(self) -> float | None:
        """Its time, or the end of its embargo if that is later."""
        return None if self.publish_at is None else max(self.publish_at, self.embargo_until or 0.0)

    def is_live(self, at: float) -> bool:
        """Whether readers see it at this time."""
        return any(begin <= at < end for begin, end, _text in self.spans())

    def spans(self) -> list[Span]:
        """When readers see which text, if nothing else happens: the clock decides, except of updates."""
        begin, end = self.goes_live_at, self.unpublish_at or FOREVER
        if begin is not None and self.late_date and self.late_date[0] == self.publish_at:
            begin = max(self.late_date[1], self.embargo_until or 0.0)
        return [(begin, end, self.text)] if self.is_shown and begin is not None and begin < end else []

    def updated(self) -> State:
        """With the text of its approved update."""
        return replace(self, text=self.update or self.text, update=None, update_at=None)


def after(state: State, name: str, values: Mapping[str, Any], at: float) -> State:
    """The state that an operation leads to when it takes effect at `at`."""
    match name:
        case "edit":
            state = replace(state, unpublish_at=seconds(values["unpublish_at"])) if "unpublish_at" in values else state
            if "text" not in values:
                return state
            return replace(state, draft=values["text"]) if state.is_approved else replace(state, text=values["text"])
        case "approve" if state.draft is not None:
            approved = replace(state, update=state.draft, draft=None)
            waits = state.update_at is not None or values.get("waits", state.is_live(at))
            return approved if waits else approved.updated()
        case "approve":
            return replace(state, is_approved=True, is_shown=True)
        case "store":
            return replace(state, is_approved=True, is_shown=True, publish_at=seconds(values["publish_at"]))
        case "schedule" | "move by SQL":
            return replace(state, publish_at=seconds(values["publish_at"]))
        case "reschedule":
            return replace(state, publish_at=(state.publish_at or 0.0) + values["shift"])
        case "joined_release" if state.is_live(at):
            return replace(state, update_at=None)  # the release publishes its update
        case "unschedule" | "joined_release":
            return replace(state, publish_at=None)
        case "publish_now":
            return replace(state, is_shown=True, is_stamped=True, publish_at=at)
        case "set_embargo":
            return replace(state, embargo_until=seconds(values["until"]))
        case "unpublish":
            return replace(state, is_shown=False, is_stamped=True)
        case "republish":
            over = state.unpublish_at is not None and state.unpublish_at <= at
            begin, end = min(state.publish_at or at, at), None if over else state.unpublish_at
            return replace(state, is_shown=True, is_stamped=True, publish_at=begin, unpublish_at=end)
        case "retract":
            gone = replace(state, is_shown=False, publish_at=state.publish_at if state.is_stamped else None)
            return replace(gone, draft=None, update=None, update_at=None)
        case "schedule_update":
            return replace(state, update_at=seconds(values["publish_at"]))
        case "unschedule_update":
            return replace(state, update_at=None)
        case "publish_update":
            return state.updated()
        case "discard_update":
            return replace(state, draft=None) if state.draft else replace(state, update=None, update_at=None)
    return state


@dataclass(frozen=True)
class Segment:
    """A state, from when it may hold, until when it may hold, and until when caches may show it."""

    begin: float
    end: float
    stale_end: float
    spans: Sequence[Span]


@dataclass(frozen=True)
class Timeline:
    """The states of a story in their order; they overlap where it is uncertain when an operation took effect."""

    segments: Sequence[Segment]

    def may_show(self, text: int, began: float, ended: float) -> bool:
        """Whether a page requested and received at these times may show this text."""
        for segment, (begin, end, shown) in self._spans():
            latest = min(ended, segment.stale_end, end) + _TOLERANCE
            was_shown = max(segment.begin, begin) <= segment.end + _TOLERANCE  # and so may be in caches
            if shown == text and was_shown and max(began, segment.begin, begin) <= latest:
                return True
        return False

    def may_have_shown(self, text: int, ended: float) -> bool:
        """Whether it may have been visible at any time until then."""
        return any(
            shown == text and max(segment.begin, begin) <= min(ended, segment.end) + _TOLERANCE
            for segment, (begin, _end, shown) in self._spans()
        )

    def may_be_missing(self, began: float, ended: float) -> bool:
        """Whether the story's own page, which is not cached while there is none, may be missing."""
        for segment in self.segments:
            begin, end = max(began, segment.begin), min(ended, segment.end)
            if begin <= end + _TOLERANCE and not _cover(segment.spans, begin, end):
                return True
        return False

    def _spans(self) -> Iterator[tuple[Segment, Span]]:
        return ((segment, span) for segment in self.segments for span in segment.spans)


def _cover(spans: Sequence[Span], begin: float, end: float) -> bool:
    """Whether the spans, which follow one another, show the story all the time."""
    return bool(spans) and spans[0][0] <= begin - _TOLERANCE and end + _TOLERANCE < spans[-1][1]
