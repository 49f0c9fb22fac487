"""How many clicks an editor needs, in a window of 1440 × 900 in which nothing is scrolled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from playwright.sync_api import Locator, Page, expect

from articles.models import Article
from tests.articles.browsers import LIST, body_of, press, press_in_body, sign_in
from tests.articles.desk.articles.test_admin import form_address
from tests.articles.factories import APPROVED, allow_automatic_approval, make_article, make_channel, make_editor, soon

pytestmark = pytest.mark.django_db(transaction=True)

Status = Article.Status


class Clicks:
    """Clicks on what is in the window."""

    def __init__(self, page: Page) -> None:
        self.page, self.count = page, 0

    def on(self, target: Locator, *, act: Callable[[Locator], object] = Locator.click) -> None:
        """Click on it, without scrolling to it."""
        expect(target).to_be_in_viewport(ratio=1)
        self.count += 1
        act(target)
        assert self.page.evaluate("scrollY + (document.getElementById('panel')?.scrollTop || 0)") == 0


@pytest.fixture
def clicks(page: Page) -> Iterator[Clicks]:
    page.set_viewport_size({"width": 1440, "height": 900})
    make_editor()
    sign_in(page)
    yield Clicks(page)


def test_three_articles_are_scheduled_for_one_instant_by_six_clicks_and_no_typing(clicks: Clicks) -> None:
    page, channel = clicks.page, make_channel()
    articles = [make_article(f"No. {number}", status=APPROVED, channel=channel) for number in range(3)]
    page.goto(LIST)
    for article in articles:
        clicks.on(page.locator(f"[name=_selected_action][value='{article.pk}']"))
    clicks.on(page.get_by_role("button", name="Schedule…"), act=press)
    clicks.on(page.get_by_role("button", name="Tomorrow 07:00"), act=press)
    expect(page.get_by_text("3 of the selected articles go live in “Politics” at this time.")).to_be_visible()
    clicks.on(page.get_by_role("button", name="Schedule", exact=True), act=press)
    expect(page.get_by_text("3 articles updated").first).to_be_visible()
    assert clicks.count <= 6
    (moment,) = set(Article.objects.values_list("publish_at", flat=True))
    assert moment == (soon() + timedelta(days=1)).replace(hour=7, minute=0, second=0, microsecond=0)


def test_a_new_article_is_scheduled_by_five_clicks(clicks: Clicks) -> None:
    page, channel = clicks.page, make_channel()
    allow_automatic_approval()
    page.goto(LIST)
    clicks.on(page.get_by_role("link", name="Add article").first, act=press)
    page.keyboard.type("Bridge reopens")
    page.keyboard.press("Enter")
    page.keyboard.type("Cars first.")
    page.keyboard.press("Enter")
    page.keyboard.type("It is open.")
    clicks.on(page.get_by_label("Channel"))
    clicks.count += 1  # on the option
    page.get_by_label("Channel").select_option(str(channel.pk))
    clicks.on(page.get_by_role("button", name="Tomorrow 07:00"))
    expect(page.locator("#id_publish_at_0")).not_to_have_value("")
    clicks.on(page.get_by_role("button", name="Submit for review"), act=press)
    expect(page.locator("#stage")).to_have_text("Scheduled")
    assert clicks.count <= 5
    article = Article.objects.get()
    assert (article.title, article.summary, article.body) == ("Bridge reopens", "Cars first.", "<p>It is open.</p>")


def test_an_article_is_moved_by_an_hour_by_two_and_who_did_it_is_shown_by_one(clicks: Clicks) -> None:
    page, due = clicks.page, soon(hours=5).replace(microsecond=0)
    article = make_article(status=APPROVED, publish_at=due)
    page.goto(form_address(article))
    before = page.locator("#id_publish_at_0").input_value()
    clicks.on(page.get_by_role("button", name="+1 hour"))
    expect(page.locator("#id_publish_at_0")).not_to_have_value(before)
    clicks.on(page.get_by_role("button", name="Reschedule"), act=press)
    assert clicks.count == 2
    moved = Article.objects.get().publish_at
    assert moved is not None
    assert (moved - due).total_seconds() == 3600
    clicks.on(page.get_by_role("tab", name="Activity"))
    assert clicks.count == 3
    entry = page.locator("#record .is-about-time").first
    expect(entry).to_contain_text("alice")
    expect(entry).to_be_in_viewport()


@pytest.mark.thorough
def test_an_article_is_unpublished_by_three_with_the_question(clicks: Clicks) -> None:
    page, article = clicks.page, make_article(status=Status.PUBLISHED, publish_at=soon(hours=-1))
    page.goto(form_address(article))
    clicks.on(page.get_by_label("More", exact=True))
    clicks.on(page.get_by_role("button", name="Unpublish…"), act=press)
    clicks.on(page.get_by_role("button", name="Unpublish", exact=True), act=press)
    assert clicks.count == 3
    assert Article.objects.get().status == Status.UNPUBLISHED


@pytest.mark.thorough
def test_the_text_is_a_few_tab_stops_from_the_main_action(clicks: Clicks) -> None:
    page = clicks.page
    page.goto(f"{LIST}add/")
    page.get_by_role("textbox", name="Body").click()
    submit = page.get_by_role("button", name="Submit for review")
    for _stop in range(6):
        page.keyboard.press("Tab")
        if submit.evaluate("button => button === document.activeElement"):
            break
    expect(submit).to_be_focused()


@pytest.mark.thorough
def test_a_live_text_is_submitted_when_it_is_changed(clicks: Clicks) -> None:
    page = clicks.page
    page.goto(form_address(make_article(status=Status.PUBLISHED, publish_at=soon(hours=-1), body="<p>Old</p>")))
    submit = page.get_by_role("button", name="Submit for review")
    expect(submit).to_be_disabled()
    page.get_by_role("tab", name="Notes").click()
    page.get_by_label("New note").fill("Typed")
    expect(submit).to_be_disabled()
    press_in_body(page, "Control+a")
    page.keyboard.press("Control+b")
    expect(submit).to_be_enabled()


@pytest.mark.thorough
def test_shortcuts_are_listed_and_lead_to_panel_and_palette(clicks: Clicks) -> None:
    page = clicks.page
    page.goto(form_address(make_article("Bridge")))
    page.get_by_role("tab", name="Publish").focus()
    page.keyboard.press("?")
    shortcuts = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(shortcuts).to_contain_text("Ctrl+S")
    page.keyboard.press("Escape")
    page.keyboard.press("Alt+Shift+2")
    expect(page.get_by_role("tab", name="Cover & search")).to_be_focused()
    expect(page.get_by_label("Slug")).to_be_visible()
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog", name="Search and commands")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.get_by_label("Headline").fill("Bridges")
    with page.expect_navigation():
        page.keyboard.press("Control+s")
    assert Article.objects.get().title == "Bridges"
    expect(page.get_by_label("Headline")).to_be_focused()


@pytest.mark.thorough
def test_after_saving_by_keyboard_one_goes_on_writing_where_one_was(clicks: Clicks) -> None:
    page = clicks.page
    page.goto(form_address(make_article("Bridge", body="<p>It opens.</p>" * 60)))
    press_in_body(page, "Control+End")
    page.keyboard.type(" Tomorrow")
    with page.expect_navigation():
        page.keyboard.press("Control+s")
    expect(body_of(page).get_by_text("It opens. Tomorrow")).to_be_in_viewport()
    expect(body_of(page)).to_be_focused()
    page.keyboard.type(" at noon.")
    expect(body_of(page)).to_contain_text("It opens. Tomorrow at noon.")
