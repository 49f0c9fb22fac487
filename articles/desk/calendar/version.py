"""The version of an open calendar. It says until when it is true, so that no entries are read to answer a page."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta

from django.db.models import Max
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from articles.desk.calendar.entries import CalendarEntry, EntryKind, Mark
from articles.desk.calendar.grid import Sheet
from articles.desk.calendar.period import DAY
from articles.desk.calendar.reschedule_form import LAST_RESCHEDULED
from articles.desk.following import (
    ASKED,
    POLL,
    Following,
    address_to_follow,
    answer_unchanged,
    next_change,
    version_of,
)
from articles.models import Article, AuditEntry
from scheduling.services import overdue_before

MINUTE = timedelta(minutes=1)


def following_of(sheet: Sheet, request: HttpRequest) -> Following:
    """When the open page asks again, and for what."""
    until = min(_to_come(sheet))
    awaited = max((entry.at for entry in sheet.entries if _is_awaited(entry, sheet.now)), default=None)
    version = ".".join((_written(request), _number(until), _number(awaited) if awaited else ""))
    return _following(request, sheet.now, version, until, awaited)


def answer_if_unchanged(request: HttpRequest, now: datetime) -> HttpResponse | None:
    """The answer to a page that shows all that has been written, and whose next instant is to come; else None."""
    asked = request.GET.get(ASKED, "")
    written, *numbers = asked.split(".")
    until, awaited = (_moment(number) for number in (*numbers, "", "")[:2])
    if until is None or until <= now or written != _written(request):
        return None
    return answer_unchanged(request, _following(request, now, asked, until, awaited))


def _following(
    request: HttpRequest, now: datetime, version: str, until: datetime, awaited: datetime | None
) -> Following:
    wait = next_change(now, [until], awaited=[awaited])
    return Following(url=address_to_follow(request), version=version, next=wait, poll=POLL)


def _written(request: HttpRequest) -> str:
    """Differs when something was written that a calendar may show."""
    changed = Article.objects.aggregate(last=Max("updated_at"))["last"]
    return version_of(request.user.pk, AuditEntry.objects.version(), changed, request.session.get(LAST_RESCHEDULED))


def _to_come(sheet: Sheet) -> Iterator[datetime]:
    """The instants at which the page would say something else: of entries and their marks, and of the present time."""
    patience = sheet.now - overdue_before(sheet.now)
    moments = (entry.at + later for entry in sheet.entries for later in (timedelta(), patience))
    yield from (moment for moment in moments if moment > sheet.now)
    if sheet.slots[0].span.start <= sheet.now < sheet.slots[-1].span.end:
        yield sheet.now.replace(second=0, microsecond=0) + MINUTE
    yield timezone.make_aware(datetime.combine(timezone.localtime(sheet.now).date() + DAY, time()))


def _is_awaited(entry: CalendarEntry, now: datetime) -> bool:
    """Whether a worker has yet to do what is due."""
    return entry.kind in (EntryKind.UPDATE, EntryKind.RELEASE) and entry.at <= now and Mark.AT_RISK not in entry.marks


def _number(moment: datetime) -> str:
    return str(round(moment.timestamp() * 1_000_000))


def _moment(number: str) -> datetime | None:
    """The time of such a number; None if it is none."""
    is_one = number.isascii() and number.isdigit() and len(number) <= len("1" * 17)
    return datetime.fromtimestamp(int(number) / 1_000_000, UTC) if is_one else None
