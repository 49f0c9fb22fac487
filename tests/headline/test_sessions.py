"""Open sessions: listed, ended by the user or an administrator, and one-time links for locked-out administrators."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
import time_machine
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.contrib.auth.models import Group, User
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from articles.models import AuditEntry
from articles.roles import Role
from headline.accounts.one_time_link import LIFETIME
from headline.accounts.sessions import device_of
from tests.headline.authenticator import code, connect_app, log_in

PASSWORD = "correct horse"
SECURITY, END = "/admin/security/", "/admin/security/sessions/end/"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:142.0) Gecko/20100101 Firefox/142.0"

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def alice() -> User:
    return User.objects.create_superuser("alice", "alice@example.org", PASSWORD)


def signed_in(name: str = "alice", **options: Any) -> Client:
    client = Client(**options)
    log_in(client, name, PASSWORD)
    return client


def is_in(client: Client) -> bool:
    return client.get("/admin/").status_code == 200


def ended() -> list[tuple[str, str, int]]:
    entries = AuditEntry.objects.filter(action="end_sessions").order_by("pk")
    return [(entry.user_name, entry.article_title, entry.details["count"]) for entry in entries]


def test_a_user_sees_and_ends_the_own_sessions() -> None:
    phone, desk = signed_in(REMOTE_ADDR="192.0.2.7"), signed_in(HTTP_USER_AGENT=FIREFOX)
    signed_in()
    page = phone.get(SECURITY).text
    assert ("Firefox on Linux" in page, "192.0.2.7" in page, "this browser" in page) == (True, True, True)
    phone.post(END, {"session": UserSession.objects.get(user_agent=FIREFOX).pk})
    assert (is_in(desk), is_in(phone)) == (False, True)
    phone.post(END)
    assert (UserSession.objects.count(), is_in(phone)) == (1, True)
    assert ended() == [("alice", "alice", 1)] * 2


def test_the_audit_log_says_how_a_user_signed_in() -> None:
    client = signed_in()
    entry = AuditEntry.objects.get(action="logged_in")
    page = client.get(f"/admin/articles/auditentry/{entry.pk}/change/").text
    assert ("signed in with" in page, "password" in page) == (True, True)


def test_the_session_of_another_user_cannot_be_ended() -> None:
    User.objects.create_user("bob", password=PASSWORD, is_staff=True)
    bob = signed_in("bob")
    signed_in().post(END, {"session": UserSession.objects.get(user__username="bob").pk})
    assert is_in(bob)
    assert ended() == []


def test_administrators_end_sessions_and_remove_second_factors() -> None:
    bob = User.objects.create_user("bob", "bob@example.org", PASSWORD, is_staff=True)
    bob.groups.add(Group.objects.get(name=Role.EDITOR))
    connect_app(bob)
    session, form = signed_in("bob"), f"/admin/auth/user/{bob.pk}/change/"
    session.post("/admin/login/code/", {"code": code()})
    admin = signed_in()
    page = admin.get(form).text
    assert ("Set up." in page, "End all sessions" in page, "127.0.0.1" in page) == (True, True, True)
    fields = {"name": "Bob", "email": "bob@example.org", "username": "bob", "is_active": "on", "is_staff": "on"}
    admin.post(form, {**fields, "auth_user_end_sessions": "1"})
    assert not is_in(session)
    admin.post(form, {**fields, "auth_user_remove_second_factors": "1"})
    assert not Authenticator.objects.exists()
    assert "End all sessions" not in admin.get(form).text
    assert is_in(signed_in("bob"))


def test_a_deactivated_user_s_sessions_are_in_no_list() -> None:
    bob = User.objects.create_user("bob", password=PASSWORD, is_staff=True)
    session = signed_in("bob")
    bob.is_active = False
    bob.save()
    assert (is_in(session), UserSession.objects.filter(user=bob).exists(), ended()) == (False, False, [("", "bob", 1)])


def test_an_unknown_address_is_no_error() -> None:
    client = signed_in(REMOTE_ADDR="")
    assert "0.0.0.0" not in client.get(SECURITY).text


@pytest.mark.parametrize(
    ("user_agent", "device"),
    [
        (FIREFOX, "Firefox on Linux"),
        ("Mozilla/5.0 (Windows NT 10.0) Chrome/141.0 Safari/537.36 Edg/141.0", "Edge on Windows"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1", "Safari on iPhone"),
        ("curl/8", "Unknown browser"),
    ],
)
def test_devices_are_named(user_agent: str, device: str) -> None:
    assert device_of(user_agent) == device


def link(*options: str) -> str:
    out = StringIO()
    call_command("sign_in_link", "alice", *options, stdout=out, stderr=StringIO())
    return out.getvalue().strip().removeprefix("http://127.0.0.1:8000")


def test_a_one_time_link_signs_a_locked_out_administrator_in_once(alice: User, settings: Any) -> None:
    settings.SECOND_FACTOR_ROLES = ["all"]
    connect_app(alice)
    address, client = link(), Client()
    assert ("alice" in client.get(address).text, is_in(client)) == (True, False)
    assert client.post(address).headers["Location"] == SECURITY
    assert is_in(client)
    again = Client()
    assert (again.post(address).status_code, is_in(again)) == (403, False)
    entries = AuditEntry.objects.filter(action__in=["sign_in_link", "logged_in"]).order_by("pk")
    assert list(entries.values_list("action", "source")) == [("sign_in_link", "command"), ("logged_in", "admin")]
    assert entries[1].details["methods"] == ["one_time_link"]


def test_a_one_time_link_ends_after_its_time_and_with_the_account(alice: User) -> None:
    address = link("--remove-second-factors")
    with time_machine.travel(timezone.now() + LIFETIME * 2):
        assert Client().get(address).status_code == 403
    User.objects.update(is_superuser=False)
    assert Client().post(address).status_code == 403
    for garbage in ("/admin/login/link/x/y/", "/admin/login/link/MQ/c-1/"):
        assert Client().get(garbage).status_code == 403


def test_the_command_removes_lost_factors_and_helps_administrators_alone(alice: User) -> None:
    connect_app(alice)
    link("--remove-second-factors")
    assert not Authenticator.objects.exists()
    User.objects.create_user("bob", is_staff=True)
    for name, message in (("bob", "no active administrator"), ("eve", "no user")):
        with pytest.raises(CommandError, match=message):
            call_command("sign_in_link", name)
