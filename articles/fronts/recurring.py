"""Recurring versions of fronts: storing their occurrences, skipping one, and ending a rule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from django.db import IntegrityError
from django.db.models import Max
from django.utils.translation import gettext as _

from articles.audit import Action, Actor, record_beside
from articles.exceptions import ArticleError, FrontInstantTaken, InvalidSchedule, TooMany, WrongState
from articles.fronts.in_releases import purge
from articles.fronts.locks import NOTICE, lock_front, lock_version
from articles.fronts.recurrence import YEARS_AHEAD, Recurrence, as_rows
from articles.limits import MOST_RULES, MOST_SKIPPED
from articles.models import MICROSECOND, FrontSeries, FrontVersion, Release
from articles.permissions import PUBLISH, require
from articles.text import format_time_exactly
from scheduling.database import ends_before, read_database_clock, retried, savepoint

Status = FrontVersion.Status


@retried
def skip_occurrence(version: FrontVersion, *, day: date, by: Actor) -> None:
    """Leave out the occurrence of a recurring version on a day of its time zone: readers keep what they have then.

    Raises `NotAllowed`, `FrontGone`, and `WrongState` if there is none to come on that day, or no other one at all.
    """
    rule, now = _locked(version, by)
    if day not in dict(rule.occurrences(now + NOTICE, before=_end_of(day, rule))):
        raise WrongState(_("This version does not recur on that day, or it is too late to skip it."))
    if len(rule.skipped) >= MOST_SKIPPED:
        raise TooMany(_("At most %(most)d days of a rule are skipped.") % {"most": MOST_SKIPPED})
    _change(version, rule.skip(day), now)
    record_beside(Action.SKIP_FRONT, title=str(version), by=by, front_version=version.pk, day=day.isoformat())


@retried
def unskip_occurrence(version: FrontVersion, *, day: date, by: Actor) -> None:
    """Have a skipped occurrence again. Raises as `skip_occurrence` does, and `FrontInstantTaken`."""
    rule, now = _locked(version, by)
    if day not in rule.skipped or day not in dict(
        rule.unskip(day).occurrences(now + NOTICE, before=_end_of(day, rule))
    ):
        raise WrongState(_("This day is not skipped, or it is over."))
    _change(version, rule.unskip(day), now)
    record_beside(Action.UNSKIP_FRONT, title=str(version), by=by, front_version=version.pk, day=day.isoformat())


@retried
def end_rule(version: FrontVersion, *, until: date | None = None, by: Actor) -> None:
    """Let a version recur until a day only, or never again. Readers keep what they have.

    Raises `NotAllowed`, `FrontGone`, and `WrongState` for a day after the end that the rule has.
    """
    rule, now = _locked(version, by)
    today = now.astimezone(ZoneInfo(rule.zone)).date()
    if until is not None and (until < today or (rule.until and until > rule.until)):
        raise WrongState(_("Choose a day from today on, and before the end that the rule has."))
    last = until or (today if _has_come(rule, today, now + NOTICE) else today - timedelta(days=1))
    _change(version, replace(rule, until=last), now)
    record_beside(Action.END_FRONT, title=str(version), by=by, front_version=version.pk, day=last.isoformat())


def store_rule(version: FrontVersion, rule: Recurrence, now: datetime, by: Actor) -> None:
    """Have readers get a locked and approved version at each occurrence of a rule. The caller has locked the front."""
    instants = occurrences_of(version, rule, now)
    version.status, version.repeats, version.live_from = Status.SCHEDULED, rule.as_json(), instants[0]
    version.edited_by, version.release = [], None
    try:
        with savepoint():
            version.save(update_fields=["status", "repeats", "live_from", "edited_by", "release", "updated_at"])
    except IntegrityError as error:  # another version has got this instant since
        raise FrontInstantTaken from error
    store_occurrences(version, instants)
    when = {"live_from": instants[0].isoformat(), "repeats": rule.as_json()}
    record_beside(Action.SCHEDULE_FRONT, title=str(version), by=by, front_version=version.pk, **when)
    purge(version.front)


def forget_rule(version: FrontVersion) -> None:
    """Let a version that readers have not got have no occurrences. The caller saves it."""
    if version.repeats is not None:
        version.series.all().delete()
        version.repeats = None


def occurrences_of(
    version: FrontVersion, rule: Recurrence, now: datetime, *, since: datetime | None = None
) -> list[datetime]:
    """The instants of a rule after now, or also the earlier ones from `since` on.

    Raises `InvalidSchedule` without any, `TooMany`, and `FrontInstantTaken`.
    """
    after = since - MICROSECOND if since else now
    instants = [*_passed(rule, after, now), *(at for _day, at in rule.occurrences(max(after, now)))]
    if not instants:
        raise InvalidSchedule(_("The rule has no time that is to come."))
    others = FrontSeries.objects.filter(front=version.front_id, last__gt=now).exclude(version=version.pk)
    if instants[-1] > now and others.values("version").distinct().count() >= MOST_RULES:
        raise TooMany(_("A front has %(most)d recurring versions at most.") % {"most": MOST_RULES})
    refuse_taken(version, instants)
    return instants


def _passed(rule: Recurrence, after: datetime, now: datetime) -> Iterator[datetime]:
    """The instants of a rule between two others, however far apart those are."""
    while after < now:
        until = min(now, after + timedelta(days=365 * YEARS_AHEAD))
        yield from (at for _day, at in rule.occurrences(after, before=until))
        after = until


def refuse_taken(version: FrontVersion, instants: Sequence[datetime]) -> None:
    """Raise `FrontInstantTaken`, with its name, if another version of the front has one of these instants."""
    own = set(instants)
    others = FrontVersion.objects.filter(front=version.front_id).exclude(pk=version.pk)
    once = others.filter(live_from__gte=instants[0]).values_list("live_from", "number")
    held = others.filter(status=Status.IN_RELEASE, release__in=Release.objects.scheduled())
    released = held.filter(release__publish_at__gte=instants[0]).values_list("release__publish_at", "number")
    found = [(at, number) for at, number in [*once, *released] if at in own]
    rows = FrontSeries.objects.filter(front=version.front_id, last__gte=instants[0]).exclude(version=version.pk)
    for series in rows.select_related("version"):
        found += [(at, series.version.number) for at in instants if series.contains(at)][:1]
    if found:
        at, number = min(found)
        text = _("Version %(number)d of this front goes live at the same time, %(time)s. Choose another time.")
        raise FrontInstantTaken(text % {"number": number, "time": format_time_exactly(at)})


def extend_rules() -> int:
    """Add the occurrences of rules without an end that have come within reach; returns how many versions have more."""
    reach = read_database_clock() + timedelta(days=366 * (YEARS_AHEAD - 1))
    recurring = FrontVersion.objects.filter(status=Status.SCHEDULED, repeats__until=None, repeats__isnull=False)
    late = recurring.alias(last=Max("series__last")).filter(last__lt=reach)
    return sum(_extend(version) for version in late.select_related("front"))


@retried
def _extend(version: FrontVersion) -> bool:
    lock_front(version.front)
    now = lock_version(version)
    if version.status != Status.SCHEDULED or version.repeats is None:
        return False
    try:
        _change(version, Recurrence.of(version.repeats), now)
    except ArticleError:  # another version has one of the instants
        return False
    return True


def _locked(version: FrontVersion, by: Actor) -> tuple[Recurrence, datetime]:
    require(PUBLISH, by)
    lock_front(version.front)
    now = lock_version(version)
    if version.status != Status.SCHEDULED or version.repeats is None:
        raise WrongState(_("This version does not recur."))
    return Recurrence.of(version.repeats), now


def _change(version: FrontVersion, rule: Recurrence, now: datetime) -> None:
    """Store another rule for what is to come. Occurrences that have come stay, and those that come at any moment."""
    since, first = now + NOTICE, version.live_from or now
    is_new = first > since
    instants = [at for _day, at in rule.occurrences(since)]
    if is_new and not instants:
        raise WrongState(_("No time would be left: unschedule this version instead."))
    stored = [one.at for one in version.series.all().between(first - MICROSECOND, max([since, *instants[-1:]]))]
    if added := sorted(set(instants).difference(stored)):
        refuse_taken(version, added)
    for at in [at for at in stored if at > since][:1]:
        ends_before(at, now)
    version.repeats, version.live_from = rule.as_json(), instants[0] if is_new else first
    version.save(update_fields=["repeats", "live_from", "updated_at"])
    store_occurrences(version, [*(at for at in stored if at <= since), *instants])
    purge(version.front)


def store_occurrences(version: FrontVersion, instants: Sequence[datetime]) -> None:
    """Store these instead of those before. The caller has locked the front."""
    FrontSeries.objects.filter(version=version).delete()
    FrontSeries.objects.bulk_create(as_rows(version, instants))


def _has_come(rule: Recurrence, day: date, moment: datetime) -> bool:
    at = rule.instant_on(day) if day.weekday() in rule.days else None
    return at is not None and at <= moment


def _end_of(day: date, rule: Recurrence) -> datetime:
    """An instant after all occurrences of a day."""
    return datetime.combine(day, rule.wall, ZoneInfo(rule.zone)) + timedelta(days=2)
