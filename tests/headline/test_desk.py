"""The sidebar of the screens."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.articles.factories import make_person

pytestmark = pytest.mark.django_db


def sidebar(*permissions: str, is_superuser: bool = False) -> list[str]:
    client = Client()
    client.force_login(make_person("bob", *permissions, is_superuser=is_superuser))
    groups = client.get("/admin/").context["sidebar_navigation"]
    return [str(group["title"]) for group in groups]


def test_the_news_comes_first_and_the_engine_second() -> None:
    assert sidebar(is_superuser=True)[:2] == ["Newsroom", "Scheduling"]


def test_nobody_sees_what_they_may_not_open() -> None:
    assert sidebar("view_article") == ["Newsroom"]


def test_logging_in_leads_to_the_desk() -> None:
    person = make_person("bob", "view_article")
    person.set_password("a secret")
    person.save()
    answer = Client().post("/admin/login/", {"username": person.get_username(), "password": "a secret"})
    assert answer.headers["Location"] == "/admin/"
