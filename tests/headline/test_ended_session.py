"""A form that is sent after the end of its session: nothing is saved, and nothing that was typed is lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client

from articles.models import Article, Note
from tests.articles.factories import make_article, make_editor

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
