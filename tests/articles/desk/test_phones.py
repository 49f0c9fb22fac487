"""Lists on a phone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.articles.browsers import sign_in
from tests.articles.factories import make_article, make_channel, make_editor


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
