"""The strip "just in" of open pages: new articles appear without moving the page, at low cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import Browser, Page, Request, Route, expect

from articles.models import Article
from tests.articles.browsers import A_PHONE, answer, hold
from tests.articles.factories import make_article, make_channel, soon
from tests.conftest import Site

pytestmark = pytest.mark.django_db

Status = Article.Status
AT_FIRST = 6


def live(title: str, *, minutes: float = 0, **values: Any) -> Article:
    return make_article(title, status=Status.PUBLISHED, publish_at=soon(minutes=-minutes), **values)


def strip(page: Page) -> Any:
    return page.get_by_role("region", name="Just in")


@pytest.mark.thorough
def test_it_shows_on_every_page_what_the_page_does_not(page: Page) -> None:
    """R5.8"""
    channel = make_channel()
    article = live("The open one", minutes=1, channel=make_channel("Port"))
    for number in range(9):
        live(f"No. {number}", minutes=2 + number, channel=channel if number < 2 else None)
    page.goto(article.get_absolute_url())
    expect(strip(page).get_by_role("link")).to_have_count(AT_FIRST - 1)
    expect(strip(page).get_by_role("link", name="The open one")).to_have_count(0)
    page.goto("/channel/politics/")
    expect(strip(page).get_by_role("link").first).to_have_text("The open one")
    expect(strip(page).get_by_role("link", name="No. 0")).to_have_count(0)
    page.goto("/")
    expect(strip(page).get_by_text("You are up to date.")).to_be_visible()


def test_a_headline_that_is_pressed_while_news_come_gets_its_click(page: Page) -> None:
    pressed, held = open_and_hold(page)
    page.mouse.down()
    live("Storm")
    answer(page, held)
    with page.expect_navigation(url=f"**{pressed.get_absolute_url()}"):
        page.mouse.up()


def test_a_tap_that_news_come_between_goes_to_the_headline_that_was_there(browser: Browser, site: Site) -> None:
    with browser.new_context(base_url=site.url, locale="en-US", **A_PHONE) as context:
        page = context.new_page()
        pressed, held = open_and_hold(page)
        box = strip(page).get_by_role("link", name=pressed.title).bounding_box()
        assert box
        finger, point = context.new_cdp_session(page), {"x": box["x"] + 9, "y": box["y"] + 9}
        finger.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [point]})
        live("Storm")
        answer(page, held)
        with page.expect_navigation(url=f"**{pressed.get_absolute_url()}"):
            finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def open_and_hold(page: Page) -> tuple[Article, list[Route]]:
    """An article in the strip of an open page, under the mouse, and the held request for newer ones."""
    page.goto(live("The open one", minutes=1).get_absolute_url())
    article = live("Gale warning")
    strip(page).get_by_role("link", name="Gale warning").hover()
    held = hold(page, "**/latest/")
    with page.expect_request("**/latest/"):
        pass
    return article, held


def test_news_is_announced_politely_and_moves_nothing(page: Page) -> None:
    article = live("The open one", minutes=1)
    with page.expect_response("**/latest/"):
        page.goto(article.get_absolute_url())
    expect(strip(page).get_by_text("You are up to date.")).to_be_visible()
    announced = strip(page).get_by_role("status")
    expect(announced).to_have_text("")
    before = page.get_by_role("heading", level=1).bounding_box()
    live("Gale warning")
    expect(strip(page).get_by_role("link", name="Gale warning")).to_be_visible()
    expect(announced).to_have_text("New: Gale warning")
    assert page.get_by_role("heading", level=1).bounding_box() == before
    assert page.evaluate("document.activeElement.tagName") == "BODY"


@pytest.mark.thorough
def test_an_unpublished_article_leaves_the_strip_and_the_page_until_it_is_republished(page: Page) -> None:
    """R5.5"""
    articles = [live(f"No. {number}", minutes=number) for number in range(3)]
    page.goto("/")
    height = page.evaluate("document.documentElement.scrollHeight")
    for article in articles[1:]:
        expect(page.get_by_role("link", name=article.title)).to_have_count(1)
        Article.objects.filter(pk=article.pk).update(status=Status.UNPUBLISHED)
        expect(page.get_by_role("link", name=article.title)).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollHeight") == height
    Article.objects.filter(pk=articles[1].pk).update(status=Status.PUBLISHED)
    expect(page.get_by_role("link", name="No. 1")).to_have_count(1)
    expect(page.get_by_role("link", name="No. 0")).to_have_count(1)


@pytest.mark.thorough
def test_polling_an_unchanged_list_gives_304(page: Page) -> None:
    live("The open one", minutes=1)
    found = []
    with page.expect_response("**/latest/") as response:
        page.goto("/")
    found.append(response.value.status)
    for _ in range(2):
        with page.expect_response("**/latest/") as response:
            pass
        found.append(response.value.status)
    assert found == [200, 304, 304]


@pytest.fixture
def timed_page(browser: Browser, site: Site) -> Iterator[Page]:
    """A browser window of its own, whose clock can be set."""
    with browser.new_context(base_url=site.url, locale="en-US") as context:
        page = context.new_page()
        page.clock.install(time=0)
        yield page


@pytest.mark.thorough
def test_polling_slows_down_on_errors_and_stops_in_hidden_tabs(timed_page: Page) -> None:
    page = timed_page
    page.route("**/latest/", lambda route: route.abort())
    page.goto("/")
    page.clock.pause_at(5)
    assert 1 <= asked_in_a_minute(page) <= 10

    page.evaluate(HIDE, True)
    page.wait_for_timeout(100)  # until a request that is on its way was refused
    page.unroute("**/latest/")
    assert asked_in_a_minute(page) == 0
    with page.expect_response("**/latest/") as response:
        page.evaluate(HIDE, False)
    assert response.value.status == 200


HIDE = """isHidden => {
    Object.defineProperty(document, "hidden", {value: isHidden, configurable: true});
    document.dispatchEvent(new Event("visibilitychange"));
}"""


def asked_in_a_minute(page: Page) -> int:
    """How often the page asks while its own clock goes on by a minute."""
    asked: list[Request] = []

    def note(request: Request) -> None:
        asked.append(request)

    page.on("request", note)
    for _second in range(60):
        page.clock.run_for(1000)
        page.wait_for_timeout(5)
    page.remove_listener("request", note)
    return len(asked)


def test_all_readers_get_the_same_response_without_scheduled_articles(client: Client) -> None:
    live("Shown")
    make_article("Hidden", status=Status.APPROVED, publish_at=soon(minutes=1))
    one, other = client.get("/latest/"), Client(headers={"cookie": "sessionid=x"}).get("/latest/")
    assert one.content == other.content
    assert one["ETag"] == other["ETag"]
    assert "Shown" in one.text
    assert "Hidden" not in one.text
