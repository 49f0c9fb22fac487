"""The calendar as an iCalendar file (RFC 5545)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

from django.conf import settings
from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext as _
from icalendar import STATUS, TRANSP, Calendar, vDuration

from articles.audit import Action
from articles.desk.calendar.collector import Collector, Row
from articles.desk.calendar.entries import CalendarEntry, EntryKind, Mark, label
from articles.desk.calendar.parameters import Choice
from articles.desk.calendar.reschedule import Moment, time_of
from articles.desk.calendar.sources import COLUMNS, SOURCES, entry_about, release_entry
from articles.desk.calendar.subjects import KINDS
from articles.models import Article, AuditEntry, Release, State, in_states
from articles.publishing import Actor

BACK, AHEAD = timedelta(days=30), timedelta(days=365)
"""Range of the feed."""
MAX_EVENTS = 2000
"""Maximum entries per source in each direction, nearest first."""
_LENGTH = 75  # bytes of a line
REFRESH = timedelta(minutes=15)
"""Refresh interval suggested to calendar apps."""


class FeedCollector(Collector):
    """Collects feed entries from a month ago to a year ahead."""

    def __init__(self, choice: Choice, *, by: Actor, now: datetime) -> None:
        super().__init__(choice, by=by, now=now)
        self.entries: list[CalendarEntry] = []

    def put(self, rows: QuerySet[Row], time: str, entry: Callable[[Row, Collector], CalendarEntry]) -> None:
        """Add an entry for each row in the range: two queries."""
        ahead = rows.filter(**{f"{time}__gte": self.now, f"{time}__lt": self.now + AHEAD}).order_by(time, "pk")
        behind = rows.filter(**{f"{time}__gte": self.now - BACK, f"{time}__lt": self.now}).order_by(f"-{time}", "-pk")
        self.entries += [entry(row, self) for row in (*ahead[:MAX_EVENTS], *behind[:MAX_EVENTS])]

    @property
    def period(self) -> tuple[datetime, datetime]:
        """The range of the feed."""
        return self.now - BACK, self.now + AHEAD

    def add(self, entry: CalendarEntry) -> None:
        """Add it."""
        self.entries.append(entry)


def feed(choice: Choice, *, by: Actor, now: datetime) -> bytes:
    """The file for `by`, in UTC."""
    collector = FeedCollector(choice, by=by, now=now)
    for source in (*SOURCES, unpublished, cancelled_releases, removed_times):
        source(collector)
    versions = _versions("article_id", {entry.article for entry in collector.entries if entry.article})
    releases = _versions("release_id", {entry.release for entry in collector.entries if entry.release})
    calendar = Calendar.new(name=_("Headline"), prodid="-//Headline//Calendar//EN", refresh_interval=REFRESH)
    calendar.add("X-PUBLISHED-TTL", vDuration(REFRESH))
    head, end, _after = calendar.to_ical().partition(b"END:VCALENDAR")
    events = [
        _event(entry, versions.get(entry.article) or releases.get(entry.release, 0)) for entry in collector.entries
    ]
    return b"".join((head, *events, end, b"\r\n"))


def unpublished(collector: FeedCollector) -> None:
    """Articles that readers do not see at their time, or no longer see."""
    gone = in_states([State.UNPUBLISHED, State.RETRACTED], collector.now)
    rows = Article.objects.filter(collector.choice.articles(collector.by) & gone).select_related("channel", "author")
    collector.put(rows.only(*COLUMNS), "goes_live_at", _unpublished)
    collector.put(rows.filter(status=Article.Status.RETRACTED).only(*COLUMNS), "unpublish_at", _not_unpublished)


def cancelled_releases(collector: FeedCollector) -> None:
    """Cancelled releases, in unfiltered feeds only: they no longer have articles."""
    if collector.by.has_perm("articles.view_release") and not collector.choice.filters():  # type: ignore[union-attr]
        collector.put(Release.objects.filter(status=Release.Status.CANCELLED), "publish_at", release_entry)


def removed_times(collector: FeedCollector) -> None:
    """Times removed within the last month, also of deleted articles."""
    last = _last_times(collector.now - BACK)
    articles = {pk for _moment, pk in last}
    there = Article.objects.filter(pk__in=articles).only(*COLUMNS, "update__publish_at").select_related("update")
    found = {article.pk: article for article in there.filter(collector.choice.articles(collector.by))}
    gone = set() if collector.choice.filters() else articles - set(there.values_list("pk", flat=True))
    for (moment, pk), (time, entry) in last.items():
        if pk in gone or (pk in found and time_of(found[pk], moment) is None):
            collector.entries.append(_as_it_was(moment, time, entry))


def _last_times(since: datetime) -> dict[tuple[Moment, int], tuple[datetime, AuditEntry]]:
    """The last known time by moment and article, and the audit entry that removed it."""
    lost = Q(old_time__isnull=False) & (Q(new_time__isnull=True) | Q(action=Action.DELETE))
    shown = lost | Q(action=Action.UPDATED) | Q(details__has_any_keys=[*Moment])
    rows = AuditEntry.objects.filter(shown, at__gte=since, article_id__isnull=False).latest_first()
    last: dict[tuple[Moment, int], tuple[datetime, AuditEntry]] = {}
    for entry in reversed(rows[:MAX_EVENTS]):
        article = entry.article_id or 0
        last |= {(moment, article): (time, entry) for moment, time in _times_in(entry)}
        if entry.action == Action.UPDATED and (Moment.UPDATE, article) in last:
            last[Moment.UPDATE, article] = last[Moment.UPDATE, article][0], entry
    return last


def _times_in(entry: AuditEntry) -> Iterator[tuple[Moment, datetime]]:
    """The times in an entry: the current one or, if removed, the previous one."""
    if entry.old_time and (entry.new_time is None or entry.action == Action.DELETE):
        yield Moment.PUBLISH, entry.old_time
    for moment in (Moment.UNPUBLISH, Moment.EMBARGO):
        old, new = entry.details.get(moment) or (None, None)
        if time := new or old:
            yield moment, datetime.fromisoformat(time)
    if time := entry.details.get(Moment.UPDATE):
        yield Moment.UPDATE, datetime.fromisoformat(time)


def _unpublished(article: Article, collector: Collector) -> CalendarEntry:
    return entry_about(
        collector, article, EntryKind.PUBLISH, article.goes_live_at or collector.now, Moment.PUBLISH, is_cancelled=True
    )


def _not_unpublished(article: Article, collector: Collector) -> CalendarEntry:
    return entry_about(
        collector,
        article,
        EntryKind.UNPUBLISHING,
        article.unpublish_at or collector.now,
        Moment.UNPUBLISH,
        is_cancelled=True,
    )


def _as_it_was(moment: Moment, time: datetime, entry: AuditEntry) -> CalendarEntry:
    """The cancelled event, or an update whose time is cleared because it went live."""
    return CalendarEntry(
        key=f"{moment}:{entry.article_id}",
        kind=KINDS[moment],
        at=time,
        title=entry.article_title,
        article=entry.article_id,
        changed=entry.at,
        is_cancelled=entry.action != Action.UPDATED,
    )


def _versions(name: str, keys: Collection[int]) -> Mapping[int | None, int]:
    """Number of audit entries per article or release, which only grows: used as SEQUENCE."""
    counted = AuditEntry.objects.filter(**{f"{name}__in": keys}).order_by().values_list(name)
    return dict(counted.annotate(Count("id")))


def _event(entry: CalendarEntry, version: int) -> bytes:
    """An entry as an event without duration. Its UID is event and article, and stays when it is rescheduled.

    Written here, because the library takes a millisecond for each of thousands.
    """
    marks = (label(mark, entry.language) for mark in entry.marks if mark is not Mark.OVERDUE)
    changed = _whole(entry.changed)
    values = {
        "BEGIN": "VEVENT",
        "SUMMARY": escaped(f"{entry.name}: {entry.title}"),
        "DTSTART": _whole(entry.at),
        "DTSTAMP": changed,
        "UID": f"{entry.key.replace(':', '-')}@{urlsplit(settings.SITE_URL).hostname}",
        "SEQUENCE": f"{version}",
        "CATEGORIES": escaped(entry.channel),
        "DESCRIPTION": escaped("\n".join((entry.details, *marks))),
        "LAST-MODIFIED": changed,
        "STATUS": _status(entry),
        "TRANSP": TRANSP.TRANSPARENT.value,
        "URL": settings.SITE_URL + entry.address if entry.address else "",
        "END": "VEVENT",
    }
    return b"".join(content_line(f"{name}:{value}") for name, value in values.items() if value)


def _status(entry: CalendarEntry) -> str:
    if entry.is_cancelled:
        return STATUS.CANCELLED.value
    return STATUS.TENTATIVE.value if Mark.AT_RISK in entry.marks else STATUS.CONFIRMED.value


def _whole(moment: datetime) -> str:
    """In UTC, without microseconds, which iCalendar does not support."""
    return f"{moment.astimezone(UTC):%Y%m%dT%H%M%SZ}"


_ESCAPES = str.maketrans({"\\": r"\\", ";": r"\;", ",": r"\,", "\n": r"\n", "\r": None})


def escaped(text: str) -> str:
    """As a value of type TEXT."""
    return text.translate(_ESCAPES)


def content_line(text: str) -> bytes:
    """A content line, folded after at most 75 bytes, but not within a character or an escape."""
    line, start = text.encode(), 0
    parts: list[bytes] = []
    while len(line) - start > (room := _LENGTH - bool(parts)):  # a folded line begins with a space
        end = _fold(line, start, start + room)
        parts.append(line[start:end])
        start = end
    return b"\r\n ".join((*parts, line[start:])) + b"\r\n"


def _fold(line: bytes, start: int, end: int) -> int:
    """Where the part from `start` ends: at most four bytes before `end`, so that every part gets longer."""
    while line[end] & 0xC0 == 0x80:
        end -= 1
    run = line[start:end]
    return end - (len(run) - len(run.rstrip(b"\\"))) % 2  # an odd number: the last one escapes what follows
