"""How the article editor looks in a real browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.articles.desk.articles.test_admin import form_address
from tests.articles.desk.editor.test_body import open_form
from tests.articles.factories import make_article

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("width", [pytest.param(1440, marks=pytest.mark.thorough), 390])
@pytest.mark.parametrize(
    "text", ["Gypsy jog: ǰ̱ġ̱p̱ Ẵ Ǻ", "港口大桥，今晨（部分）重新通车", "Tagging g̱ypsy p̱layers j̱ogging " * 3]
)
def test_nothing_of_headline_and_summary_is_cut_off(page: Page, text: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    open_form(page)
    page.evaluate(
        """() => {
            document.body.style.visibility = "hidden";
            document.querySelector("main").style.paddingTop = "80px";
        }"""
    )
    for name in ("title", "summary"):
        field = page.locator(f"#id_{name}")
        field.evaluate(
            """(field, text) => {
                field.style.visibility = "visible";
                field.value = text;
                field.dispatchEvent(new Event("input", { bubbles: true }));
                document.activeElement.blur();
            }""",
            text,
        )
        shown = screenshot(page, field)
        # By whole pixels, so that all lines are rounded to the same ones.
        field.evaluate(
            "field => (field.style.paddingBlock = `${parseFloat(getComputedStyle(field).paddingTop) + 22}px`)"
        )
        assert screenshot(page, field) == shown, "with more room around it the text looks the same"
        field.evaluate("field => (field.style.visibility = 'hidden')")


def screenshot(page: Page, field: Locator) -> bytes:
    """The lines of a field, with some room around them."""
    left, top, width, height = field.evaluate(
        """field => {
            const { x, y, width, height } = field.getBoundingClientRect();
            const padding = parseFloat(getComputedStyle(field).paddingTop);
            return [x, y + padding - 20, width, height - 2 * padding + 40];
        }"""
    )
    return page.screenshot(clip={"x": left, "y": top, "width": width, "height": height})


@pytest.mark.thorough
def test_the_panel_opens_on_publish_for_the_next_article_and_stays_where_it_was_for_this(page: Page) -> None:
    first, second = make_article("First"), make_article("Second")
    page.set_viewport_size({"width": 1440, "height": 900})
    open_form(page, first)
    activity, publish = page.get_by_role("tab", name="Activity"), page.get_by_role("tab", name="Publish")
    activity.click()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved.").first).to_be_visible()
    expect(activity).to_have_attribute("aria-selected", "true")
    page.goto(form_address(second))
    expect(publish).to_have_attribute("aria-selected", "true")
    expect(page.get_by_label("Publish at", exact=True)).to_be_visible()
