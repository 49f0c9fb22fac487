"""The sequencer: numbers events after their commits, and marks the last of each article that readers noticed.

Transitions write events in their own transactions; one who holds the lock of the `FeedHead` numbers them after the
commit. Articles also go live and leave by the clock, and other programs change them. So the sequencer compares what
readers see now with what the feed says they saw, for the articles that were written (`PendingChange`) and for those one
of whose times has passed, and writes the events that no transition has written. An event is therefore never missed,
and never about something unseen.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from django.db.models import Exists, F, Max, Model, OuterRef, Q, QuerySet, Value

from articles.models import (
    Article,
    Channel,
    Event,
    FeedHead,
    FrontSeries,
    FrontVersion,
    Image,
    Instant,
    PendingChange,
    Tag,
    has_readers,
)
from scheduling.database import (
    EARLIEST,
    compiled_once,
    database_now,
    delete_by_ids,
    insert_for_each,
    insert_rows,
    lock_by_ids,
    read_database_clock,
    retried,
    update_by_ids,
)

Kind, State = Event.Kind, Event.State

LEADS_TO: Mapping[str, Event.State] = {
    Kind.PUBLISHED: State.LIVE,
    Kind.UPDATED: State.LIVE,
    Kind.CORRECTED: State.LIVE,
    Kind.REPUBLISHED: State.LIVE,
    Kind.UNPUBLISHED: State.UNPUBLISHED,
    Kind.RETRACTED: State.RETRACTED,
}
"""What readers see after an event of an article; the other kinds are not for readers."""

MOST = 2_000  # written articles that are checked under one lock
_ROUNDS = 100  # of those in one run of the reconciler
_TIMES = ("goes_live_at", "unpublish_at")
_HEAD = 1
_FRONTS_WITHIN = timedelta(days=1)
"""How late a version of a front may be committed, or seen, and still get its event: shorter than events are kept."""
_SHOWN_BY: Mapping[type[Model], str] = {Channel: "channel", Tag: "tags", Image: "image_uses__image"}


def catch_up(*, grace: timedelta = timedelta(0)) -> FeedHead:
    """Add new changes to the feed, unless another process does so now; returns the end of the feed.

    What has gone live or left by the clock within `grace`, and no worker has written yet, is left to the workers: both
    would insert the same event, and wait for each other.
    """
    head, _is_new = FeedHead.objects.get_or_create(pk=_HEAD, defaults={"looked_at": EARLIEST})
    if not _is_behind(head, grace):
        return head
    return _catch_up_alone(grace) or head


@retried
def _catch_up_alone(grace: timedelta) -> FeedHead | None:
    locked = lock_by_ids(FeedHead, [_HEAD], skip_locked=True).first()
    if locked is not None:
        _enter_changes(locked, grace)
    return locked


def catch_up_completely() -> int:
    """Add all new changes, so that requests have few to add. Returns 0, because this repairs nothing."""
    for _round in range(_ROUNDS):
        catch_up()
        if not (PendingChange.objects.exists() or Event.objects.unnumbered().exists()):
            break
    return 0


def note_renamed(thing: Model) -> None:
    """Mark the articles that show this channel, tag, author or image as changed, in the caller's transaction."""
    lookup = _SHOWN_BY.get(type(thing), "author")  # projects may have their own user model
    shown = Article.objects.filter((lookup, thing.pk), status__in=Article.Status.visible()).order_by("pk")
    insert_for_each(PendingChange, shown, article_id=F("pk"), is_visible=Value(1), at=database_now())


def _is_behind(head: FeedHead, grace: timedelta) -> bool:
    """Whether there is something to add, by two statements as a rule: webhooks ask ten times a second."""
    now, *signs = compiled_once(_unseen_signs)[0]
    until = _look_until(head, now, grace)
    if any(signs) or until < head.looked_at:
        return True
    times = {"since": head.looked_at, "until": until, "after": _fronts_after(head.looked_at, now), "now": now}
    *passed, recurs = compiled_once(_passed_signs, **times)[0]
    return any(passed) or (recurs and bool(_unwritten_occurrences(times["after"], now)))


def _unseen_signs() -> QuerySet[Any]:
    """One row: the clock, and whether articles were written and events have no number."""
    written, unnumbered = Exists(PendingChange.objects.all()), Exists(Event.objects.unnumbered())
    return FeedHead.objects.annotate(clock=database_now()).values_list("clock", written, unnumbered)[:1]


def _passed_signs(since: Instant, until: Instant, after: Instant, now: Instant) -> QuerySet[Any]:
    """One row: whether a time has passed, of each kind, a front has no event yet, and one recurs in that time."""
    shown = Article.objects.filter(status__in=Article.Status.visible())
    passed = (Exists(shown.filter((f"{name}__gt", since), (f"{name}__lte", until))) for name in _TIMES)
    recurring = FrontSeries.objects.filter(has_readers(), last__gt=after, first__lte=now)
    return FeedHead.objects.values_list(*passed, Exists(_unwritten_fronts(after, now)), Exists(recurring))[:1]


def _look_until(head: FeedHead, now: datetime, grace: timedelta) -> datetime:
    """Up to when to look for times that have passed; not before the last look, unless the clock was set back."""
    return min(now, max(head.looked_at, now - grace))


def _fronts_after(since: datetime, now: datetime) -> datetime:
    """The time since which fronts are looked at: a version that is published may commit after a later look."""
    return min(since, now - _FRONTS_WITHIN)


def _passed(since: datetime, now: datetime) -> set[int]:
    """The articles with a time between these two instants, in either order: clocks can be set back.

    Then also those that changed for readers after `now`: no trigger noted that one got a later time, as it waits again.
    """
    early, late = sorted((since, now))
    shown = Article.objects.filter(status__in=Article.Status.visible())
    spans = [Q((f"{name}__gt", early), (f"{name}__lte", late)) for name in _TIMES]
    found = {pk for span in spans for pk in shown.filter(span).values_list("pk", flat=True)}
    if now < since:
        found |= set(Event.objects.in_feed().filter(happened_at__gt=now).values_list("object_id", flat=True))
    return found


def _unwritten_fronts(after: Instant, now: Instant) -> QuerySet[FrontVersion]:
    """The versions of fronts that have gone live, also by the clock, and have no event yet."""
    written = Event.objects.filter(kind=Kind.FRONT_LIVE, object_id=OuterRef("front_id"), revision=OuterRef("number"))
    begun = FrontVersion.objects.begun(now).filter(repeats__isnull=True, live_from__gt=after)
    return begun.filter(has_readers(), ~Exists(written)).order_by("-live_from").select_related("front__channel")


def _unwritten_occurrences(after: datetime, now: datetime) -> list[tuple[FrontVersion, datetime]]:
    """The instants at which recurring versions have gone live that have no event yet, each once."""
    found = FrontSeries.objects.filter(has_readers()).between(after, now)
    if not found:
        return []
    versions = FrontVersion.objects.select_related("front__channel").in_bulk({one.version for one in found})
    keys = {(one.front_id, one.number) for one in versions.values()}
    events = Event.objects.filter(kind=Kind.FRONT_LIVE, object_id__in=[front for front, _number in keys])
    written = set(events.filter(planned_at__gte=found[0].at).values_list("object_id", "revision", "planned_at"))
    shown = [(versions[one.version], one.at) for one in found if one.version in versions]
    return [(version, at) for version, at in shown if (version.front_id, version.number, at) not in written]


def _events_of_fronts(after: datetime, now: datetime) -> list[Event]:
    once = [(version, version.live_from or now) for version in _unwritten_fronts(after, now)]
    return [
        Event(
            kind=Kind.FRONT_LIVE,
            object_id=version.front_id,
            revision=version.number,
            planned_at=at,
            happened_at=at,
            payload=version.front.named,
        )
        for version, at in [*once, *_unwritten_occurrences(after, now)]
    ]


def _enter_changes(head: FeedHead, grace: timedelta) -> None:
    pending, written = _unseen()
    now = read_database_clock()
    until = _look_until(head, now, grace)
    changed = {change.article_id: change.at for change in pending}
    stories = _stories(written)
    sights = _look(changed.keys() | stories.keys() | _passed(head.looked_at, until), changed, now)
    known = {one.object_id: one for one in Event.objects.in_feed().filter(object_id__in=list(sights))}
    visible = {change.article_id for change in pending if change.is_visible}
    for pk, sight in sights.items():
        stories.setdefault(pk, Story()).end_with(sight, known.get(pk), pk in visible)
    seen = [story.observed for story in stories.values() if story.observed]
    observed = _write_observed([*seen, *_events_of_fronts(_fronts_after(head.looked_at, now), now)])
    repeated = {event.pk for story in stories.values() for event in story.repeated}
    _number(head, [event for event in written if event.pk not in repeated], observed, stories, known, now)
    head.looked_at = until
    head.save()
    delete_by_ids(Event, repeated)
    delete_by_ids(PendingChange, [change.pk for change in pending])


def _unseen() -> tuple[list[PendingChange], list[Event]]:
    """Written articles, and events without a number, as of one instant: a transition commits one of each."""
    with connection.cursor() as cursor:
        cursor.execute(_UNSEEN, [MOST])
        rows = cursor.fetchall()
    changes = PendingChange.objects.in_bulk([pk for is_event, pk in rows if not is_event])
    events = Event.objects.in_bulk([pk for is_event, pk in rows if is_event])
    return [changes[pk] for pk in sorted(changes)], [events[pk] for pk in sorted(events)]


_UNSEEN = (
    f"SELECT 0, id FROM (SELECT id FROM {PendingChange._meta.db_table} ORDER BY id LIMIT %s) AS unchecked"  # noqa: S608 (names)
    f" UNION ALL SELECT 1, id FROM {Event._meta.db_table} WHERE seq IS NULL"
)
"""One statement sees one state of the database; two might see a change, but not its event."""


@dataclass(frozen=True)
class ReaderState:
    """The state of an article for readers, and since when."""

    pk: int
    state: Event.State
    at: datetime
    planned_at: datetime | None = None
    revision: int = 0


@dataclass
class Story:
    """What happened to an article since the feed's last entry about it."""

    events: list[Event] = field(default_factory=list)  #: that transitions wrote, in their order
    repeated: list[Event] = field(default_factory=list)  #: that say what was observed before, or what no reader sees
    observed: Event | None = None  #: what no transition wrote

    def end_with(self, sight: ReaderState, known: Event | None, text_changed: bool) -> None:
        """Complete it, so that it ends with what readers see now. What they never saw is no news."""
        before = _state_of(known)
        for event in self.events:
            # Readers saw it by the clock, and the sequencer as well, before a worker stored it.
            is_repeated = event.kind in (Kind.PUBLISHED, Kind.UNPUBLISHED) and before == LEADS_TO[event.kind]
            # An approved article may get a new text at a time; readers see it with the article, if ever.
            if is_repeated or (event.kind in (Kind.UPDATED, Kind.CORRECTED) and before != State.LIVE):
                self.repeated.append(event)
            else:
                before = LEADS_TO[event.kind]
        self.events = [event for event in self.events if event not in self.repeated]
        has_events = bool(self.events)
        if before == sight.state and (has_events or not (text_changed and sight.state == State.LIVE)):
            return
        if before is None and sight.state != State.LIVE:
            return
        planned_at = sight.planned_at if before != sight.state else None
        self.observed = Event(
            kind=_kind_between(before, sight.state),
            object_id=sight.pk,
            revision=sight.revision,
            planned_at=planned_at,
            happened_at=sight.at,
            state=sight.state,
        )

    def last(self) -> Event | None:
        """Its last event."""
        return self.observed or (self.events[-1] if self.events else None)


def _state_of(known: Event | None) -> Event.State | None:
    return None if known is None else State(known.state)


def _kind_between(before: Event.State | None, after: Event.State) -> Event.Kind:
    if after == State.LIVE:
        return Kind.PUBLISHED if before is None else Kind.UPDATED if before == State.LIVE else Kind.REPUBLISHED
    return Kind.RETRACTED if after == State.RETRACTED else Kind.UNPUBLISHED


def _stories(written: Sequence[Event]) -> dict[int, Story]:
    stories: dict[int, Story] = {}
    for event in written:
        if event.kind in LEADS_TO:
            stories.setdefault(event.object_id, Story()).events.append(event)
    return stories


def _look(ids: Collection[int], written: Mapping[int, datetime], now: datetime) -> dict[int, ReaderState]:
    live = set(Article.objects.live(now).filter(pk__in=ids).values_list("pk", flat=True))
    rows = Article.objects.filter(pk__in=ids).values_list("pk", "status", "publish_at", "revision", *_TIMES)
    there = {pk: row for pk, *row in rows}
    sights = {}
    for pk in ids:
        status, publish_at, revision, *times = there.get(pk, (None, None, 0))
        past = [time for time in times if time and time <= now]
        at = max([*past, *([written[pk]] if pk in written else [])], default=now)
        state = State.LIVE if pk in live else _absence(status)
        planned_at = publish_at if pk in live else at if at in past else None
        sights[pk] = ReaderState(pk, state, at, planned_at, revision)
    return sights


def _absence(status: int | None) -> Event.State:
    if status is None:
        return State.DELETED
    return State.RETRACTED if status == Article.Status.RETRACTED else State.UNPUBLISHED


_FIELDS = ("kind", "object_id", "revision", "planned_at", "happened_at", "state", "payload")


def _write_observed(events: Sequence[Event]) -> list[Event]:
    """Store what was observed, unless a worker writes the same at this moment; in the order in which it happened."""
    if not events:
        return []
    ordered = sorted(events, key=lambda one: one.object_id)  # as workers do, so that no two wait for each other
    insert_rows(Event, _FIELDS, ([getattr(one, name) for name in _FIELDS] for one in ordered), unless_there=True)
    wanted = {_key(one) for one in events}
    stored = Event.objects.unnumbered().filter(object_id__in=[one.object_id for one in events])
    found = [one for one in stored if _key(one) in wanted]
    return sorted(found, key=lambda one: (one.happened_at, one.object_id))


def _key(event: Event) -> tuple[int, str, int, datetime]:
    return event.object_id, event.kind, event.revision, event.happened_at


def _number(
    head: FeedHead,
    written: Sequence[Event],
    observed: Sequence[Event],
    stories: Mapping[int, Story],
    known: Mapping[int, Event],
    now: datetime,
) -> None:
    """Number these events, and let the last one of each article stand in the feed instead of that before."""
    last = Event.objects.aggregate(last=Max("numbered_at"))["last"]
    in_feed = {_key(event) for story in stories.values() if (event := story.last())}
    events = [*written, *observed]
    for seq, event in enumerate(events, start=head.sequence + 1):
        event.seq = seq
        event.feed_seq = seq if _key(event) in in_feed else None
        event.state = event.state or LEADS_TO.get(event.kind, "")
    gone = (known[event.object_id].pk for event in events if event.feed_seq and event.object_id in known)
    update_by_ids(Event, ["feed_seq"], ([pk, None] for pk in gone))
    rows = ([event.pk, event.seq, event.feed_seq, event.state] for event in events)
    update_by_ids(Event, ["seq", "feed_seq", "state"], rows, numbered_at=max(now, last or now))
    head.sequence += len(events)
