"""Open pages of releases, review and calendar follow the clock, workers and other users."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from playwright.sync_api import Page, expect

from articles import publishing
from articles.desk.following import LATEST, SETTLING, SOONEST, next_change
from articles.models import Article, Channel, Release
from articles.releases import publish_release_now, schedule_release
from articles.roles import Role
from tests.articles.browsers import come_back, sign_in
from tests.articles.desk.editor.test_state import followed
from tests.articles.factories import (
    APPROVED,
    make_article,
    make_channel,
    make_editor,
    make_member,
    make_release,
    make_user,
    soon,
)
from tests.conftest import StartManage

NOW = datetime(2026, 11, 26, 1, 57, 14, tzinfo=UTC)
CALENDAR = "/admin/calendar/?view=day"
SHORTLY = 3
"""Seconds ahead to which a time is moved once the page is open: it knows the time before that is over."""


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


def release_address(release: Release) -> str:
    return f"/admin/articles/release/{release.pk}/change/"


def review_address(article: Article) -> str:
    return f"/admin/articles/queuedarticle/{article.pk}/change/"


def due(release: Release, *, by: User, moment: datetime) -> Release:
    schedule_release(release, publish_at=moment, by=by)
    return release


@pytest.mark.parametrize(
    ("to_come", "awaited", "expected"),
    [
        ([], [], None),
        ([None, NOW], [None], None),
        ([NOW + seconds(9), NOW + seconds(7)], [], seconds(7) + SETTLING),
        ([NOW + seconds(9)], [NOW + seconds(5)], seconds(5) + SETTLING),
        ([NOW + seconds(9)], [NOW], SOONEST),
        ([], [NOW - seconds(8)], seconds(4)),
        ([], [NOW - seconds(8), NOW - seconds(2)], seconds(1)),
        ([], [NOW - timedelta(days=9)], LATEST),
    ],
)
def test_a_page_asks_at_the_next_instant_and_less_often_the_longer_a_worker_takes(
    to_come: list[datetime | None], awaited: list[datetime | None], expected: timedelta | None
) -> None:
    found = next_change(NOW, to_come, awaited=awaited)
    assert found == (expected and expected / timedelta(milliseconds=1))


# Releases


def test_the_page_of_a_release_changes_with_it_and_with_its_articles(db: None) -> None:
    editor = make_editor()
    desk, article = Client(), make_article("Budget", status=APPROVED)
    desk.force_login(editor)
    release = due(make_release(article, by=editor), by=editor, moment=soon(seconds=200))
    page = followed(desk.get(release_address(release), {"q": "bud"}))
    assert page["url"] == f"{release_address(release)}?q=bud"
    assert 180_000 < page["next"] < 201_000
    with CaptureQueriesContext(
        connection,
    ) as queries:
        answer = desk.get(page["url"], {"q": "bud", "follow": page["version"]})
    assert (answer.status_code, answer.content, len(queries) < 12) == (204, b"", True)
    publishing.edit(article, by=editor, changes={"title": "The budget"})
    version = followed(desk.get(page["url"], {"follow": page["version"]}))["version"]
    assert version != page["version"]
    publish_release_now(release, by=editor)
    after = followed(desk.get(page["url"], {"follow": version}))
    assert (after["next"], list(after["happened"].values())[0][:12]) == (None, "Published on")


@pytest.mark.django_db(transaction=True)
def test_the_open_page_of_a_release_learns_that_it_was_published(page: Page, start_manage: StartManage) -> None:
    editor = make_editor()
    start_manage("poll", "--forever")
    release = make_release(make_article("Budget", status=APPROVED), by=editor)
    due(release, by=editor, moment=soon(hours=1))
    sign_in(page)
    page.goto(release_address(release))
    expect(page.get_by_role("timer")).to_contain_text("sec")
    page.evaluate("window.wasHere = true")
    page.get_by_text("Activity").click()
    due(release, by=editor, moment=soon(seconds=SHORTLY))
    come_back(page)
    expect(page.locator("#state")).to_contain_text("Published on")
    expect(page.locator("[data-part=state]")).to_contain_text("Published")
    expect(page.get_by_role("status").filter(has_text="Published on")).to_be_attached()
    expect(page.get_by_role("link", name="Roll back")).to_be_visible()
    for gone in ("Reschedule", "Remove: Budget"):
        expect(page.get_by_role("button", name=gone)).to_have_count(0)
    expect(page.locator("[data-part=members]")).to_contain_text("Published")
    expect(page.locator("#record table")).to_be_visible()
    assert page.evaluate("window.wasHere"), "the page was not loaded again"


@pytest.mark.django_db(transaction=True)
@pytest.mark.thorough
def test_an_overdue_release_says_so_and_what_is_typed_stays(page: Page) -> None:
    editor = make_editor()
    article = make_article("Budget")
    release = make_release(article, by=editor)
    due(release, by=editor, moment=soon(hours=1))
    sign_in(page)
    page.goto(release_address(release))
    typed = page.locator("[data-part=schedule] [data-wall-time]")
    typed.fill("2031-01-01 07:00")
    due(release, by=editor, moment=soon(seconds=SHORTLY))
    come_back(page)
    expect(page.locator("#state")).to_contain_text("No worker has started it yet.")
    expect(typed).to_have_value("2031-01-01 07:00")
    expect(typed).to_be_focused()
    Release.objects.update(publish_at=soon(hours=1))
    Article.objects.update(status=APPROVED)
    publish_release_now(release, by=editor)
    come_back(page)
    expect(page.locator("#state")).to_contain_text("Published on")
    expect(typed).to_have_value("2031-01-01 07:00")


# Review


def test_asking_for_the_state_of_a_text_in_review_claims_nothing(db: None) -> None:
    article = make_article("Bridge", status=Article.Status.MANUAL_REVIEW, publish_at=soon(seconds=90))
    desk = Client()
    desk.force_login(make_member(Role.REVIEWER, "nadia"))
    page = desk.get(review_address(article), {"follow": "another"})
    assert "once it is approved" in page.text
    assert not hasattr(Article.objects.get(), "soft_lock")
    assert 70_000 < followed(page)["next"] < 91_000
    assert desk.get(review_address(article), {"follow": followed(page)["version"]}).status_code == 204
    desk.force_login(make_user("bob"))
    assert desk.get(review_address(article), {"follow": ""}).status_code == 403


@pytest.mark.django_db(transaction=True)
@pytest.mark.thorough
def test_the_open_review_page_learns_that_the_time_has_passed_and_that_another_has_decided(page: Page) -> None:
    article = make_article("Bridge", status=Article.Status.MANUAL_REVIEW, publish_at=soon(hours=1))
    nadia = make_member(Role.REVIEWER, "nadia")
    sign_in(page, "nadia")
    page.goto(review_address(article))
    feedback = page.get_by_label("Feedback to author, if you reject it")
    feedback.fill("Which bridge?")
    planned = page.locator("[data-part=planned]")
    expect(planned).to_contain_text("once it is approved")
    Article.objects.update(publish_at=soon(seconds=SHORTLY))
    come_back(page)
    expect(planned).to_contain_text("Goes live as soon as it is approved")
    publishing.reject(article, by=nadia, reason="No.")
    come_back(page)
    expect(planned).to_contain_text("This article no longer needs review.")
    expect(feedback).to_have_value("Which bridge?")
    expect(feedback).to_be_focused()


# Calendar


def test_a_calendar_that_shows_the_same_reads_no_entries(db: None) -> None:
    desk, article = Client(), make_article("Bridge", status=APPROVED, publish_at=soon(hours=2))
    desk.force_login(make_editor())
    page = followed(desk.get(CALENDAR))
    assert page["url"] == CALENDAR
    assert 0 < page["next"] < 61_000, "the next minute"
    with CaptureQueriesContext(connection) as queries:
        answer = desk.get(CALENDAR, {"follow": page["version"], "view": "day"})
    assert (answer.status_code, answer.content) == (204, b"")
    assert int(answer.headers["Follow-Next"]) <= page["next"]
    assert len(queries) <= 10
    publishing.unschedule(article, by=User.objects.get())
    assert desk.get(page["url"], {"follow": page["version"], "view": "day"}).status_code == 200
    for forged in ("", ".", "x.y.z", page["version"].partition(".")[0], f"{page['version']}.1", "a." + "9" * 99):
        assert desk.get(CALENDAR, {"follow": forged, "view": "day"}).status_code == 200


def test_a_calendar_awaits_what_becomes_of_a_release(db: None) -> None:
    editor, desk = make_editor(), Client()
    desk.force_login(editor)
    due(make_release(make_article("Budget"), by=editor), by=editor, moment=soon(hours=1))
    Release.objects.update(publish_at=soon(seconds=-4))
    page = followed(desk.get("/admin/calendar/"))
    assert 250 <= page["next"] <= 6_000
    answer = desk.get("/admin/calendar/", {"follow": page["version"]})
    assert answer.status_code in (200, 204), "200 if a mark has changed since"


@pytest.mark.django_db(transaction=True)
def test_the_open_calendar_learns_what_went_live_and_its_line_moves(page: Page) -> None:
    editor = make_editor()
    channel: Channel = make_channel()
    article = make_article("Bridge", status=APPROVED, publish_at=soon(minutes=1), channel=channel)
    later = make_article("Ferry", status=APPROVED, publish_at=soon(minutes=1), channel=channel)
    sign_in(page)
    page.goto(CALENDAR)
    bridge, ferry = (page.locator(".entry", has_text=title) for title in ("Bridge", "Ferry"))
    expect(bridge).to_contain_text("Goes live")
    ferry.locator(".entry-link").focus()
    publishing.schedule(article, publish_at=soon(seconds=SHORTLY), by=editor)
    publishing.schedule(later, publish_at=soon(seconds=SHORTLY + 1), by=editor)
    come_back(page)
    expect(bridge).to_contain_text("Went live")
    expect(ferry).to_contain_text("Went live")
    expect(ferry.locator(".entry-link")).to_be_focused()
    after = "line => Boolean(line.compareDocumentPosition(document.activeElement) & Node.DOCUMENT_POSITION_PRECEDING)"
    assert page.locator("#now").evaluate(after), "the line of the present time is below what happened"
    expect(bridge.locator(".grip")).to_have_count(0)
    publishing.unpublish(article, by=editor)
    publishing.unpublish(later, by=editor)
    come_back(page)
    expect(bridge).to_have_count(0)


@pytest.mark.thorough
@pytest.mark.django_db(transaction=True)
def test_an_entry_that_is_being_moved_is_not_replaced_under_the_hand(page: Page) -> None:
    editor = make_editor()
    make_article("Bridge", publish_at=soon(seconds=-1))
    article = make_article("Ferry", status=APPROVED, publish_at=soon(minutes=1))
    sign_in(page)
    page.goto("/admin/calendar/?view=month")
    ferry = page.locator(".entry", has_text="Ferry")
    page.locator(".entry", has_text="Bridge").locator(".entry-link").focus()
    page.keyboard.press("m")
    moment = soon(seconds=1)
    publishing.schedule(article, publish_at=moment, by=editor)
    come_back(page)
    page.wait_for_function("then => Date.now() > then", arg=(moment.timestamp() + 2) * 1000)
    expect(page.locator(".entry.picked")).to_have_count(1)
    expect(ferry).to_contain_text("Goes live")
    page.keyboard.press("Escape")
    expect(ferry).to_contain_text("Went live")
