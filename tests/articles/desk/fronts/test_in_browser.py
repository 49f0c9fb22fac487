"""The editor of a front in a browser: dragging, editing in place, and the changes of others."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from articles import fronts
from articles.fronts import Operation, OperationKind
from articles.models import Article, Card, FrontVersion
from tests.articles.browsers import sign_in
from tests.articles.factories import make_article, make_editor, soon
from tests.harness import eventually

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def draft(page: Page) -> FrontVersion:
    """A draft with three articles, open in the browser."""
    editor = make_editor()
    for hours, title in enumerate(("One", "Two", "Three"), start=1):
        make_article(title, status=Article.Status.PUBLISHED, publish_at=soon(hours=-hours))
    make_article("Four", status=Article.Status.APPROVED, publish_at=soon(hours=3))
    front = fronts.open_front(language="en", by=editor)
    draft = fronts.start_draft(front, by=editor)
    sign_in(page)
    page.goto(f"/admin/articles/front/{front.pk}/change/?list=scheduled")
    return draft


def stored(draft: FrontVersion) -> list[str]:
    """The cards as they are stored, in order."""
    cards = Card.objects.filter(block__version=draft).select_related("article").order_by("block__position", "position")
    return [card.headline or str(card.article) for card in cards]


def shown(page: Page) -> Any:
    """The headlines on the page."""
    return page.locator(".front-card h3")


def test_cards_are_dragged_and_moved_by_keyboard(page: Page, draft: FrontVersion) -> None:
    expect(shown(page)).to_have_text(["One", "Two", "Three"])
    page.locator(".front-card", has_text="Three").drag_to(page.locator(".front-card", has_text="One"))
    expect(shown(page)).to_have_text(["Three", "One", "Two"])
    button = page.get_by_role("button", name="Move down: Three")
    button.focus()
    page.keyboard.press("Enter")
    expect(shown(page)).to_have_text(["One", "Three", "Two"])
    expect(button).to_be_focused()
    page.keyboard.press("Enter")
    expect(shown(page)).to_have_text(["One", "Two", "Three"])
    page.locator("[data-add]", has_text="Four").drag_to(page.locator(".front-card", has_text="Two"))
    expect(shown(page)).to_have_text(["One", "Four", "Two", "Three"])
    assert stored(draft) == ["One", "Four", "Two", "Three"]
    expect(page.locator(".front-card", has_text="Four")).to_contain_text("The article goes live later")


@pytest.mark.thorough
def test_a_card_is_edited_in_its_place(page: Page, draft: FrontVersion) -> None:
    page.get_by_role("link", name="Edit: Two").click()
    headline = page.get_by_label("Headline", exact=True)
    expect(headline).to_be_focused()
    headline.fill("Overridden")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(shown(page)).to_have_text(["One", "Overridden", "Three"])
    page.get_by_role("link", name="Edit: One").click()
    page.get_by_text("Lines below it").click()
    page.get_by_label("Article or address 1").fill("javascript:alert(1)")
    page.get_by_label("Headline 1").fill("x")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("no address for readers")
    page.keyboard.press("Escape")
    expect(page.locator(".front-editor form")).to_have_count(0)
    assert stored(draft) == ["One", "Overridden", "Three"]


@pytest.mark.thorough
def test_changes_of_others_come_while_a_card_is_edited(page: Page, draft: FrontVersion) -> None:
    bob = make_editor("bob")
    cards = {str(card.article): card.uuid for card in Card.objects.select_related("article")}
    page.get_by_role("link", name="Edit: One").click()
    page.get_by_label("Headline", exact=True).fill("By Alice")

    def edit(title: str, **values: str) -> None:
        draft.refresh_from_db()
        operation = Operation(op=OperationKind.EDIT_CARD, uuid=cards[title], values=values)
        fronts.edit_draft(draft, [operation], base=draft.edits, by=bob)

    edit("Two", headline="By Bob")
    expect(shown(page)).to_have_text(["One", "By Bob", "Three"])
    expect(page.get_by_label("Headline", exact=True)).to_have_value("By Alice")
    edit("One", headline="Also by Bob")
    page.get_by_role("button", name="Save", exact=True).click()
    conflict = page.get_by_role("alert")
    expect(conflict).to_contain_text("bob has stored: Also by Bob")
    expect(conflict).to_contain_text("Yours: By Alice")
    page.get_by_role("button", name="Save mine").click()
    eventually(lambda: stored(draft)[0] == "By Alice", 10, "not stored")


@pytest.mark.thorough
def test_on_a_phone_cards_are_moved_to_another_block_and_published(page: Page, draft: FrontVersion) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.get_by_role("button", name="Strip", exact=True).click()
    page.get_by_label("More for “One”").click()
    page.get_by_role("button", name="To block: Strip").click()
    expect(shown(page)).to_have_text(["Two", "Three", "One"])
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_text("Publish…").click()
    page.get_by_role("button", name="Publish now").click()
    expect(page.get_by_text("Readers see this version now.")).to_be_visible()
    page.goto("/en/")
    expect(page.locator("main :is(h2, h3) a")).to_have_text(["Two", "Three", "One"])
