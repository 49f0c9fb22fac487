"""The board in a browser: it refreshes by itself, on phones it has tabs, and it works without a script."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, Page, expect

from articles import publishing
from articles.models import Article
from tests.articles.browsers import answer, draw, hold, hurry_requests, last, look_again, press, sign_in
from tests.articles.factories import APPROVED, make_article, make_editor, soon
from tests.conftest import Site

pytestmark = pytest.mark.django_db(transaction=True)

BOARD = "/admin/desk/monitoring/"


@pytest.fixture
def derby() -> Article:
    make_editor()
    return make_article("Derby", status=APPROVED, publish_at=soon(hours=5))


def hour_later(page: Page) -> None:
    """Two presses."""
    page.get_by_label("Actions for “Derby”").click()
    press(page.get_by_role("button", name="+1 hour"))


def test_the_open_board_shows_changes_and_the_menu_stays_open(page: Page, derby: Article) -> None:
    sign_in(page)
    page.goto(BOARD)
    scheduled, live = page.locator("#board-scheduled"), page.locator("#board-live")
    expect(scheduled.get_by_text(re.compile(r"4 h \d\d min"))).to_be_visible()
    page.get_by_label("Actions for “Derby”").click()
    expect(page.get_by_role("link", name="Preview")).to_be_visible()
    publishing.create(Article(title="Ferry"), by=User.objects.get())
    expect(page.locator("#board-drafts").get_by_role("link", name="Ferry")).to_be_visible()
    expect(page.get_by_role("link", name="Preview")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("link", name="Preview")).to_be_hidden()
    expect(page.get_by_label("Actions for “Derby”")).to_be_focused()
    publishing.publish_now(derby, by=User.objects.get())
    look_again(page)
    expect(live.get_by_role("link", name="Derby", exact=True)).to_be_visible()
    expect(page.get_by_role("status").filter(has_text="Now live: Derby")).to_be_attached()


def test_the_board_refreshes_after_the_space_bar_has_opened_a_list(page: Page, derby: Article) -> None:
    """The list hears of the release of the key; the page does not."""
    sign_in(page)
    page.goto(BOARD)
    page.locator("select[name=author]").focus()
    page.keyboard.press("Space")
    publishing.create(Article(title="Ferry"), by=User.objects.get())
    look_again(page)
    expect(page.locator("#board-drafts").get_by_role("link", name="Ferry")).to_be_visible()


def test_the_board_refreshes_while_the_mouse_moves(page: Page, derby: Article) -> None:
    sign_in(page)
    page.goto(BOARD)
    page.get_by_role("heading", level=1).click()
    moved = "document.body.dispatchEvent(new PointerEvent('pointermove', { bubbles: true, pointerId: 1 }))"
    page.evaluate(f"void setInterval(() => {moved}, 20)")
    publishing.create(Article(title="Ferry"), by=User.objects.get())
    look_again(page)
    expect(page.locator("#board-drafts").get_by_role("link", name="Ferry")).to_be_visible()


def test_the_board_asks_again_after_a_request_without_an_answer(page: Page, derby: Article) -> None:
    hurry_requests(page)
    sign_in(page)
    page.goto(BOARD)
    held = hold(page, f"**{BOARD}content/*")
    look_again(page)
    last(page, held)
    expect(page.get_by_text("Connection lost.")).to_be_visible()
    page.unroute_all()
    publishing.create(Article(title="Ferry"), by=User.objects.get())
    expect(page.locator("#board-drafts").get_by_role("link", name="Ferry")).to_be_visible()
    expect(page.get_by_text("Connection lost.")).to_be_hidden()


def test_an_answer_that_is_overtaken_by_a_newer_one_is_not_shown(page: Page, derby: Article) -> None:
    sign_in(page)
    page.goto(BOARD)
    held = hold(page, f"**{BOARD}content/*")
    publishing.create(Article(title="Tram"), by=User.objects.get())
    with page.expect_request(f"**{BOARD}content/*"):
        look_again(page)
    old = last(page, held)
    before = old.fetch()
    with page.expect_request(f"**{BOARD}content/*"):
        publishing.create(Article(title="Ferry"), by=User.objects.get())
        look_again(page)
    answer(page, held)
    ferry = page.locator("#board-drafts").get_by_role("link", name="Ferry")
    expect(ferry).to_be_visible()
    with page.expect_response(lambda response: response.url == old.request.url):
        old.fulfill(response=before)
    draw(page)
    assert ferry.is_visible()


@pytest.mark.thorough
def test_a_phone_shows_one_column_that_tabs_choose(page: Page, derby: Article) -> None:
    sign_in(page)
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(BOARD)
    card = page.get_by_role("link", name="Derby", exact=True)
    expect(card).to_be_hidden()
    assert page.locator(".board-bar").evaluate("bar => bar.offsetHeight") < 120
    press(page.get_by_role("link", name="Scheduled 1"))
    expect(card).to_be_visible()
    expect(page).to_have_url(f"{page.url.partition('?')[0]}?column=scheduled")
    hour_later(page)
    expect(card).to_be_visible()
    derby.refresh_from_db()
    assert derby.publish_at is not None
    assert derby.publish_at > soon(hours=5, minutes=30)


@pytest.mark.thorough
def test_the_board_works_without_a_script(browser: Browser, site: Site, derby: Article) -> None:
    before = derby.publish_at
    assert before is not None
    with browser.new_context(base_url=site.url, java_script_enabled=False, locale="en-US") as context:
        page = context.new_page()
        sign_in(page)
        page.goto(BOARD)
        hour_later(page)
        expect(page.get_by_text("“Derby” is rescheduled to")).to_be_visible()
        derby.refresh_from_db()
        assert derby.publish_at == before + timedelta(hours=1)
        press(page.get_by_role("button", name="Undo"))
        derby.refresh_from_db()
        assert derby.publish_at == before
