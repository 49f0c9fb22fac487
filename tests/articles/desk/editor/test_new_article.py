"""The form of a new article: sent twice it makes one article, and what is typed after that belongs to it."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import Page, expect

from articles.models import Article, Autosave
from articles.roles import Role
from tests.articles.desk.articles.test_admin import form_address, logged_in, press
from tests.articles.desk.editor.test_autosave import ADD, close_window, keep, wait_for_draft
from tests.articles.desk.editor.test_body import open_form
from tests.articles.factories import APPROVED, make_editor, make_member
from tests.articles.publishing.test_races import together


def new_form(client: Client, **typed: Any) -> dict[str, Any]:
    """What the form of a new article sends without a script."""
    page = client.get(ADD)
    fields = {field.name: field.value() for field in page.context["adminform"].form}
    values = {name: value for name, value in fields.items() if value not in (None, [])}
    return {**values, "window": page.context["script_config"]["window"], "_continue": "1", **typed}


@pytest.mark.django_db(transaction=True)
def test_two_requests_at_once_make_one_article() -> None:
    client = logged_in(make_editor())
    sent = new_form(client, title="Bridge")
    clients = [client, Client()]
    clients[1].cookies = client.cookies

    answers = together(*(lambda sender=sender: sender.post(ADD, sent) for sender in clients))

    article = Article.objects.get()
    assert {answer.url for answer in answers} == {form_address(article)}
    assert not Autosave.objects.exists()


@pytest.mark.django_db
def test_another_text_from_the_same_form_is_offered_at_its_article() -> None:
    client = logged_in(make_editor())
    sent = new_form(client, title="Bridge")
    client.post(ADD, sent)

    page = client.post(ADD, {**sent, "title": "Bridge reopens"}, follow=True).text

    assert Article.objects.get().title == "Bridge"
    assert "This form has already created this article." in page
    assert "“Bridge reopens”" in page


@pytest.mark.django_db
def test_what_is_typed_until_the_next_page_is_offered_at_the_article() -> None:
    alice = make_editor()
    client = logged_in(alice)
    sent = new_form(client, title="Bridge")
    client.post(ADD, sent)
    article = Article.objects.get()

    window, _status = keep(client, alice, window=sent["window"], typed={"title": ["Typed"], "seen": [""], "base": [""]})

    assert "Recovered draft" not in client.get(ADD).text
    assert "“Typed”" in client.get(form_address(article)).text
    form = client.get(f"{form_address(article)}?restore={window}").context["adminform"].form
    assert (form["title"].value(), form["base"].value()) == ("Typed", "1")
    assert form["seen"].value() == article.changed_at.isoformat()
    press(logged_in(make_editor("bob")), article, "_save", title="Bob’s")
    form = client.get(f"{form_address(article)}?restore={window}").context["adminform"].form
    data = {name: form[name].value() for name in form.fields if form[name].value() not in (None, [])}
    assert "bob has saved this article" in client.post(form_address(article), {**data, "_save": "1"}).text


@pytest.mark.django_db
def test_another_text_of_an_article_that_its_author_may_no_longer_edit_is_offered_in_a_new_form() -> None:
    client = logged_in(make_member(Role.AUTHOR))
    sent = new_form(client, title="Bridge")
    client.post(ADD, sent)
    Article.objects.update(status=APPROVED)

    page = client.post(ADD, {**sent, "title": "Bridge reopens"}, follow=True)

    assert page.redirect_chain == [(form_address(Article.objects.get()), 302)]
    assert "This form has already created this article." in page.text
    assert "“Bridge reopens”" in client.get(ADD).text


@pytest.mark.django_db
def test_the_user_reads_that_another_button_of_the_same_form_did_nothing() -> None:
    client = logged_in(make_editor())
    sent = new_form(client, title="Bridge")
    client.post(ADD, sent)

    page = client.post(ADD, {**sent, "_step_submit": "1", "seen": ""}, follow=True)

    assert "This form has already created this article." in page.text
    assert Article.objects.get().status == Article.Status.DRAFT


@pytest.mark.django_db
def test_the_address_of_a_restored_draft_creates_a_second_article_once_the_draft_is_used() -> None:
    alice = make_editor()
    client = logged_in(alice)
    window, _status = keep(client, alice)
    address = f"{ADD}?restore={window}"
    for title in ("Bridge", "Ferry"):
        window = client.get(address).context["script_config"]["window"]
        client.post(address, new_form(client, title=title, window=window))
    assert set(Article.objects.values_list("title", flat=True)) == {"Bridge", "Ferry"}


@pytest.mark.thorough
@pytest.mark.django_db(transaction=True)
def test_the_draft_of_an_open_window_is_not_offered(page: Page) -> None:
    open_form(page)
    page.get_by_label("Headline").fill("Bridge")
    wait_for_draft(page)
    other = page.context.new_page()
    other.goto(ADD)
    expect(other.get_by_label("Headline")).to_be_focused()
    expect(other.get_by_text("Recovered draft from")).to_be_hidden()
    other = close_window(page)
    other.goto(ADD)
    expect(other.get_by_text("Recovered draft from")).to_contain_text("“Bridge”")
