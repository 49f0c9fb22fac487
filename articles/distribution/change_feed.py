"""Writing and reading the change feed: changes of articles that readers see.

Articles go live and leave by the clock as well as by edits. So one who holds the lock compares what readers see now
with what the feed says they saw, for the articles that were written (`PendingChange`) and for those one of whose times
has passed. An entry is therefore never missed, and never about something unseen.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import F, Max, Model, Q, Value

from articles.exceptions import UnknownCheckpoint
from articles.listing import decode_cursor, encode_cursor
from articles.models import FEED_EPOCH, Article, Channel, FeedEntry, FeedHead, Image, PendingChange, Tag
from scheduling.database import (
    EARLIEST,
    database_now,
    delete_by_ids,
    insert_for_each,
    lock_by_ids,
    read_database_clock,
    retried,
)

State = FeedEntry.State

MOST = 2_000  # written articles that are checked under one lock
_ROUNDS = 100  # of those in one run of the reconciler
_TIMES = ("goes_live_at", "unpublish_at")
_HEAD = 1
_ORDER = "changes"
_SHOWN_BY: Mapping[type[Model], str] = {Channel: "channel", Tag: "tags", Image: "image_uses__image"}


def catch_up() -> FeedHead:
    """Add new changes to the feed, unless another process does so now; returns the end of the feed."""
    head, _is_new = FeedHead.objects.get_or_create(pk=_HEAD, defaults={"looked_at": EARLIEST})
    if not _is_behind(head):
        return head
    return _catch_up_alone() or head


@retried
def _catch_up_alone() -> FeedHead | None:
    locked = lock_by_ids(FeedHead, [_HEAD], skip_locked=True).first()
    if locked is not None:
        _enter_changes(locked)
    return locked


def catch_up_completely() -> int:
    """Add all new changes, so that requests have few to add. Returns 0, because this repairs nothing."""
    for _round in range(_ROUNDS):
        catch_up()
        if not PendingChange.objects.exists():
            break
    return 0


@dataclass(frozen=True)
class FeedPage:
    """Entries in the order of the feed, and the number up to which they are complete."""

    entries: Sequence[FeedEntry]
    sequence: int
    has_more: bool

    @property
    def checkpoint(self) -> str:
        """Where to continue."""
        return encode_cursor(_ORDER, [self.sequence])

    @property
    def live(self) -> list[FeedEntry]:
        """Articles that went live or changed."""
        return [entry for entry in self.entries if entry.state == State.LIVE]

    @property
    def gone(self) -> list[FeedEntry]:
        """Articles that left the site."""
        return [entry for entry in self.entries if entry.state != State.LIVE]


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
    entries = list(FeedEntry.objects.filter(sequence__gt=start).order_by("sequence")[: most + 1])
    page = entries[:most]
    return FeedPage(page, page[-1].sequence if page else start, has_more=len(entries) > most)


def _start(since: datetime, head: FeedHead) -> int:
    """The number before the first entry at `since` or later; the head was read first, so it is never too high."""
    first = FeedEntry.objects.filter(entered_at__gte=since).order_by("entered_at", "sequence").first()
    return head.sequence if first is None else first.sequence - 1


def note_renamed(thing: Model) -> None:
    """Mark the articles that show this channel, tag, author or image as changed, in the caller's transaction."""
    lookup = _SHOWN_BY.get(type(thing), "author")  # projects may have their own user model
    shown = Article.objects.filter((lookup, thing.pk), status__in=Article.Status.visible()).order_by("pk")
    insert_for_each(PendingChange, shown, article_id=F("pk"), is_visible=Value(1), at=database_now())


def _is_behind(head: FeedHead) -> bool:
    return PendingChange.objects.exists() or bool(_passed(head.looked_at, read_database_clock()))


def _passed(since: datetime, now: datetime) -> set[int]:
    """The articles with a time between these two instants, in either order: clocks can be set back.

    Then also those that changed for readers after `now`: no trigger noted that one got a later time, as it waits again.
    """
    early, late = sorted((since, now))
    shown = Article.objects.filter(status__in=Article.Status.visible())
    spans = [Q((f"{name}__gt", early), (f"{name}__lte", late)) for name in _TIMES]
    found = {pk for span in spans for pk in shown.filter(span).values_list("pk", flat=True)}
    if now < since:
        found |= set(FeedEntry.objects.filter(at__gt=now).values_list("pk", flat=True))
    return found


def _enter_changes(head: FeedHead) -> None:
    pending = list(PendingChange.objects.order_by("pk")[:MOST])
    now = read_database_clock()
    written = {change.article_id: change.at for change in pending}
    visible = {change.article_id for change in pending if change.is_visible}
    sights = _look(written.keys() | _passed(head.looked_at, now), written, now)
    known = FeedEntry.objects.in_bulk(list(sights))
    changed = [sight for pk, sight in sights.items() if _is_news(sight, known.get(pk), pk in visible)]
    _enter(head, sorted(changed, key=lambda sight: (sight.at, sight.pk)), now)
    delete_by_ids(PendingChange, [change.pk for change in pending])


@dataclass(frozen=True)
class ReaderState:
    """The state of an article for readers, and since when."""

    pk: int
    state: FeedEntry.State
    at: datetime


def _is_news(sight: ReaderState, known: FeedEntry | None, text_changed: bool) -> bool:
    """Whether readers see a change; not for articles that were never live."""
    if known is None:
        return sight.state == State.LIVE
    return known.state != sight.state or (sight.state == State.LIVE and text_changed)


def _look(ids: Collection[int], written: Mapping[int, datetime], now: datetime) -> dict[int, ReaderState]:
    live = set(Article.objects.live(now).filter(pk__in=ids).values_list("pk", flat=True))
    rows = Article.objects.filter(pk__in=ids).values_list("pk", "status", *_TIMES)
    there = {pk: (status, [time for time in times if time and time <= now]) for pk, status, *times in rows}
    sights = {}
    for pk in ids:
        status, past = there.get(pk, (None, []))
        at = max([*past, *([written[pk]] if pk in written else [])], default=now)
        sights[pk] = ReaderState(pk, State.LIVE if pk in live else _absence(status), at)
    return sights


def _absence(status: int | None) -> FeedEntry.State:
    if status is None:
        return State.DELETED
    return State.RETRACTED if status == Article.Status.RETRACTED else State.UNPUBLISHED


def _enter(head: FeedHead, sights: Sequence[ReaderState], now: datetime) -> None:
    last = FeedEntry.objects.aggregate(last=Max("entered_at"))["last"]
    entered_at = max(now, last or now)
    delete_by_ids(FeedEntry, [sight.pk for sight in sights])
    FeedEntry.objects.bulk_create(
        [
            FeedEntry(article_id=one.pk, sequence=number, state=one.state, at=one.at, entered_at=entered_at)
            for number, one in enumerate(sights, start=head.sequence + 1)
        ],
        batch_size=500,
    )
    head.sequence, head.looked_at = head.sequence + len(sights), now
    head.save()
