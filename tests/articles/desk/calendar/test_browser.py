"""The calendar in a browser: rescheduling by mouse, touch and keyboard, and two editors at once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Browser, Locator, Page, expect

from articles.models import Article, Preferences
from tests.articles.factories import (
    APPROVED,
    EARLY,
    make_article,
    make_channel,
    make_editor,
    make_user,
    publish_tasks,
    soon,
)
from tests.conftest import Site

pytestmark = pytest.mark.django_db(transaction=True)

MONDAY = datetime(2030, 6, 3, 7, tzinfo=UTC)
WEEK, MONTH = "/admin/calendar/?view=week&date=2030-06-05", "/admin/calendar/?date=2030-06-05"


def enter(page: Page, site: Site, user: User, zone: str = "") -> Page:
    """Give the browser a session of a user in this time zone."""
    Preferences.objects.create(user=user, time_zone=zone)
    client = Client()
    client.force_login(user)
    page.context.add_cookies([{"name": "sessionid", "value": client.cookies["sessionid"].value, "url": site.url}])
    return page


@pytest.fixture
def screen(page: Page) -> Page:
    """A window in which a whole week fits."""
    page.set_viewport_size({"width": 1440, "height": 1400})
    return page


@pytest.fixture
def desk(screen: Page, site: Site) -> Page:
    return enter(screen, site, make_editor())


@pytest.fixture
def phone(browser: Browser, site: Site) -> Iterator[Page]:
    options: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    with browser.new_context(base_url=site.url, locale="en-US", **options) as context:
        yield enter(context.new_page(), site, make_editor())


def slot(page: Page, wall: str) -> Locator:
    return page.locator(f'[data-wall="{wall}"]')


def entry(page: Page, title: str) -> Locator:
    return page.locator(".entry", has_text=title)


def said(page: Page) -> Locator:
    return page.get_by_role("status")


def centre(place: Locator, *, down: float = 0.5) -> tuple[float, float]:
    """A point of an element, so far down (0 to 1)."""
    place.scroll_into_view_if_needed()
    box = place.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] * down


def drag(page: Page, title: str, wall: str, *, down: float = 0.5) -> None:
    target = slot(page, wall)
    centre(target)
    page.mouse.move(*centre(entry(page, title).locator(".entry-link")))
    page.mouse.down()
    page.mouse.move(*centre(target, down=down), steps=8)
    page.mouse.up()


def test_an_entry_that_is_dragged_goes_live_at_its_new_time_and_the_move_can_be_undone(desk: Page) -> None:
    article = make_article("Bridge", status=APPROVED, publish_at=MONDAY, channel=make_channel())
    desk.goto(WEEK)
    drag(desk, "Bridge", "2030-06-05T14:00", down=0.3)
    expect(said(desk)).to_contain_text("“Bridge” is rescheduled to 5 Jun 2030, 14:15:00 UTC.")
    expect(slot(desk, "2030-06-05T14:00").locator(".entry")).to_contain_text("14:15")
    assert publish_tasks(article) == [datetime(2030, 6, 5, 14, 15, tzinfo=UTC)]
    desk.get_by_role("button", name="Undo").click()
    expect(slot(desk, "2030-06-03T07:00").locator(".entry")).to_contain_text("Bridge")
    assert publish_tasks(article) == [MONDAY]


@pytest.mark.thorough
def test_in_a_month_an_entry_keeps_its_time_of_day(desk: Page) -> None:
    exact = MONDAY.replace(minute=5, second=30)
    article = make_article("Bridge", status=APPROVED, publish_at=exact)
    desk.goto(MONTH)
    drag(desk, "Bridge", "2030-06-20")
    expect(slot(desk, "2030-06-20").locator(".entry")).to_contain_text("07:05")
    assert publish_tasks(article) == [exact.replace(day=20)]


def test_an_entry_is_moved_by_keyboard_and_every_step_is_said(desk: Page) -> None:
    article = make_article("Bridge", status=APPROVED, publish_at=MONDAY)
    desk.goto(WEEK)
    link = entry(desk, "Bridge").locator(".entry-link")
    link.focus()
    desk.keyboard.press("m")
    expect(said(desk)).to_contain_text("Selected: Bridge")
    for key, heard in (("ArrowRight", "Tue, Jun 4, 07:00"), ("ArrowDown", "07:15"), ("ArrowDown", "07:30")):
        desk.keyboard.press(key)
        expect(said(desk)).to_contain_text(heard)
    assert publish_tasks(article) == [MONDAY]
    desk.keyboard.press("Enter")
    expect(said(desk)).to_contain_text("is rescheduled to 4 Jun 2030, 07:30:00 UTC")
    expect(entry(desk, "Bridge").locator(".entry-link")).to_be_focused()
    assert publish_tasks(article) == [datetime(2030, 6, 4, 7, 30, tzinfo=UTC)]


@pytest.mark.thorough
def test_the_seconds_of_a_time_are_said_with_it(desk: Page) -> None:
    article = make_article("Bridge", status=APPROVED, publish_at=MONDAY + timedelta(seconds=34))
    desk.goto(WEEK)
    expect(entry(desk, "Bridge")).to_contain_text("07:00:34")
    entry(desk, "Bridge").locator(".entry-link").focus()
    desk.keyboard.press("m")
    desk.keyboard.press("ArrowDown")
    expect(said(desk)).to_contain_text("07:15:34")
    desk.keyboard.press("Enter")
    expect(said(desk)).to_contain_text("is rescheduled")
    assert publish_tasks(article) == [MONDAY + timedelta(minutes=15, seconds=34)]


@pytest.mark.thorough
def test_escape_leaves_an_entry_where_it_was(desk: Page) -> None:
    article = make_article("Bridge", status=APPROVED, publish_at=MONDAY)
    desk.goto(MONTH)
    entry(desk, "Bridge").locator(".entry-link").focus()
    for key in ("M", "ArrowDown", "Escape"):
        desk.keyboard.press(key)
    expect(said(desk)).to_contain_text("Bridge keeps its time")
    desk.mouse.move(*centre(entry(desk, "Bridge").locator(".entry-link")))
    desk.mouse.down()
    desk.mouse.move(*centre(slot(desk, "2030-06-20")), steps=5)
    desk.keyboard.press("Escape")
    desk.mouse.up()
    expect(desk.locator(".picked, .aimed")).to_have_count(0)
    assert "/admin/calendar/" in desk.url
    assert publish_tasks(article) == [MONDAY]


def test_dropping_on_the_past_asks_before_it_publishes(desk: Page) -> None:
    article = make_article("Bridge", status=APPROVED, publish_at=(tomorrow := soon(days=1)))
    desk.goto(f"/admin/calendar/?date={tomorrow:%Y-%m-%d}")
    carry_to_last_week(desk)
    question = desk.get_by_role("dialog")
    expect(question).to_contain_text("Do it now?")
    question.get_by_role("button", name="Keep the time").click()
    assert Article.objects.values_list("status", "publish_at").get() == (APPROVED, tomorrow)
    expect(slot(desk, f"{tomorrow:%Y-%m-%d}").locator(".entry")).to_contain_text("Bridge")
    carry_to_last_week(desk)
    question.get_by_role("button", name="Publish now").click()
    expect(said(desk)).to_contain_text("“Bridge” is published.")
    article.refresh_from_db()
    assert article.status == Article.Status.PUBLISHED


def carry_to_last_week(desk: Page) -> None:
    entry(desk, "Bridge").locator(".entry-link").focus()
    for key in ("m", "ArrowUp", "Enter"):
        desk.keyboard.press(key)


@pytest.mark.parametrize(
    "zone, week, gap",
    [
        ("Europe/Berlin", "2027-03-28", "2027-03-28T02:00"),
        pytest.param("America/New_York", "2027-03-14", "2027-03-14T02:00", marks=pytest.mark.thorough),
    ],
)
def test_an_entry_does_not_fall_into_an_hour_that_clocks_skip(
    screen: Page, site: Site, zone: str, week: str, gap: str
) -> None:
    """In 2026 those hours are past: test_calendar.py has the same for 29 March 2026."""
    at = datetime.fromisoformat(f"{week}T12:00Z")
    article = make_article("Bridge", status=APPROVED, publish_at=at)
    enter(screen, site, make_editor(), zone).goto(f"/admin/calendar/?view=week&date={week}")
    expect(slot(screen, gap)).to_contain_text("this hour does not exist")
    drag(screen, "Bridge", gap)
    expect(said(screen)).to_contain_text(f"does not exist in {zone}")
    assert publish_tasks(article) == [at]


@pytest.mark.thorough
def test_an_entry_lands_where_it_is_dropped_after_the_zone_was_changed_in_another_window(desk: Page) -> None:
    article = make_article("Bridge", status=APPROVED, publish_at=MONDAY)
    desk.goto(WEEK)
    Preferences.objects.update(time_zone="Asia/Shanghai")
    drag(desk, "Bridge", "2030-06-05T10:00", down=0.3)
    expect(said(desk)).to_contain_text("“Bridge” is rescheduled to 5 Jun 2030, 18:15:00 Asia/Shanghai")
    assert publish_tasks(article) == [datetime(2030, 6, 5, 10, 15, tzinfo=UTC)]
    expect(slot(desk, "2030-06-05T18:00").locator(".entry")).to_contain_text("18:15")
    drag(desk, "Bridge", "2030-06-05T14:00", down=0.3)
    expect(said(desk)).to_contain_text("“Bridge” is rescheduled to 5 Jun 2030, 14:15:00 Asia/Shanghai")
    assert publish_tasks(article) == [datetime(2030, 6, 5, 6, 15, tzinfo=UTC)]


@pytest.mark.thorough
def test_an_hour_that_happens_twice_asks_which(screen: Page, site: Site) -> None:
    article = make_article("Bridge", status=APPROVED, publish_at=datetime(2030, 10, 27, 12, tzinfo=UTC))
    enter(screen, site, make_editor(), "Europe/Berlin").goto("/admin/calendar/?view=day&date=2030-10-27")
    drag(screen, "Bridge", "2030-10-27T02:00", down=0.1)
    screen.get_by_role("dialog").get_by_role("button", name="the second, UTC+1").click()
    expect(said(screen)).to_contain_text("is rescheduled to")
    assert publish_tasks(article) == [datetime(2030, 10, 27, 1, 0, tzinfo=UTC)]


@pytest.mark.thorough
def test_the_second_of_two_editors_sees_who_moved_it_and_where(desk: Page, browser: Browser, site: Site) -> None:
    article = make_article("Bridge", status=APPROVED, publish_at=MONDAY)
    desk.goto(MONTH)
    with browser.new_context(base_url=site.url, viewport={"width": 1440, "height": 1400}) as context:
        other = enter(context.new_page(), site, make_editor("bob"))
        other.goto(MONTH)
        drag(other, "Bridge", "2030-06-12")
        expect(said(other)).to_contain_text("is rescheduled to 12 Jun 2030")
    drag(desk, "Bridge", "2030-06-20")
    expect(said(desk)).to_contain_text("bob has rescheduled “Bridge” to 12 Jun 2030, 07:00:00 UTC")
    expect(slot(desk, "2030-06-12").locator(".entry")).to_contain_text("Bridge")
    assert publish_tasks(article) == [MONDAY.replace(day=12)]


def test_without_the_right_the_entry_jumps_back_and_says_why(screen: Page, site: Site) -> None:
    article = make_article("Bridge", status=APPROVED, publish_at=MONDAY)
    enter(screen, site, make_user("bob", "view_article")).goto(MONTH)
    drag(screen, "Bridge", "2030-06-20")
    expect(said(screen)).to_contain_text("You do not have permission to do this.")
    expect(slot(screen, "2030-06-03").locator(".entry")).to_contain_text("Bridge")
    assert publish_tasks(article) == [MONDAY]


def drag_by_finger(phone: Page, title: str, goal: Locator) -> None:
    finger = phone.context.new_cdp_session(phone)

    def touch(kind: str, *points: tuple[float, float]) -> None:
        at = [{"x": across, "y": down} for across, down in points]
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": at})

    x, y = centre(entry(phone, title).locator(".grip"))
    touch("touchStart", (x, y))
    to_x, to_y = centre(goal)
    for part in (0.2, 0.6, 1.0):
        touch("touchMove", (x + (to_x - x) * part, y + (to_y - y) * part))
    touch("touchEnd")


@pytest.mark.thorough
def test_a_finger_drags_the_grip(phone: Page) -> None:
    article = make_article("Bridge", status=APPROVED, publish_at=MONDAY)
    phone.goto(MONTH)
    drag_by_finger(phone, "Bridge", slot(phone, "2030-06-06"))
    expect(said(phone)).to_contain_text("is rescheduled to 6 Jun 2030")
    assert publish_tasks(article) == [MONDAY.replace(day=6)]
    phone.goto(WEEK)
    drag_by_finger(phone, "Bridge", slot(phone, "2030-06-05"))
    expect(said(phone)).to_contain_text("is rescheduled to 5 Jun 2030, 07:00:00")


def test_nothing_sticks_out_on_a_phone_and_the_form_is_a_tap_away(phone: Page) -> None:
    make_article("Donaudampfschifffahrtsgesellschaft" * 3, status=APPROVED, publish_at=MONDAY, channel=make_channel())
    for view in ("month", "week", "day"):
        phone.goto(f"/admin/calendar/?date=2030-06-03&view={view}")
        assert phone.evaluate("document.documentElement.scrollWidth") <= 390
    entry(phone, "Donau").locator(".grip").tap()
    phone.get_by_label("New time").fill("2030-06-07T09:30:15")
    phone.get_by_role("button", name="Reschedule").click()
    expect(phone.get_by_text("is rescheduled to 7 Jun 2030, 09:30:15 UTC")).to_be_visible()


@pytest.mark.thorough
def test_it_can_be_read_without_a_script(browser: Browser, site: Site) -> None:
    make_article("Bridge", status=APPROVED, publish_at=MONDAY)
    with browser.new_context(base_url=site.url, java_script_enabled=False, locale="en-US") as context:
        page = enter(context.new_page(), site, make_editor())
        page.goto("/admin/calendar/?view=day&date=2030-06-03")
        expect(entry(page, "Bridge")).to_be_visible()
        page.get_by_role("link", name="Reschedule: Bridge").click()
        expect(page.get_by_label("New time")).to_be_visible()


def entries_around_now() -> None:
    """Entries of a whole day, most of them in the present hour and, if it ends during the test, the next."""
    now, channel = soon(), make_channel()
    begin = now.replace(minute=0, second=0, microsecond=0)
    midnight = begin.replace(hour=0)
    every_hour = [midnight + timedelta(hours=hour, minutes=5) for hour in range(25)]
    present = [begin + timedelta(hours=hour, minutes=2 * number) for hour in range(2) for number in range(27)]
    Article.objects.bulk_create(
        Article(title=f"At {time:%H:%M}", status=APPROVED, channel=channel, publish_at=time, cleared_at=EARLY)
        for time in [*every_hour, *present]
    )


@pytest.mark.cases(1)
@pytest.mark.parametrize("size", [(1440, 900), pytest.param((390, 844), marks=pytest.mark.thorough)])
@pytest.mark.parametrize("view", ["week", "day"])
def test_it_opens_at_the_present_hour(page: Page, site: Site, view: str, size: tuple[int, int]) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    enter(page, site, make_editor())
    entries_around_now()
    page.goto(f"/admin/calendar/?view={view}")
    expect(page.locator("#now")).to_be_in_viewport(ratio=1)
    hour = page.locator(".hour", has=page.locator("#now"))
    expect(hour.locator(".entry")).to_have_count(28)
    expect(hour.locator(".more")).to_have_count(0)
    assert page.evaluate("document.activeElement === document.body"), "the keyboard begins at the top"
    page.evaluate("scrollTo(0, 0)")
    page.locator("[rel=prev] + .button").click()
    expect(page.locator("#now")).to_be_in_viewport(ratio=1)


@pytest.mark.thorough
def test_it_keeps_its_place_when_one_returns_and_other_days_open_at_their_top(desk: Page) -> None:
    desk.set_viewport_size({"width": 1440, "height": 900})
    entries_around_now()
    desk.goto("/admin/calendar/?view=day")
    expect(desk.locator("#now")).to_be_in_viewport()
    desk.evaluate("scrollTo(0, 40)")
    desk.reload()
    desk.wait_for_function("scrollY === 40")
    desk.goto(WEEK)
    assert desk.evaluate("scrollY") == 0
