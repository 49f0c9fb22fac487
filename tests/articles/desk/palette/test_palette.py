"""The command palette: what it finds for whom, its commands, and its use by keyboard."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from playwright.sync_api import Page, expect

from articles.models import Article, ArticleTemplate
from articles.roles import Role
from tests.articles.browsers import sign_in
from tests.articles.factories import make_article, make_editor, make_member, make_release, make_user
from tests.articles.image_files import make_image

pytestmark = pytest.mark.django_db

SEARCH = "/admin/search/"


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def found(client: Client, text: str = "") -> dict[str, str]:
    return {result.title: result.link for result in client.get(SEARCH, {"s": text}).context["results"]}


def test_it_finds_articles_releases_images_people_and_screens() -> None:
    alice = make_editor()
    desk = client_of(alice)
    article = make_article("Tram line 4", body="<p>The depot burns</p>")
    release = make_release(by=alice, name="Depot day")
    image = make_image(alice, title="Depot at night")
    bob = make_user("depotbob")
    assert found(desk, "depot") == {
        "Tram line 4": f"/admin/articles/article/{article.pk}/change/",
        "Depot day": f"/admin/articles/release/{release.pk}/change/",
        "Depot at night": f"/admin/articles/image/{image.pk}/change/",
        "depotbob": f"/admin/articles/article/?author={bob.pk}",
    }
    assert found(desk, "calend") == {"Calendar": "/admin/calendar/"}
    assert found(desk, "new art")["New article"] == "/admin/articles/article/add/"
    assert found(desk, "nothing-is-called-so") == {}


def test_articles_with_the_words_in_their_headline_come_first() -> None:
    make_article("Depot burns")
    make_article("Tram line 4", body="<p>The depot burns</p>")
    assert list(found(client_of(make_editor()), "depot")) == ["Depot burns", "Tram line 4"]


def test_without_a_text_it_offers_commands() -> None:
    ArticleTemplate.objects.create(name="Match report")
    offered = list(found(client_of(make_editor())))
    assert offered[:2] == ["New article", "New article: Match report"]
    assert "Toggle dark mode" in offered
    assert list(found(client_of(make_user("outsider")))) == ["Toggle dark mode"]


def test_users_find_only_what_they_may_see() -> None:
    alice = make_editor()
    make_article("Depot burns")
    make_release(by=alice, name="Depot day")
    make_image(alice, title="Depot at night")
    outsider = make_user("outsider", "add_tag")
    assert found(client_of(outsider), "depot") == found(client_of(outsider), "alice") == {}
    assert "Users" not in found(client_of(make_member(Role.AUTHOR)), "users")
    assert Client().get(SEARCH, {"s": "depot"}).status_code == 302
    User.user_permissions.through.objects.filter(user=alice).delete()
    assert found(client_of(alice), "depot") == {}  # without a delay


def test_a_search_costs_the_same_statements_for_any_number_of_articles(django_assert_max_num_queries: Any) -> None:
    desk = client_of(make_editor())
    make_article("Depot 0")
    found(desk, "depot")
    with CaptureQueriesContext(connection) as few:
        found(desk, "depot")
    for number in range(1, 7):
        make_article(f"Depot {number}", body="<p>depot</p>")
    with django_assert_max_num_queries(len(few)):
        found(desk, "depot")


@pytest.mark.django_db(transaction=True)
def test_it_is_used_by_keyboard_alone(page: Page) -> None:
    make_editor()
    make_article("Depot burns")
    sign_in(page)
    page.goto("/admin/articles/article/")
    page.locator("#searchbar").focus()
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Search and commands")
    expect(palette.get_by_role("option", name="New article")).to_be_visible()
    expect(palette.get_by_role("combobox")).to_be_focused()
    page.keyboard.insert_text("toggle dark")
    expect(palette.get_by_role("option")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.locator("html")).to_have_class("dark")
    expect(palette).to_be_hidden()
    page.keyboard.press("Control+k")
    expect(palette.get_by_role("combobox")).to_be_focused()
    page.keyboard.insert_text("burns")
    expect(palette.get_by_role("option", name="Depot burns")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/{Article.objects.get().pk}/change/")
