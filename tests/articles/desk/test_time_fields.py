"""Time fields show and take the newsroom's 24-hour form, in a browser whose locale has another one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import axe_playwright_python
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from articles.models import Article, Release
from articles.publishing import gather_articles
from articles.releases import schedule_release
from articles.workflow import Transition
from tests.articles.browsers import A_PHONE, address_of, press, save, sign_in
from tests.articles.factories import APPROVED, make_article, make_editor, make_release
from tests.conftest import Site

pytestmark = pytest.mark.django_db(transaction=True)

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
EVENING = datetime(2037, 11, 26, 19, 5, tzinfo=UTC)
MORNING = datetime(2037, 11, 27, 7, tzinfo=UTC)


def pick(field: Locator, value: str) -> None:
    """Choose in the browser's own picker, which is no part of the page."""
    field.locator("xpath=following-sibling::input").evaluate(
        """(picker, value) => {
            picker.value = value;
            for (const kind of ["input", "change"]) picker.dispatchEvent(new Event(kind, { bubbles: true }));
        }""",
        value,
    )


def open_editor(page: Page) -> Locator:
    article = make_article("Bridge", status=APPROVED, publish_at=EVENING)
    page.goto(address_of(article))
    return page.get_by_label("Publish at", exact=True)


def open_release(page: Page) -> Locator:
    alice = make_editor("rosa")
    release = make_release(make_article("Bridge", status=APPROVED), by=alice)
    schedule_release(release, publish_at=EVENING, by=alice)
    page.goto(f"/admin/articles/release/{release.pk}/change/")
    return page.get_by_label("Goes live at")


def open_bulk_action(page: Page, *articles: Article) -> Locator:
    chosen = [(article.pk, article.title) for article in articles]
    action = gather_articles(Transition.SCHEDULE, chosen, by=make_editor())
    sign_in(page)
    page.goto(f"/admin/desk/bulk-actions/{action.pk}/")
    return page.get_by_label("Publish at")


def test_the_editor_shows_and_takes_times_of_24_hours(page: Page) -> None:
    make_editor()
    sign_in(page)
    time, says = open_editor(page), page.locator("#id_publish_at_0_hint")
    expect(time).to_have_value("2037-11-26 19:05")
    page.get_by_role("button", name="+1 hour").click()
    expect(time).to_have_value("2037-11-26 20:05")
    pick(time, "2037-11-26T21:30")
    expect(time).to_have_value("2037-11-26 21:30")
    expect(says).to_contain_text("21:30")
    time.fill("2037-11-26T22:15:00")
    time.blur()
    expect(time).to_have_value("2037-11-26 22:15")
    expect(says).to_contain_text("22:15")
    time.fill("tonight")
    save(page)
    expect(page.get_by_text("Enter a date and a time").first).to_be_visible()
    expect(time).to_have_value("tonight")
    pick(time, "2037-11-27T07:00:30")
    save(page)
    expect(time).to_have_value("2037-11-27 07:00:30")
    assert Article.objects.get().publish_at == MORNING + timedelta(seconds=30)


@pytest.mark.thorough
def test_the_publish_sheet_shows_and_takes_times_of_24_hours(page: Page) -> None:
    make_editor()
    sign_in(page)
    page.goto(address_of(make_article("Bridge", status=APPROVED)))
    page.get_by_role("button", name="Schedule").click()
    sheet = page.get_by_role("dialog")
    time = sheet.get_by_label("Time", exact=True)
    pick(time, "2037-11-26T19:05")
    expect(sheet.get_by_role("status")).to_contain_text("19:05")
    pick(time, "2037-11-27T07:00")
    expect(time).to_have_value("2037-11-27 07:00")
    expect(page.get_by_label("Publish at", exact=True)).to_have_value("2037-11-27 07:00")
    expect(sheet.get_by_role("status")).to_contain_text("07:00")
    press(sheet.locator(".primary"))
    assert Article.objects.get().publish_at == MORNING


@pytest.mark.thorough
def test_a_bulk_action_shows_and_takes_times_of_24_hours(page: Page) -> None:
    time = open_bulk_action(page, make_article("Bridge", status=APPROVED, summary="Why.", body="<p>Text</p>"))
    page.get_by_role("button", name="Tomorrow 07:00").click()
    assert time.input_value().endswith(" 07:00")
    time.fill("2037-11-26 19:05")
    expect(page.locator("#bulk-hints")).to_contain_text("19:05")
    pick(time, "2037-11-27T07:00")
    expect(page.locator("#bulk-hints")).to_contain_text("27 November 07:00")
    expect(time).to_have_value("2037-11-27 07:00")
    press(page.get_by_role("button", name="Schedule"))
    expect(page.locator("[data-finished]")).to_be_visible()
    assert Article.objects.get().publish_at == MORNING


@pytest.mark.thorough
def test_a_release_shows_and_takes_times_of_24_hours(page: Page) -> None:
    make_editor()
    sign_in(page)
    time = open_release(page)
    expect(time).to_have_value("2037-11-26 19:05")
    time.fill("2037-11-26 21:30")
    press(page.get_by_role("button", name="Reschedule"))
    assert Release.objects.get().publish_at == EVENING + timedelta(hours=2, minutes=25)
    expect(time).to_have_value("2037-11-26 21:30")
    pick(time, "2037-11-27T07:00")
    press(page.get_by_role("button", name="Reschedule"))
    assert Release.objects.get().publish_at == MORNING


@pytest.mark.thorough
def test_the_button_opens_the_picker_of_the_browser_at_the_typed_time(page: Page) -> None:
    page.add_init_script("HTMLInputElement.prototype.showPicker = function () { window.opened = this.value; };")
    make_editor()
    sign_in(page)
    time = open_release(page)
    time.fill("2037-11-26 21:30")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Choose date and time")).to_be_focused()
    page.keyboard.press("Enter")
    assert page.evaluate("window.opened") == "2037-11-26T21:30"
    time.fill("soon")
    page.get_by_role("button", name="Choose date and time").click()
    assert page.evaluate("window.opened") == ""


@pytest.mark.thorough
def test_without_scripts_there_is_no_button_for_a_picker(browser: Browser, site: Site) -> None:
    make_editor()
    with browser.new_context(base_url=site.url, locale="en-US", java_script_enabled=False) as context:
        page = context.new_page()
        sign_in(page)
        time = open_release(page)
        expect(time).to_have_value("2037-11-26 19:05")
        expect(page.locator("[data-choose-time]")).to_be_hidden()
        time.fill("2037-11-27 07:00")
        press(page.locator("[data-part=schedule] .desk-main"))
    assert Release.objects.get().publish_at == MORNING


@pytest.mark.thorough
@pytest.mark.parametrize("opened", [open_editor, pytest.param(open_release, marks=pytest.mark.thorough)])
def test_on_a_phone_the_field_fits_and_axe_finds_nothing(
    opened: Callable[[Page], Locator], browser: Browser, site: Site
) -> None:
    make_editor()
    with browser.new_context(base_url=site.url, locale="en-US", **A_PHONE) as context:
        page = context.new_page()
        sign_in(page)
        time = opened(page)
        if time.is_hidden():
            page.get_by_role("tab", name="Publish").tap()
        box = time.locator("xpath=following-sibling::button").bounding_box()
        page.evaluate(AXE)
        found = page.evaluate("axe.run('.desk-time', { runOnly: ['wcag2a', 'wcag2aa', 'wcag22aa'] })")["violations"]
        assert not found
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert box
    assert min(box["width"], box["height"]) >= 24
