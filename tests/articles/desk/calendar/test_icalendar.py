"""The iCalendar feed: its entries, its secret address, and conditional requests."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from icalendar import Calendar

from articles import publishing, releases
from articles.desk.calendar.icalendar import content_line, escaped
from articles.models import Article, AuditEntry, CalendarFeed, Channel, Release
from tests.articles.factories import (
    APPROVED,
    EARLY,
    approve,
    make_article,
    make_channel,
    make_editor,
    make_release,
    make_user,
    soon,
)
from tests.articles.situations import run_worker

pytestmark = pytest.mark.django_db

Status = Article.Status
SCREEN = "/admin/calendar/feed/"


@pytest.fixture
def editor() -> User:
    return make_editor()


@pytest.fixture
def desk(editor: User) -> Client:
    client = Client()
    client.force_login(editor)
    return client


def address(desk: Client, query: str = "") -> str:
    """The address that the screen shows, without the host."""
    shown = re.search(r'value="http://[^/]+(/calendar/[^"]+)" readonly', desk.get(SCREEN + query).text)
    assert shown
    return shown[1].replace("&amp;", "&")


@pytest.fixture
def feed(desk: Client) -> str:
    desk.post(SCREEN, {"renew": "1"})
    return address(desk)


def events(where: str) -> dict[str, Any]:
    """What a calendar program, which is logged in nowhere, finds there: by UID, without the host."""
    response = Client().get(where)
    assert response.headers["Content-Type"] == "text/calendar; charset=utf-8"
    return {str(event["UID"]).partition("@")[0]: event for event in Calendar.from_ical(response.content).walk("VEVENT")}


def test_it_holds_what_is_on_the_calendar_in_utc(feed: str) -> None:
    monday = soon(days=7).replace(microsecond=0)
    article = make_article("Bridge; reopens, at last", status=APPROVED, publish_at=monday, channel=make_channel())
    new_year = make_article("新一年预算" * 20, publish_at=monday)
    leaving = make_article(status=APPROVED, publish_at=monday, unpublish_at=monday + timedelta(days=1))
    with timezone.override(ZoneInfo("Asia/Shanghai")):
        found = events(feed)
    event = found[f"publish_at-{article.pk}"]
    assert f"DTSTART:{monday:%Y%m%dT%H%M%SZ}" in Client().get(feed).text.splitlines()
    assert (event["SUMMARY"], event["STATUS"]) == ("Goes live: Bridge; reopens, at last", "CONFIRMED")
    assert event["URL"].endswith(f"/admin/articles/article/{article.pk}/change/")
    assert event.categories == ["Politics"]
    assert found[f"publish_at-{new_year.pk}"]["STATUS"] == "TENTATIVE"
    assert found[f"publish_at-{new_year.pk}"]["SUMMARY"].endswith("新一年预算" * 20)
    assert found[f"unpublish_at-{leaving.pk}"].start == monday + timedelta(days=1)


def test_a_moved_entry_keeps_its_uid_and_counts_up(feed: str, editor: User) -> None:
    article = make_article(status=APPROVED, publish_at=soon(days=1))
    uid = f"publish_at-{article.pk}"
    sequences = [events(feed)[uid]["SEQUENCE"]]
    for days in (2, 3):
        moved = soon(days=days).replace(microsecond=0)
        publishing.schedule(article, publish_at=moved, by=editor)
        assert events(feed)[uid].start == moved
        sequences.append(events(feed)[uid]["SEQUENCE"])
    publishing.publish_now(article, by=editor)
    sequences.append(events(feed)[uid]["SEQUENCE"])
    assert sequences == sorted(set(sequences))


def test_what_is_called_off_is_cancelled(feed: str, editor: User) -> None:
    out = {"status": APPROVED, "publish_at": soon(days=1).replace(microsecond=0)}
    names = ("unscheduled", "retracted", "deleted", "unpublished", "back", "untouched")
    articles = {name: make_article(name, **out) for name in names}
    keys = {name: f"publish_at-{article.pk}" for name, article in articles.items()}
    publishing.unschedule(articles["unscheduled"], by=editor)
    publishing.retract(articles["retracted"], by=editor, notice="Invented.")
    articles["deleted"].delete()
    publishing.publish_now(articles["unpublished"], by=editor)
    publishing.unpublish(articles["unpublished"], by=editor)
    publishing.unschedule(articles["back"], by=editor)
    publishing.schedule(articles["back"], publish_at=out["publish_at"], by=editor)  # type: ignore[arg-type]
    found = events(feed)
    statuses = {name: str(found[key]["STATUS"]) for name, key in keys.items()}
    assert statuses == dict.fromkeys(names[:4], "CANCELLED") | dict.fromkeys(names[4:], "CONFIRMED")
    assert found[keys["unscheduled"]].start == out["publish_at"]
    assert "deleted" in found[keys["deleted"]]["SUMMARY"]


def test_other_times_that_are_taken_away_are_cancelled_too(feed: str, editor: User) -> None:
    later, out = soon(days=2).replace(microsecond=0), {"status": APPROVED, "publish_at": soon(days=1)}
    names = ("taken off never", "without embargo", "retracted", "deleted")
    articles = {name: make_article(name, unpublish_at=later, **out) for name in names}
    publishing.set_embargo(articles["without embargo"], until=later - timedelta(hours=1), by=editor)
    publishing.set_embargo(articles["without embargo"], until=None, by=editor)
    publishing.edit(articles["taken off never"], by=editor, changes={"unpublish_at": None})
    publishing.retract(articles["retracted"], by=editor, notice="Invented.")
    keys = {name: f"unpublish_at-{article.pk}" for name, article in articles.items()}
    embargo = f"embargo_until-{articles['without embargo'].pk}"
    articles["deleted"].delete()
    found = events(feed)
    statuses = {name: str(found[key]["STATUS"]) for name, key in keys.items()}
    assert statuses == dict.fromkeys(names, "CANCELLED") | {"without embargo": "CONFIRMED"}
    assert (found[embargo]["STATUS"], found[embargo].start) == ("CANCELLED", later - timedelta(hours=1))
    assert found[keys["taken off never"]].start == later


def newer_text(editor: User) -> Article:
    """An article that is live, with an approved update for tomorrow."""
    article = make_article("Old", status=Status.PUBLISHED, publish_at=soon(hours=-1), author=make_user("bob"))
    publishing.edit(article, by=editor, changes={"title": "New"})
    publishing.submit(article, by=editor)
    approve(article)
    publishing.schedule_update(article, publish_at=soon(days=1).replace(microsecond=0), by=editor)
    return article


def test_a_newer_text_is_called_off_when_its_time_or_itself_goes_and_stays_when_it_went_live(
    feed: str, editor: User
) -> None:
    article = newer_text(editor)
    uid, planned = f"update_at-{article.pk}", article.update.publish_at or soon()
    assert (events(feed)[uid]["SUMMARY"], events(feed)[uid]["STATUS"]) == ("Update: New", "CONFIRMED")
    publishing.unschedule_update(article, by=editor)
    assert (events(feed)[uid]["STATUS"], events(feed)[uid].start) == ("CANCELLED", planned)
    publishing.schedule_update(article, publish_at=planned, by=editor)
    assert events(feed)[uid]["STATUS"] == "CONFIRMED"
    publishing.schedule_update(article, publish_at=soon(seconds=-1), by=editor)
    publishing.update_due([article.pk])
    assert events(feed)[uid]["STATUS"] == "CONFIRMED"


def test_a_newer_text_that_is_discarded_is_called_off(feed: str, editor: User) -> None:
    article = newer_text(editor)
    publishing.discard_update(article, by=editor)
    assert events(feed)[f"update_at-{article.pk}"]["STATUS"] == "CANCELLED"


def test_a_release_is_in_it_and_is_cancelled_when_it_does_not_go_out(feed: str, editor: User) -> None:
    release = make_release(make_article(status=APPROVED), by=editor)
    releases.schedule_release(release, publish_at=soon(days=1), by=editor)
    uid = f"release-{release.pk}"
    before = events(feed)[uid]
    assert (before["SUMMARY"], before["STATUS"]) == ("Release: Budget day", "CONFIRMED")
    releases.cancel_release(release, by=editor)
    after = events(feed)[uid]
    assert after["STATUS"] == "CANCELLED"
    assert after["SEQUENCE"] > before["SEQUENCE"]


def test_it_can_be_narrowed_to_own_articles_and_to_a_channel(desk: Client, feed: str, editor: User) -> None:
    sport = make_channel("Sport")
    time = {"publish_at": soon(days=1)}
    make_article("Mine", author=editor, **time)
    make_article("Theirs", author=make_user("bob"), channel=sport, **time)
    gone = make_article("Gone", **time)
    gone.delete()

    def titles(query: str) -> set[str]:
        return {str(event["SUMMARY"]).partition(": ")[2] for event in events(address(desk, query)).values()}

    assert titles("") == {"Mine", "Theirs", "Gone"}
    assert titles("?author=me") == {"Mine"}
    assert titles(f"?channel={sport.pk}") == {"Theirs"}
    assert titles(f"?channel={sport.pk}&author=me") == set()


def test_a_program_that_asks_again_is_shown_that_nothing_changed(feed: str, editor: User) -> None:
    article = make_article(status=APPROVED, publish_at=soon(days=1))
    program = Client()
    first = program.get(feed)
    same = {"if-none-match": first.headers["ETag"]}
    assert program.get(feed, headers=same).status_code == 304
    assert program.get(f"{feed}?author=me", headers=same).status_code == 200
    publishing.schedule(article, publish_at=soon(days=2), by=editor)
    assert program.get(feed, headers=same).status_code == 200
    assert "private" in first.headers["Cache-Control"]


def test_a_file_is_made_once_for_each_version(feed: str, django_assert_max_num_queries: Any) -> None:
    make_article(status=APPROVED, publish_at=soon(days=1), channel=make_channel())
    program = Client()
    first = program.get(feed)
    with django_assert_max_num_queries(11):
        again = program.get(feed)
    assert again.content == first.content
    Channel.objects.update(name="Renamed")
    assert "CATEGORIES:Renamed" in program.get(feed).text
    Article.objects.update(title="Written by a program", updated_at=soon())
    assert "Written by a program" in program.get(feed).text


def test_an_entry_that_is_committed_late_makes_a_new_version(feed: str) -> None:
    entry = {"at": soon(), "action": "edit", "source": "python"}
    AuditEntry.objects.create(id=2000, **entry)
    program = Client()
    same = {"if-none-match": program.get(feed).headers["ETag"]}
    assert program.get(feed, headers=same).status_code == 304
    AuditEntry.objects.create(id=1999, **entry)
    assert program.get(feed, headers=same).status_code == 200


def test_a_cached_file_is_shown_to_its_user_alone(desk: Client, feed: str, editor: User) -> None:
    release = make_release(make_article(status=APPROVED), by=editor)
    releases.schedule_release(release, publish_at=soon(days=1), by=editor)
    assert f"release-{release.pk}" in events(feed)
    bob = Client()
    bob.force_login(make_user("bob", "view_article"))
    bob.post(SCREEN, {"renew": "1"})
    assert f"release-{release.pk}" not in events(address(bob))
    editor.user_permissions.filter(codename="view_release").delete()
    assert f"release-{release.pk}" not in events(feed)


def test_lines_are_folded_between_characters(feed: str) -> None:
    title = "新一年预算，" * 15 + r"; a\b, c" + "x" * 80
    article = make_article(title, publish_at=soon(days=1))
    file = Client().get(feed).content
    assert max(map(len, file.split(b"\r\n"))) <= 75
    assert events(feed)[f"publish_at-{article.pk}"]["SUMMARY"] == f"Goes live: {title}"
    assert b"X-PUBLISHED-TTL:PT15M" in file


RUNS = {
    "backslashes": "\\",
    "commas": ",",
    "semicolons": ";",
    "escaped commas": "\\,",
    "odd and even backslashes": "x\\\\\\",
    "two bytes": "é",
    "three bytes": "预",
    "three bytes and a backslash": "预\\",
    "emoji": "🗞",
    "joined emoji": "👩‍👧",
    "combining marks": "\u0301",
    "right to left": "م\u200f",
    "line breaks": "x\n",
    "spaces": " x",
}


def test_runs_of_any_character_are_folded_and_read_back(feed: str) -> None:
    titles = {name: f"{'a' * shift}{(unit * 200)[:150]}b" for name, unit in RUNS.items() for shift in range(4)}
    pks = {make_article(title, publish_at=soon(days=1)).pk: title for title in titles.values()}
    lines = Client().get(feed).content.split(b"\r\n")
    assert max(map(len, lines)) <= 75
    assert [line for line in lines if not line.isascii() and "\ufffd" in line.decode("utf-8", "replace")] == []
    found = events(feed)
    for pk, title in pks.items():
        assert found[f"publish_at-{pk}"]["SUMMARY"] == f"Goes live: {title}"


@pytest.mark.parametrize("unit", RUNS.values(), ids=RUNS.keys())
def test_a_line_is_folded_between_characters_and_escapes(unit: str) -> None:
    text = "SUMMARY:" + "x" * 66 + escaped(unit * 2_000)
    parts = content_line(text).removesuffix(b"\r\n").split(b"\r\n ")
    assert "".join(part.decode() for part in parts) == text
    assert all(70 <= len(part) <= 75 for part in parts[:-1])
    assert all(len(re.search(r"\\*$", part.decode())[0]) % 2 == 0 for part in parts)  # type: ignore[index]


def test_an_address_that_was_revoked_or_renewed_leads_nowhere(desk: Client, feed: str) -> None:
    same = {"if-none-match": Client().get(feed).headers["ETag"]}
    desk.post(SCREEN, {"renew": "1"})
    assert address(desk) != feed
    assert Client().get(feed, headers=same).status_code == 404
    renewed = address(desk)
    assert Client().get(renewed).status_code == 200
    desk.post(SCREEN, {"revoke": "1"})
    assert Client().get(renewed).status_code == 404
    assert "You have no address" in desk.get(SCREEN).text


@pytest.mark.parametrize("change", [{"is_active": False}, {"is_staff": False}])
def test_who_no_longer_works_here_reads_nothing(feed: str, editor: User, change: dict[str, bool]) -> None:
    make_article("A secret plan", publish_at=soon(days=1))
    same = {"if-none-match": Client().get(feed).headers["ETag"]}
    User.objects.filter(pk=editor.pk).update(**change)
    for response in (Client().get(feed), Client().get(feed, headers=same)):
        assert response.status_code == 404
        assert "secret plan" not in response.text


def test_who_may_see_no_articles_reads_nothing(feed: str, editor: User) -> None:
    editor.user_permissions.clear()
    assert Client().get(feed).status_code == 404


def test_no_one_guesses_an_address(feed: str, editor: User, settings: Any) -> None:
    proof = feed.partition("-")[2]
    guesses = [
        f"/calendar/{guess}.ics" for guess in (editor.pk, f"{editor.pk}-", "x", f"{'9' * 30}-x", "1-" + "0" * 64)
    ]
    for guess in (
        *guesses,
        f"/calendar/{editor.pk + 1}-{proof}",
        f"/calendar/²-{proof}",
        feed.replace(".ics", "0.ics"),
    ):
        assert Client().get(guess).status_code == 404
    settings.SECRET_KEY = "another key, with which a stolen copy of the database opens nothing"
    assert Client().get(feed).status_code == 404


def test_every_user_has_a_screen_of_their_own(feed: str) -> None:
    bob = Client()
    bob.force_login(make_user("bob", "view_article"))
    assert "You have no address" in bob.get(SCREEN).text
    bob.post(SCREEN, {"renew": "1"})
    assert address(bob) != feed
    assert CalendarFeed.objects.count() == 2
    stranger = Client()
    stranger.force_login(make_user("carol"))
    assert stranger.post(SCREEN, {"renew": "1"}).status_code == 403


def test_many_articles_take_a_few_statements(feed: str, django_assert_max_num_queries: Any) -> None:
    channel = make_channel()
    Article.objects.bulk_create(
        Article(title=f"No. {n}", status=APPROVED, channel=channel, publish_at=soon(days=1)) for n in range(300)
    )
    with django_assert_max_num_queries(39):
        assert len(events(feed)) == 300


def test_of_too_many_it_holds_those_that_are_nearest_to_now(feed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("articles.desk.calendar.icalendar.MAX_EVENTS", 2)
    for days in (1, 2, 3, -1, -2, -3):
        make_article(f"{days}", publish_at=soon(days=days))
    titles = {str(event["SUMMARY"]).partition(": ")[2] for event in events(feed).values()}
    assert titles == {"1", "2", "-1", "-2"}


def test_it_says_how_late_a_release_was_and_when_an_article_changed(feed: str) -> None:
    due = datetime.now(UTC).replace(microsecond=0) - timedelta(days=2)
    article = make_article(status=Status.PUBLISHED, publish_at=due, published_at=due)
    release = make_release(by=make_editor("bob"))
    late = due + timedelta(seconds=1.5)
    Release.objects.update(status=Release.Status.PUBLISHED, publish_at=due, published_at=late)
    found = events(feed)
    assert "1.5 s late" in found[f"release-{release.pk}"]["DESCRIPTION"]
    event = found[f"publish_at-{article.pk}"]
    assert event["DESCRIPTION"] == "Published"
    assert article.updated_at.replace(microsecond=0) == event.LAST_MODIFIED


@pytest.mark.parametrize("has_run", [False, True], ids=["no worker", "worker"])
def test_a_file_that_was_fetched_before_follows_the_clock(feed: str, has_run: bool) -> None:
    """Without a worker nothing is written at the instant."""
    article, end = (make_article(status=APPROVED, publish_at=soon(hours=1)) for _ in range(2))
    Article.objects.filter(pk=end.pk).update(publish_at=soon(hours=-1), cleared_at=EARLY, unpublish_at=soon(hours=1))
    before = events(feed)
    assert str(before[f"publish_at-{article.pk}"]["SUMMARY"]).startswith("Goes live: ")
    assert str(before[f"unpublish_at-{end.pk}"]["SUMMARY"]).startswith("Will be unpublished: ")
    Article.objects.filter(pk=article.pk).update(publish_at=soon(seconds=-1), cleared_at=EARLY)
    Article.objects.filter(pk=end.pk).update(unpublish_at=soon(seconds=-1))
    if has_run:
        publishing.sync_tasks([article.pk, end.pk])
        run_worker()
    after = events(feed)
    assert str(after[f"publish_at-{article.pk}"]["SUMMARY"]).startswith("Went live: ")
    assert str(after[f"unpublish_at-{end.pk}"]["SUMMARY"]).startswith("Unpublished: ")
    assert after[f"publish_at-{end.pk}"]["STATUS"] == "CANCELLED"
