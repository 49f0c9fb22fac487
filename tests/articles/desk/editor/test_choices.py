"""Choices that are searched for on the server (author, tags), in a real browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from articles.models import Tag
from articles.roles import Role
from tests.articles.browsers import answer, draw, hold, sign_in
from tests.articles.factories import make_member

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_answer_that_comes_while_a_tag_is_pressed_or_after_it_was_chosen_changes_nothing(page: Page) -> None:
    Tag.objects.create(name="Harbour", slug="harbour")
    make_member(Role.EDITOR, "edda")
    sign_in(page, "edda")
    page.goto("/admin/articles/article/add/")
    page.get_by_role("tab", name="Cover & search").click()
    tags = page.get_by_role("combobox", name="Tags")
    tags.fill("harb")
    page.get_by_role("option", name="Harbour", exact=True).hover()
    held = hold(page, "**/autocomplete/?term=harbo&*")
    with page.expect_request("**/autocomplete/?term=harbo&*"):
        tags.press("End")
        tags.press_sequentially("o")
    Tag.objects.create(name="Harbour office", slug="harbour-office")
    page.mouse.down()
    answer(page, held)
    page.mouse.up()
    draw(page)
    expect(page.get_by_role("button", name="Remove Harbour")).to_be_visible()
    expect(page.get_by_role("option", name="Harbour office")).to_have_count(0)
    held = hold(page, "**/autocomplete/?term=office&*")
    with page.expect_request("**/autocomplete/?term=office&*"):
        tags.fill("office")
    tags.press("Escape")
    answer(page, held)
    expect(page.get_by_role("option", name="Harbour office")).to_have_count(0)
