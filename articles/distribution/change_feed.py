"""The change feed, a view of the events: the last one of each article that readers noticed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from articles.distribution.sequencer import catch_up
from articles.exceptions import UnknownCheckpoint
from articles.listing import decode_cursor, encode_cursor
from articles.models import FEED_EPOCH, Event, FeedHead

_ORDER = "changes"


@dataclass(frozen=True)
class FeedPage:
    """Entries in the order of the feed, and the number up to which they are complete."""

    entries: Sequence[Event]
    sequence: int
    has_more: bool

    @property
    def checkpoint(self) -> str:
        """Where to continue."""
        return encode_cursor(_ORDER, [self.sequence])

    @property
    def live(self) -> list[Event]:
        """Articles that went live or changed."""
        return [entry for entry in self.entries if entry.state == Event.State.LIVE]

    @property
    def gone(self) -> list[Event]:
        """Articles that left the site."""
        return [entry for entry in self.entries if entry.state != Event.State.LIVE]


def checkpoint_number(text: str) -> int:
    """The number that a checkpoint stands for. Raises `InvalidCursor`."""
    (sequence,) = decode_cursor(_ORDER, text)
    return int(sequence)


def follow(since: int | datetime, *, most: int) -> FeedPage:
    """The first `most` entries after a number, or from a time on. Raises `UnknownCheckpoint`."""
    head = catch_up()
    start = since if isinstance(since, int) else _start(since, head)
    if start > head.sequence or start // FEED_EPOCH != head.sequence // FEED_EPOCH:
        raise UnknownCheckpoint
    entries = list(Event.objects.filter(feed_seq__gt=start).order_by("feed_seq")[: most + 1])
    page = entries[:most]
    return FeedPage(page, page[-1].feed_seq or start if page else start, has_more=len(entries) > most)


def _start(since: datetime, head: FeedHead) -> int:
    """The number before the first entry at `since` or later; the head was read first, so it is never too high."""
    first = Event.objects.in_feed().filter(numbered_at__gte=since).order_by("numbered_at", "seq").first()
    return head.sequence if first is None or first.seq is None else first.seq - 1
