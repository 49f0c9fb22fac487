"""A form that is sent after the end of its session: nothing is saved, and nothing that was typed is lost."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client
from playwright.sync_api import Page, expect

from articles.limits import ENDED_SESSION_BODY
from articles.models import Article, Channel, Note
from tests.articles.browsers import sign_in
from tests.articles.factories import make_article, make_channel, make_editor, make_user
from tests.articles.open_forms import sent_by

pytestmark = pytest.mark.django_db


def sent(address: str, data: dict[str, Any], **headers: str) -> Any:
    return Client().post(address, data, headers=headers)


def test_what_was_typed_is_shown_to_be_copied() -> None:
    article = make_article("Old")
    form = f"/admin/articles/article/{article.pk}/"
    page = sent(
        f"{form}change/", {"title": "New & <b>", "body": "Two hours of work", "seen": "2026-01-01", "_save": "1"}
    )
    assert page.status_code == 401
    assert "New &amp; &lt;b&gt;</textarea>" in page.text
    assert "Two hours of work</textarea>" in page.text
    assert "2026-01-01" not in page.text
    assert (
        "Half an hour of thought</textarea>"
        in sent(f"{form}notes/", {"do": "add", "text": "Half an hour of thought"}).text
    )
    assert (Article.objects.get().title, Note.objects.count()) == ("Old", 0)


def test_no_password_is_shown_and_without_a_text_there_is_only_the_way_to_log_in() -> None:
    page = sent("/admin/password_change/", {"old_password": "hunter2"})
    assert (page.status_code, "hunter2" in page.text, "<textarea" in page.text) == (401, False, False)
    assert "/admin/login/" in page.text
    assert Client().get("/admin/articles/article/").status_code == 302


def test_a_script_gets_a_sentence() -> None:
    response = sent("/admin/articles/image/upload/", {}, sec_fetch_mode="cors")
    assert response.status_code == 401
    assert response.json() == {"code": "signed_out", "error": "You have been signed out. Log in again in a new window."}


def log_out_elsewhere(user: User) -> None:
    Session.objects.all().delete()


def change_password(user: User) -> None:
    user.set_password("another one 5")
    user.save()


@pytest.mark.parametrize("address", ["presence/", "draft/", "notes/"])
@pytest.mark.parametrize("end", [log_out_elsewhere, change_password])
def test_a_late_response_leaves_the_cookie_of_the_next_session_alone(end: Callable[[User], None], address: str) -> None:
    form, client, alice = f"/admin/articles/article/{make_article().pk}/", Client(), make_editor()
    client.force_login(alice)
    end(alice)
    ended = client.cookies[settings.SESSION_COOKIE_NAME].value
    response = client.post(f"{form}{address}", headers={"sec-fetch-mode": "cors"})
    assert response.status_code == 401
    assert client.get("/admin/").status_code == 302
    assert settings.SESSION_COOKIE_NAME not in response.cookies
    assert client.cookies[settings.SESSION_COOKIE_NAME].value == ended


@pytest.mark.parametrize("is_staff", [True, False])
def test_log_out_ends_the_session_and_deletes_the_cookie(is_staff: bool) -> None:
    client, alice = Client(), make_editor()
    client.force_login(alice)
    User.objects.update(is_staff=is_staff)
    response = client.post("/admin/logout/")
    assert response.cookies[settings.SESSION_COOKIE_NAME]["max-age"] == 0
    assert not Session.objects.exists()


def test_a_reload_after_the_log_out_leads_to_the_log_in() -> None:
    client = Client()
    client.force_login(make_editor())
    client.post("/admin/logout/")
    page = client.get("/admin/logout/", follow=True)
    assert page.redirect_chain[-1] == ("/admin/login/?next=/admin/", 302)


WORDS = "Words & <b>"
HINT = "a long new phrase"


def checking_client(user: User) -> Client:
    client = Client(enforce_csrf_checks=True)
    client.force_login(user)
    return client


def channel_form(client: Client) -> tuple[str, dict[str, Any]]:
    """The form of a channel with a typed description, and its address."""
    channel = Channel.objects.first() or make_channel()
    address = f"/admin/articles/channel/{channel.pk}/change/"
    return address, {**sent_by(client.get(address).text, "channel_form"), "description": WORDS}


def shows_words(page: Any) -> bool:
    return "Words &amp; &lt;b&gt;</textarea>" in page.text


def test_a_form_that_was_opened_before_the_last_log_in_is_shown_again_and_not_stored() -> None:
    root = make_user("root", is_superuser=True)
    client = checking_client(root)
    address, form = channel_form(client)
    csrf_token = client.cookies["csrftoken"].value
    client.cookies["csrftoken"] = csrf_token[::-1]  # of the next session
    page = client.post(address, form, headers={"referer": f"http://testserver{address}?x=1"})
    assert (page.status_code, shows_words(page)) == (403, True)
    assert "You have logged in again" in page.text and page.text.count("<textarea") == 3
    assert f'href="http://testserver{address}?x=1"' in page.text
    assert Channel.objects.get().description == ""
    foreign = client.post(address, form, headers={"referer": "http://example.org/"})
    assert 'href="/admin/" target="_blank"' in foreign.text and "example.org" not in foreign.text
    script = client.post(address, form, headers={"sec-fetch-mode": "cors"})
    assert (script.status_code, shows_words(script)) == (403, False)


@pytest.mark.parametrize("headers", [{"sec-fetch-site": "cross-site"}, {"origin": "https://example.org"}])
def test_nothing_is_shown_again_that_another_site_may_have_sent(headers: dict[str, str]) -> None:
    client = checking_client(make_user("root", is_superuser=True))
    address, form = channel_form(client)
    form["csrfmiddlewaretoken"] = "x" * 64
    page = client.post(address, form, headers=headers)
    assert page.status_code == 403 and "<h1>Form expired</h1>" in page.text and "Words" not in page.text
    stranger = Client(enforce_csrf_checks=True).post(address, form)
    assert stranger.status_code == 403 and "Words" not in stranger.text


def test_no_more_is_shown_again_than_after_the_end_of_a_session() -> None:
    client = checking_client(make_user("root", is_superuser=True))
    sent = {"title": WORDS, "body": "x" * ENDED_SESSION_BODY}
    page = client.post("/admin/articles/article/add/", sent)
    assert shows_words(page) and len(page.content) < ENDED_SESSION_BODY


def test_a_form_that_another_user_had_opened_is_shown_again_and_not_stored() -> None:
    root, other = make_user("root", is_superuser=True), make_user("other", is_superuser=True)
    client = Client()
    client.force_login(root)
    address, form = channel_form(client)
    assert f'data-user="{root.pk}"' in client.get(address).text
    page = client.post(address, {**form, "_opened_by": other.pk})
    assert (page.status_code, shows_words(page)) == (403, True)
    assert "Another user had opened this form" in page.text
    script = client.post(address, {**form, "_opened_by": other.pk}, headers={"sec-fetch-mode": "cors"})
    assert (script.status_code, script.json()["code"]) == (401, "signed_out")
    assert Channel.objects.get().description == ""
    assert client.post(address, {**form, "_opened_by": root.pk}).status_code == 302
    assert client.post("/admin/logout/", {"_opened_by": other.pk}).status_code in (200, 302)
    assert client.get(address).status_code == 302, "logged out"
    assert Channel.objects.get().description == WORDS


def test_what_was_typed_is_shown_to_who_has_lost_the_right_to_store_it() -> None:
    client, editor = Client(), make_user("ed", "change_channel", "view_channel")
    client.force_login(editor)
    address, form = channel_form(client)
    editor.user_permissions.clear()
    page = client.post(address, form)
    assert (page.status_code, shows_words(page)) == (403, True)
    assert "You do not have permission" in page.text
    assert "<h1>No permission</h1>" in client.get(address).text


@pytest.mark.thorough
@pytest.mark.django_db(transaction=True)
def test_a_form_is_stored_after_its_user_has_logged_in_again_in_another_window(page: Page) -> None:
    User.objects.create_superuser("alice", password=HINT)
    channel = make_channel()
    sign_in(page)
    page.goto(f"/admin/articles/channel/{channel.pk}/change/")
    page.locator("[name=description]").fill("An hour of typing")
    before = {one["name"]: one["value"] for one in page.context.cookies()}
    Session.objects.all().delete()
    window = page.context.new_page()
    window.goto("/admin/")
    window.locator("[name=username]").fill("alice")
    window.locator("[name=password]").fill(HINT)
    window.locator("[name=password]").press("Enter")
    expect(window).to_have_url(re.compile("/admin/$"))
    assert {one["name"]: one["value"] for one in page.context.cookies()}["csrftoken"] != before["csrftoken"]
    page.locator("[name=_save]").first.click()
    expect(page).to_have_url(re.compile("/admin/articles/channel/$"))
    channel.refresh_from_db()
    assert channel.description == "An hour of typing"
