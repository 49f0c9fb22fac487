"""Recurring versions of fronts: readers get them at each time of a rule, with nothing but a query."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from random import Random
from threading import Barrier, BrokenBarrierError
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from articles import fronts
from articles.cache.next_change import changes_beside
from articles.distribution import catch_up_completely
from articles.exceptions import DoubleTime, FrontInstantTaken, InvalidSchedule, MissingTime, WrongState
from articles.fronts import Recurrence, extend_rules, recurring
from articles.fronts.recurrence import YEARS_AHEAD, as_rows
from articles.models import (
    AuditEntry,
    Card,
    ChangeKind,
    Event,
    FeedHead,
    FrontSeries,
    FrontVersion,
    ProposedChange,
    coming_changes,
    stops,
)
from articles.review import approve_change, comparisons, version_of_change
from scheduling.database import LATEST, read_database_clock
from tests.articles.factories import add_block, make_article, make_editor, make_front, soon
from tests.articles.fronts.composing import Composer
from tests.articles.publishing.test_races import together
from tests.harness import PATIENCE

pytestmark = pytest.mark.django_db

BERLIN = "Europe/Berlin"
EVERY_DAY, WEEKDAYS = tuple(range(7)), tuple(range(5))
DRAFT = FrontVersion.Status.DRAFT


def rule(days: tuple[int, ...] = EVERY_DAY, at: str = "06:00", zone: str = BERLIN, **values: Any) -> Recurrence:
    """A rule that starts far in the future, so that nothing of it is past."""
    return Recurrence(days=days, wall=time.fromisoformat(at), zone=zone, **{"starts": date(2030, 1, 1), **values})


def draft(*cards: Any, **values: Any) -> FrontVersion:
    """A draft of the English front."""
    version = make_front(*cards, **values)
    FrontVersion.objects.filter(pk=version.pk).update(status=DRAFT, live_from=None)
    version.refresh_from_db()
    return version


def repeated(given: Recurrence, *cards: Any, **values: Any) -> FrontVersion:
    """A version that recurs by this rule."""
    version = draft(*cards, **values)
    fronts.repeat_version(version, rule=given, by=make_editor(f"editor{version.pk}"))
    return version


def let_pass(version: FrontVersion, passed: timedelta) -> None:
    """Pretend that so much time has passed for a recurring version."""
    rows = list(version.series.all())
    version.series.all().delete()
    for row in rows:
        row.pk, row.first, row.last = None, row.first - passed, row.last - passed
    FrontSeries.objects.bulk_create(rows)
    assert version.live_from is not None
    FrontVersion.objects.filter(pk=version.pk).update(live_from=version.live_from - passed)


def live_at(moment: datetime) -> int | None:
    """The number of the version that readers get then."""
    return FrontVersion.objects.live(moment).values_list("number", flat=True).first()


def berlin(*parts: int, fold: int = 0) -> datetime:
    """A wall time in Berlin."""
    return datetime(*parts, tzinfo=ZoneInfo(BERLIN), fold=fold).astimezone(UTC)  # type: ignore[misc, arg-type]


def test_readers_get_it_at_the_same_wall_time_before_and_after_clocks_change() -> None:
    evening = repeated(rule(at="18:00"))
    morning = repeated(rule(WEEKDAYS, "06:00"))
    for day in (date(2031, 3, 28), date(2031, 3, 31), date(2031, 10, 24), date(2031, 10, 27)):
        six = berlin(day.year, day.month, day.day, 6)
        assert (live_at(six - timedelta(microseconds=1)), live_at(six)) == (evening.number, morning.number), day
        assert live_at(berlin(day.year, day.month, day.day, 18)) == evening.number
    saturday = berlin(2031, 3, 29, 12)
    assert live_at(saturday) == evening.number
    once = make_front(live_from=berlin(2031, 3, 31, 7))
    assert live_at(berlin(2031, 3, 31, 7)) == once.number
    assert live_at(berlin(2031, 4, 1, 6)) == morning.number, "a version in between is replaced at the next time"


def test_the_newest_of_a_rule_that_is_over_stays_until_another_follows() -> None:
    version = repeated(rule(until=date(2030, 1, 3)))
    other = make_front(live_from=berlin(2030, 2, 1, 0))
    assert version.live_from == berlin(2030, 1, 1, 6)
    assert [live_at(berlin(2030, 1, day, 7)) for day in (2, 3, 31)] == [version.number] * 3
    assert live_at(berlin(2030, 2, 1, 1)) == other.number


def test_a_wall_time_that_does_not_exist_or_exists_twice_is_asked_about() -> None:
    night = rule((6,), "02:30", until=date(2031, 12, 31))
    with pytest.raises(MissingTime, match="2030-03-31 02:30 does not exist in Europe/Berlin"):
        repeated(night)
    later = Recurrence(**{**vars(night), "if_missing": "later"})
    with pytest.raises(DoubleTime, match="2030-10-27 02:30 occurs twice in Europe/Berlin"):
        repeated(later)
    for missing, spring in (("later", [berlin(2030, 3, 31, 3, 30)]), ("skip", [])):
        for twice, fold in (("first", 0), ("second", 1)):
            exact = Recurrence(**{**vars(night), "if_missing": missing, "if_twice": twice})
            found = [at for _day, at in exact.occurrences(berlin(2030, 3, 30, 0), before=berlin(2030, 10, 28, 0))]
            assert found[: len(spring)] == spring and found[-1] == berlin(2030, 10, 27, 2, 30, fold=fold)
    assert repeated(rule(WEEKDAYS, "02:30")).live_from == berlin(2030, 1, 1, 2, 30), "no clock changes on a weekday"


def naive(given: Recurrence, begin: datetime, end: datetime) -> Iterator[datetime]:
    """All instants at which clocks show the rule's time, found by looking at each quarter of an hour."""
    at, seen = begin, set[date]()
    while at < end:
        local = at.astimezone(ZoneInfo(given.zone))
        day = local.date()
        is_wanted = local.time() == given.wall and day.weekday() in given.days and day not in given.skipped
        if is_wanted and given.starts <= day <= (given.until or day):
            if (
                given.if_twice == "second"
                and not local.fold
                and (at + timedelta(hours=1)).astimezone(ZoneInfo(given.zone)).time() == given.wall
            ):
                pass  # the other one follows
            elif day not in seen:
                seen.add(day)
                yield at
        at += timedelta(minutes=15)


@pytest.mark.cases(1)
@pytest.mark.parametrize("seed", range(2))
def test_what_the_query_finds_is_what_a_naive_enumeration_finds(seed: int) -> None:
    make_article("Story")  # the next change is read beside one
    random = Random(seed)  # noqa: S311 (drawn, not secret)
    begin, end = datetime(2030, 2, 1, tzinfo=UTC), datetime(2030, 12, 1, tzinfo=UTC)
    expected: dict[datetime, int] = {}
    for _ in range(4):
        given = rule(
            tuple(sorted(random.sample(EVERY_DAY, random.randint(1, 7)))),
            f"{random.randint(0, 23):02}:{random.choice((0, 15, 30)):02}",
            random.choice([BERLIN, "America/New_York", "Asia/Shanghai", "Africa/Casablanca", "Asia/Gaza"]),
            starts=date(2030, 2, random.randint(2, 28)),
            until=random.choice([None, date(2030, random.randint(4, 12), 5)]),
            skipped=frozenset(date(2030, random.randint(3, 12), random.randint(1, 28)) for _ in range(9)),
            if_missing="skip",
            if_twice=random.choice(["first", "second"]),
        )
        at_once = list(naive(given, begin, end))
        version = draft()
        if set(at_once) & expected.keys():
            with pytest.raises(FrontInstantTaken):
                fronts.repeat_version(version, rule=given, by=make_editor(f"editor{version.pk}"))
            continue
        fronts.repeat_version(version, rule=given, by=make_editor(f"editor{version.pk}"))
        expected |= dict.fromkeys(at_once, version.number)
        assert [one.at for one in version.series.all().between(begin, end)] == at_once
    instants = sorted(expected)
    for at in [*random.sample(instants, 8), *(begin + random.random() * (end - begin) for _ in range(8))]:
        last = max((one for one in instants if one <= at), default=None)
        assert live_at(at) == (expected[last] if last else None), at
        soonest = [one for one in instants if one > at][:3]
        assert [one.at for one in FrontSeries.objects.all().first_after(at, limit=3)][: len(soonest)] == soonest
        assert changes_beside(at, since=begin) == (
            max((one for one in instants if one < at), default=None), soonest[0] if soonest else None,
        ) or not soonest  # fmt: skip


def test_pages_previews_archive_api_calendar_and_lists_agree(settings: Any) -> None:
    settings.FRONT_ARCHIVE = True
    story = make_article("Story", status=9, publish_at=soon(days=-9))
    make_front(Card(article=story, headline="At night"), size=1)
    now = read_database_clock()
    given = rule(at=f"{now:%H:%M}", zone="UTC", starts=now.date() + timedelta(days=1))
    version = repeated(given, Card(article=story, headline="In the morning"), size=1)
    first = version.live_from
    assert first is not None
    desk = Client()
    desk.force_login(make_editor())

    def shown(at: datetime) -> str:
        text = desk.get(f"/en/?{urlencode({'at': at.isoformat()})}").text
        return ",".join(re.findall(r"At night|In the morning", text)[:1])

    assert shown(first - timedelta(seconds=1)) == "At night"
    assert shown(first) == shown(first + timedelta(days=9000)) == "In the morning"
    times = [change.at for change in coming_changes(now, limit=3) if change.kind == ChangeKind.FRONT]
    assert times == [first + timedelta(days=day) for day in range(3)]
    assert [stop.at for stop in stops(now, limit=3)] == times
    assert desk.get("/admin/desk/next/").text.count("Front goes live") == 200
    calendar = desk.get(f"/admin/calendar/?view=week&date={(first + timedelta(days=7)).date()}").text
    assert calendar.count("version=2") >= 5
    passed = first - now + timedelta(seconds=1, days=2)
    let_pass(version, passed)
    version.refresh_from_db()
    assert "In the morning" in Client().get("/en/?page_size=3").text
    answer = Client().get("/api/v1/fronts/en/").json()
    since = datetime.fromisoformat(answer["live_from"])
    assert version.live_from is not None
    assert (answer["version"], since) == (2, version.live_from + timedelta(days=2))
    archived = Client().get(f"/front/{version.live_from + timedelta(days=1, minutes=2):%Y/%m/%d/%H:%M}", follow=True)
    assert "In the morning" in archived.text
    let_pass(version, timedelta(days=1, seconds=-30))
    page = Client().get("/en/?page_size=4")
    assert int(re.findall(r"max-age=(\d+)", page["Cache-Control"])[0]) <= 31, "the page ends at the next occurrence"


def test_each_occurrence_is_one_event_also_after_weeks_without_a_worker() -> None:
    version = repeated(rule(zone="UTC"))
    catch_up_completely()
    FrontSeries.objects.all().delete()
    begin = soon(days=-21, hours=-1)
    FrontVersion.objects.update(live_from=begin)
    FrontSeries.objects.bulk_create(as_rows(version, [begin + timedelta(days=day) for day in range(90)]))
    assert live_at(read_database_clock()) == version.number
    FeedHead.objects.update(looked_at=begin - timedelta(days=1))
    for _again in range(2):
        catch_up_completely()
        events = Event.objects.filter(kind=Event.Kind.FRONT_LIVE).order_by("planned_at")
        assert [event.planned_at for event in events] == [begin + timedelta(days=day) for day in range(22)]


def test_a_day_is_skipped_once_and_the_rule_ends(client: Client) -> None:
    version, by = repeated(rule()), make_editor()
    other = repeated(rule(at="05:00"))
    fronts.skip_occurrence(version, day=date(2030, 1, 5), by=by)
    assert live_at(berlin(2030, 1, 5, 12)) == other.number
    assert live_at(berlin(2030, 1, 6, 12)) == version.number
    with pytest.raises(WrongState):
        fronts.skip_occurrence(version, day=date(2030, 1, 5), by=by)
    once = make_front(live_from=berlin(2030, 1, 5, 6))
    with pytest.raises(FrontInstantTaken, match=f"Version {once.number} "):
        fronts.unskip_occurrence(version, day=date(2030, 1, 5), by=by)
    FrontVersion.objects.filter(pk=once.pk).delete()
    fronts.unskip_occurrence(version, day=date(2030, 1, 5), by=by)
    assert live_at(berlin(2030, 1, 5, 12)) == version.number
    fronts.skip_occurrence(version, day=date(2030, 1, 1), by=by)
    assert version.live_from == berlin(2030, 1, 2, 6)
    fronts.end_rule(version, until=date(2030, 1, 3), by=by)
    assert [live_at(berlin(2030, 1, day, 12)) for day in (2, 3, 4)] == [version.number, version.number, other.number]
    with pytest.raises(WrongState):
        fronts.end_rule(version, until=date(2030, 1, 4), by=by)
    actions = AuditEntry.objects.filter(action__in=["skip_front", "unskip_front", "end_front"]).order_by("pk")
    assert [entry.action for entry in actions] == ["skip_front", "unskip_front", "skip_front", "end_front"]
    fronts.unschedule_version(version, by=by)
    assert version.status == DRAFT and not version.series.exists()


def test_two_versions_at_one_instant_are_refused_with_the_name_of_the_other() -> None:
    morning, by = repeated(rule(WEEKDAYS)), make_editor()
    for same in (rule((4, 5)), rule((4,), "23:00", "America/Chicago", starts=date(2031, 1, 1))):
        if same.zone == BERLIN:
            with pytest.raises(FrontInstantTaken, match=f"Version {morning.number} of this front"):
                repeated(same)
    assert repeated(rule((5, 6))).status == FrontVersion.Status.SCHEDULED
    with pytest.raises(FrontInstantTaken, match=f"Version {morning.number} of this front"):
        fronts.schedule_version(draft(), live_from=berlin(2031, 7, 1, 6), by=by)
    fronts.schedule_version(draft(), live_from=berlin(2031, 7, 1, 6, 1), by=by)
    with pytest.raises(FrontInstantTaken, match="Version "):
        repeated(rule((1,), "06:01", starts=date(2031, 6, 1)))


def test_the_ends_of_the_calendar_and_rules_without_a_time_to_come() -> None:
    last = repeated(rule((4,), "06:00", "UTC", starts=date(9999, 12, 20)))
    assert last.live_from == datetime(9999, 12, 24, 6, tzinfo=UTC)
    assert all(row.last < LATEST for row in last.series.all())
    for gone in (rule(starts=date(2000, 1, 1), until=date(2001, 1, 1)), rule((0,), until=date(2030, 1, 1))):
        with pytest.raises(InvalidSchedule):
            repeated(gone)


def test_a_rule_without_an_end_goes_on_as_years_pass() -> None:
    version = repeated(rule(starts=read_database_clock().date()))
    reach = max(row.last for row in version.series.all())
    assert reach > soon(days=365 * YEARS_AHEAD - 10)
    assert extend_rules() == 0
    FrontSeries.objects.filter(last__gt=soon(days=800)).delete()
    assert extend_rules() == 1
    assert max(row.last for row in version.series.all()) >= reach - timedelta(days=7)


def test_the_number_of_statements_of_a_page_is_that_without_recurring_versions(client: Client) -> None:
    story = make_article("Story", status=9, publish_at=soon(hours=-3))
    make_front(story, size=1)

    def statements() -> int:
        with CaptureQueriesContext(connection) as caught:
            assert "Story" in client.get("/en/", {"page_size": len(FrontVersion.objects.all())}).text
        return len(caught)

    before = statements()
    for hour in range(3):
        repeated(rule(WEEKDAYS, f"0{hour}:10"), story)
    assert statements() == before


def test_by_api_a_rule_is_stored_asked_about_skipped_and_ended() -> None:
    make_article("Story", status=9, publish_at=soon(hours=-3))
    composer = Composer.start(make_editor())
    sent = {"days": ["sun", "mon"], "time": "02:30", "zone": BERLIN, "starts": "2030-01-01"}
    asked = composer.post("repeat", **sent)
    assert (asked.status_code, asked.json()["code"]) == (400, "missing_time"), asked.json()
    answer = composer.post("repeat", **sent, if_missing="later", if_twice="first")
    assert answer.status_code == 200, answer.json()
    assert answer.json()["repeats"]["days"] == ["mon", "sun"] and answer.json()["state"] == "scheduled"
    assert answer.json()["next_from"] == "2030-01-06T01:30:00Z"
    skipped = composer.post("skip", day="2030-01-06")
    assert skipped.json()["next_from"] == "2030-01-07T01:30:00Z"
    assert skipped.json()["repeats"]["skipped"] == ["2030-01-06"]
    assert composer.post("unskip", day="2030-01-06").json()["live_from"] == "2030-01-06T01:30:00Z"
    assert composer.post("end", until="2030-01-13").json()["repeats"]["until"] == "2030-01-13"
    bad: dict[str, Any]
    for bad in ({"days": []}, {"days": ["noday"]}, {"zone": "Europe/Nowhere"}, {"time": "25:00"}, {"starts": "x"}):
        assert composer.post("repeat", **{**sent, **bad}).status_code == 400, bad


@pytest.mark.thorough
def test_on_the_screen_a_live_recurring_version_stays_and_is_skipped_and_ended() -> None:
    make_article("Story", status=9, publish_at=soon(hours=-3))
    desk, composer = Client(), Composer.start(by := make_editor())
    desk.force_login(by)
    version = FrontVersion.objects.get()
    page = f"/admin/articles/front/version/{version.pk}/"
    form = {"days": ["sun"], "time": "02:30", "zone": BERLIN, "starts": "2030-01-01"}
    refused = desk.post(f"{page}repeat/", form)
    assert refused.status_code == 400 and "02:30 does not exist in Europe/Berlin" in refused.text
    done = desk.post(f"{page}repeat/", {**form, "time": "06:00"}, follow=True)
    assert "Readers see this version: Sunday at 06:00 (Europe/Berlin)." in done.text
    version.refresh_from_db()
    first = version.live_from
    assert first is not None
    passed = first - soon(hours=-1)
    let_pass(version, passed)
    live = desk.get(page, follow=True).text
    assert "Readers have seen it since" in live and "Unschedule" not in live and "Start a draft" in live
    edit = composer.edit()
    assert edit.json()["code"] == "front_live"
    day = re.findall(r'name="day" value="([^"]+)"', live)[0]
    assert 'aria-label="Do not skip: ' in desk.post(f"{page}skip/", {"day": day}, follow=True).text
    assert 'aria-label="Do not skip: ' not in desk.post(f"{page}unskip/", {"day": day}, follow=True).text
    assert "Next times" not in desk.post(f"{page}end/", {"until": ""}, follow=True).text
    version.refresh_from_db()
    assert live_at(soon(days=3000)) == version.number and not version.series.filter(last__gt=soon()).exists()


def test_under_the_two_person_rule_another_person_approves_a_rule(settings: Any) -> None:
    settings.ARTICLES_TWO_PERSON_RULE = True
    version, ida, bob = draft(), make_editor("ida"), make_editor("bob")
    add_block(version)
    FrontVersion.objects.filter(pk=version.pk).update(edited_by=[ida.pk])
    fronts.repeat_version(version, rule=rule(), by=ida)
    assert live_at(berlin(2031, 1, 1, 7)) is None
    change = ProposedChange.objects.get()
    compared = comparisons(change)
    assert "Every day at 06:00 (Europe/Berlin)" in [one.new for one in compared]
    approve_change(change.pk, version=version_of_change(compared), by=bob)
    assert live_at(berlin(2031, 1, 1, 7)) == version.number


@pytest.mark.skipif(connection.vendor == "sqlite", reason="its threads share one connection")
@pytest.mark.django_db(transaction=True)
def test_of_two_rules_with_one_instant_that_are_approved_at_once_one_is_refused(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ARTICLES_TWO_PERSON_RULE = True
    ida, bob = make_editor("ida"), make_editor("bob")
    for day in (1, 2):  # the first instants differ, which the database would refuse by itself
        version = draft()
        add_block(version)
        fronts.repeat_version(version, rule=rule(starts=date(2030, 1, day)), by=ida)
    first, second = ProposedChange.objects.order_by("pk")
    shown = {change.pk: version_of_change(comparisons(change)) for change in (first, second)}
    both_checked, check = Barrier(2, timeout=PATIENCE / 60), recurring.refuse_taken

    def check_together(*given: Any) -> None:
        """Without a lock, each passes the check before the other has stored what it found free."""
        check(*given)
        with suppress(BrokenBarrierError):
            both_checked.wait()

    monkeypatch.setattr(recurring, "refuse_taken", check_together)
    outcomes = together(*(lambda pk=pk: approve_change(pk, version=shown[pk], by=bob) for pk in shown))
    assert {type(outcome) for outcome in outcomes} == {type(None), FrontInstantTaken}
    assert FrontSeries.objects.values("version").distinct().count() == 1
