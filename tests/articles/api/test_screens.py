"""Rows that programs change while another user, or a deadlock, is faster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin import ModelAdmin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client

from articles.api.screens import ScreenViewSet
from articles.models import Alert, Channel, ProposedChange, Tag
from scheduling.database.transactions import Collision
from tests.articles.factories import APPROVED, make_article, make_channel, make_user
from tests.articles.publishing.test_races import together

pytestmark = pytest.mark.django_db

API = "/api/v1/desk/"


@pytest.fixture
def client() -> Client:
    client = Client()
    client.force_login(make_user("boss", is_superuser=True))
    return client


@pytest.fixture
def collisions(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The first attempt to save collides when the form has changed the row, the second when all is written."""
    found: list[str] = []

    def colliding(step: Callable[..., Any]) -> Callable[..., Any]:
        def once(*arguments: Any, **options: Any) -> Any:
            result = step(*arguments, **options)
            if step.__name__ not in found:
                found.append(step.__name__)
                raise Collision(1213, "Deadlock found when trying to get lock; try restarting transaction")
            return result

        return once

    for step in (ModelAdmin.save_form, ModelAdmin.log_addition, ModelAdmin.log_change):
        monkeypatch.setattr(ModelAdmin, step.__name__, colliding(step))
    return found


def patch(client: Client, at: str, values: dict[str, Any], **headers: str) -> int:
    return client.patch(f"{API}{at}/", values, content_type="application/json", headers=headers).status_code


@pytest.mark.parametrize("headers", [{}, {"If-Match": "*"}], ids=["", "If-Match"])
def test_a_change_that_collides_still_waits_for_another_person(
    client: Client, collisions: list[str], settings: Any, headers: dict[str, str]
) -> None:
    settings.ARTICLES_TWO_PERSON_RULE = True
    author = make_user("ada")
    make_article(status=APPROVED, author=author)
    assert patch(client, f"users/{author.pk}", {"name": "Eve"}, **headers) == 202
    author.refresh_from_db()
    assert (len(collisions), author.first_name) == (2, "")
    assert ProposedChange.objects.get().values["first_name"] == "Eve"


def test_a_change_that_collides_is_stored_and_logged(client: Client, collisions: list[str]) -> None:
    user, role = make_user("bob"), Group.objects.order_by("pk")[0]
    assert patch(client, f"users/{user.pk}", {"is_active": False, "roles": [role.name]}) == 200
    user.refresh_from_db()
    assert (len(collisions), user.is_active, [*user.groups.all()]) == (2, False, [role])
    assert LogEntry.objects.get().get_change_message() == "Changed Roles and Active."


def test_a_row_that_is_added_when_it_collides_is_added_once(client: Client, collisions: list[str]) -> None:
    sent = {"name": "City", "slug": "city"}
    assert client.post(f"{API}channels/", sent, content_type="application/json").status_code == 201
    assert (len(collisions), Channel.objects.count()) == (2, 1)


def at_the_same_time(monkeypatch: pytest.MonkeyPatch, change: Callable[[], Any]) -> None:
    """Another request stores something after the view has read the row."""
    read = ScreenViewSet.get_object

    def get_object(view: Any) -> Any:
        row = read(view)
        change()
        return row

    monkeypatch.setattr(ScreenViewSet, "get_object", get_object)


def test_what_another_user_stores_at_the_same_time_stays(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    user, roles = make_user("bob"), [*Group.objects.order_by("pk")[:2]]
    user.groups.set(roles)

    def blocked() -> None:
        User.objects.filter(pk=user.pk).update(is_active=False)
        user.groups.set(roles[:1])

    at_the_same_time(monkeypatch, blocked)
    assert patch(client, f"users/{user.pk}", {"email": "bob@example.org"}) == 200
    user.refresh_from_db()
    assert (user.email, user.is_active, [*user.groups.all()]) == ("bob@example.org", False, roles[:1])


def test_a_right_that_ends_and_a_row_that_goes_at_the_same_time(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user who becomes an administrator is no longer changed by one who is none."""
    user, channel = make_user("bob"), make_channel("City")
    client.force_login(make_user("olga", "change_user", "view_user", "delete_user"))
    with monkeypatch.context() as patched:
        at_the_same_time(patched, lambda: User.objects.filter(pk=user.pk).update(is_superuser=True))
        assert patch(client, f"users/{user.pk}", {"email": "olga@example.org"}) == 403
        assert client.delete(f"{API}users/{user.pk}/").status_code == 403
    client.force_login(User.objects.get(username="boss"))
    at_the_same_time(monkeypatch, Channel.objects.all().delete)
    assert patch(client, f"channels/{channel.pk}", {"name": "Town"}) == 404


@pytest.mark.parametrize(
    ("at", "sent", "add"),
    [
        ("tags", {"name": "Same", "slug": "same"}, lambda: Tag.objects.create(name="Same", slug="same")),
        ("roles", {"name": "Same"}, lambda: Group.objects.create(name="Same")),
    ],
    ids=["tag", "role"],
)
def test_of_two_who_add_the_same_the_second_hears_that_it_exists(
    transactional_db: None, client: Client, monkeypatch: pytest.MonkeyPatch, at: str, sent: Any, add: Callable[[], Any]
) -> None:
    check, checked = ScreenViewSet._checked_form, list[bool]()

    def checked_first(view: Any, row: Any) -> Any:
        form = check(view, row)
        checked.append(True)
        if len(checked) == 1:
            separately(add)
        return form

    monkeypatch.setattr(ScreenViewSet, "_checked_form", checked_first)
    answer = client.post(f"{API}{at}/", sent, content_type="application/json")
    assert (answer.status_code, "exists" in answer.text) == (400, True)


def separately(change: Callable[[], Any]) -> None:
    """By another connection, if the database lets two write."""
    if connection.vendor == "sqlite":
        pytest.skip("SQLite lets one write at a time")
    assert together(change)[0] is not None


def test_a_tag_that_another_user_deletes_at_the_same_time_is_gone(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    tag = Tag.objects.create(name="Bridge")
    at_the_same_time(monkeypatch, Tag.objects.all().delete)
    assert client.delete(f"{API}tags/{tag.pk}/").status_code == 204


def test_a_field_that_cannot_be_changed_may_be_sent_back(client: Client) -> None:
    article = make_article(status=APPROVED)
    row = Alert.objects.create(article=article, text="Ahoy")
    assert patch(client, f"alerts/{row.pk}", {"article": article.pk, "text": "Ahoy there"}) == 200
    assert patch(client, f"alerts/{row.pk}", {"article": make_article(status=APPROVED).pk}) == 403
