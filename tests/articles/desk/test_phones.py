"""Lists, forms and bars on a phone."""

from __future__ import annotations

import re
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from articles import fronts
from tests.articles.browsers import sign_in
from tests.articles.factories import make_article, make_channel, make_editor, soon

WIDTH = "document.documentElement.scrollWidth"


@pytest.mark.thorough
@pytest.mark.django_db(transaction=True)
def test_a_row_has_no_line_without_content(page: Page) -> None:
    editor = make_editor()
    make_article("Derby", channel=make_channel("Sport"), owner=editor)
    make_article("Harbour")
    page.set_viewport_size({"width": 390, "height": 844})
    sign_in(page)
    page.goto("/admin/articles/article/")

    derby, harbour = (page.locator(".data-row", has_text=re.compile(title)) for title in ("Derby", "Harbour"))

    expect(derby.locator(".field-assigned")).to_be_visible()
    expect(harbour.locator(".field-assigned, .field-channel")).to_have_count(2)
    empty = harbour.locator("td").filter(has_text=re.compile(r"^\s*—\s*$"))
    expect(empty).not_to_have_count(0)
    expect(empty.filter(visible=True)).to_have_count(0)


@pytest.mark.thorough
@pytest.mark.django_db(transaction=True)
def test_the_forms_of_a_front_and_the_bar_of_another_instant_stay_on_the_screen(page: Page) -> None:
    editor = make_editor()
    draft = fronts.start_draft(fronts.open_front(language="en", by=editor), by=editor)
    page.set_viewport_size({"width": 390, "height": 844})
    sign_in(page)
    page.goto(f"/admin/articles/front/{draft.front_id}/change/?version={draft.number}")
    for menu in page.locator(".fronts-when").all():
        menu.evaluate("menu => { menu.open = true }")
        assert page.evaluate(WIDTH) <= 390
        menu.evaluate("menu => { menu.open = false }")
    expect(page.locator("#repeat")).to_have_count(1)
    page.goto(f"/en/?{urlencode({'at': soon(hours=1).isoformat()})}")
    expect(page.locator(".reading-bar select")).not_to_have_count(0)
    assert page.evaluate(WIDTH) <= 390
