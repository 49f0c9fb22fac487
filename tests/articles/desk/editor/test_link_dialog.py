"""The link dialog of the editor: it finds articles, says when they are live, and takes addresses."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from playwright.sync_api import Locator, Page, expect

from articles.desk.editor import link_search
from articles.models import Article
from articles.text import format_time_briefly
from tests.articles.browsers import A_PHONE, press_in_body
from tests.articles.desk.editor.test_body import open_form
from tests.articles.factories import APPROVED, make_article, make_channel, make_editor, make_user, soon

pytestmark = pytest.mark.django_db(transaction=True)

Status = Article.Status
SEARCH = "/admin/articles/article/targets/"


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def at(moment: datetime | None) -> str:
    assert moment
    return format_time_briefly(moment)


def found(client: Client, text: str) -> dict[str, Any]:
    answer: dict[str, Any] = client.get(SEARCH, {"q": text}).json()
    return answer


def test_articles_are_found_by_headline_and_text_with_their_state_and_time() -> None:
    desk, channel = client_of(make_editor()), make_channel("Sport")
    times = {"publish_at": soon(hours=-2), "channel": channel}
    draft = make_article("Ferry plan", channel=channel)
    scheduled = make_article("Night buses", body="<p>Not the ferry</p>", status=APPROVED, publish_at=soon(hours=3))
    unrecorded = make_article("Ferry strike", status=APPROVED, publish_at=soon(hours=-1))
    over = make_article("Ferry festival", status=Status.PUBLISHED, unpublish_at=soon(hours=-1), **times)
    make_article("Bridge", channel=channel)
    answer = found(desk, "ferry")
    assert {row["title"]: (row["address"], row["about"]) for row in answer["results"]} == {
        "Ferry plan": (draft.get_absolute_url(), "Draft · Sport"),
        "Night buses": (scheduled.get_absolute_url(), f"Scheduled {at(scheduled.publish_at)}"),
        "Ferry strike": (
            unrecorded.get_absolute_url(),
            f"Published {at(unrecorded.goes_live_at)}",
        ),
        "Ferry festival": (over.get_absolute_url(), f"Unpublished {at(over.unpublish_at)} · Sport"),
    }
    assert answer["results"][-1]["title"] == "Night buses", "those with the word in the headline come first"
    assert answer["found"] == "4 articles found."


def test_an_address_of_the_site_finds_its_article(settings: Any) -> None:
    desk, article = client_of(make_editor()), make_article("Ferry plan")
    make_article("Other")
    for address in (article.get_absolute_url(), f"{settings.SITE_URL}/article/{article.pk}/former-slug/"):
        assert [row["title"] for row in found(desk, address)["results"]] == ["Ferry plan"]


def test_results_and_words_are_limited_and_cost_a_fixed_number_of_statements() -> None:
    desk, costs = client_of(make_editor()), []
    assert found(desk, "ferry")["results"] == []
    for number in range(3):
        Article.objects.bulk_create(Article(title=f"Ferry {number}{n}") for n in range(link_search.MAX_RESULTS))
        with CaptureQueriesContext(connection) as queries:
            answer = found(desk, "ferry")
        costs.append(len(queries))
        assert len(answer["results"]) == link_search.MAX_RESULTS
    assert answer["found"] == "The first 8 articles found. More words find fewer."
    assert len(set(costs)) == 1
    assert found(desk, "") == found(desk, " \0 ") == {"results": [], "found": "No article found."}
    assert found(desk, "ferry " * 5_000)["results"]


def test_only_staff_who_may_read_articles_find_any() -> None:
    make_article("Ferry plan")
    assert client_of(make_user("clerk", "view_image")).get(SEARCH, {"q": "ferry"}).status_code == 403
    assert Client().get(SEARCH, {"q": "ferry"}).status_code == 302
    assert client_of(make_user("reader", "view_article")).get(SEARCH, {"q": "ferry"}).status_code == 200


def open_dialog(page: Page) -> tuple[Locator, Locator]:
    """The body with one selected word, and the dialog's field."""
    body = open_form(page)
    page.get_by_label("Headline").fill("Bridge")
    body.press_sequentially("Harbour")
    press_in_body(page, "Control+a")
    page.keyboard.press("Control+k")
    field = page.get_by_role("dialog", name="Link").get_by_role("combobox", name="Article or address")
    expect(field).to_be_focused()
    return body, field


def test_an_article_is_chosen_by_keyboard(page: Page) -> None:
    make_article("Bridge closed")
    ferry = make_article("Ferry plan", status=APPROVED, publish_at=soon(hours=3))
    make_article("Ferry strike", body="<p>The ferry plan</p>")
    body, field = open_dialog(page)
    page.keyboard.type("ferry plan")
    options = page.get_by_role("listbox", name="Articles").get_by_role("option")
    expect(options).to_have_count(2)
    expect(page.get_by_role("status").filter(has_text="2 articles found.")).to_be_attached()
    expect(field).to_have_attribute("aria-expanded", "true")
    expect(options.first).to_contain_text("Scheduled")
    for key, at in (("", 0), ("ArrowDown", 1), ("ArrowDown", 0), ("ArrowUp", 1), ("ArrowUp", 0)):
        if key:
            page.keyboard.press(key)
        expect(options.nth(at)).to_have_attribute("aria-selected", "true")
        expect(field).to_have_attribute("aria-activedescendant", options.nth(at).get_attribute("id") or "")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name="Link")).to_have_count(0)
    expect(body.locator("a")).to_have_attribute("href", ferry.get_absolute_url())
    expect(body).to_be_focused()


@pytest.mark.thorough
def test_escape_closes_the_list_first_and_words_that_find_nothing_make_no_link(page: Page) -> None:
    make_article("Ferry plan")
    body, field = open_dialog(page)
    choices = page.get_by_role("listbox", name="Articles")
    page.keyboard.type("ferry")
    expect(choices).to_be_visible()
    page.keyboard.press("Escape")
    expect(choices).to_be_hidden()
    expect(field).to_be_focused()
    field.fill("zeppelin")
    expect(page.locator(".link-found")).to_have_text("No article found.")
    page.keyboard.press("Enter")
    expect(field).to_be_focused()
    page.keyboard.press("Escape")
    expect(body).to_be_focused()
    expect(body.locator("a")).to_have_count(0)


@pytest.mark.thorough
@pytest.mark.parametrize("is_applied", [False, pytest.param(True, marks=pytest.mark.thorough)])
def test_an_article_is_chosen_by_pointer_on_a_small_screen(page: Page, is_applied: bool) -> None:
    page.set_viewport_size(A_PHONE["viewport"])
    ferry = make_article("Ferry plan " + "with a long headline " * 6)
    body, field = open_dialog(page)
    field.fill("ferry")
    option = page.get_by_role("option", name="Ferry plan")
    expect(option).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    expect(option).to_have_attribute("aria-selected", "true")
    (page.get_by_role("button", name="Apply") if is_applied else option).click()
    expect(body.locator("a")).to_have_attribute("href", ferry.get_absolute_url())


@pytest.mark.thorough
def test_pasted_addresses_of_other_sites_are_not_looked_up(page: Page) -> None:
    searches: list[str] = []
    page.on("request", lambda request: searches.append(request.url) if SEARCH in request.url else None)
    make_article("Ferry plan")
    body, field = open_dialog(page)
    field.fill("https://example.org/port")
    page.keyboard.press("Enter")
    expect(body.locator("a")).to_have_attribute("href", "https://example.org/port")
    assert searches == []
