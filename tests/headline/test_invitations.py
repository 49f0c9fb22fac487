"""People are invited by mail, and never locked out of their newsroom."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.core import mail
from django.test import Client

from articles.models import AuditEntry, Preferences
from articles.notifications import choose_language
from articles.roles import Role
from headline.accounts.links import MAIL
from headline.api.models import ApiToken
from headline.api.tokens import issue
from scheduling.workers.side_effects import run_side_effects
from tests.articles.factories import make_member
from tests.headline.test_reset import ask, use

USERS, ADD = "/admin/auth/user/", "/admin/auth/user/add/"
NEW = "a new and long one"

pytestmark = pytest.mark.django_db


@pytest.fixture
def root() -> User:
    return User.objects.create_superuser("root", "root@example.org", "correct horse")


@pytest.fixture
def desk(root: User) -> Client:
    client = Client()
    client.force_login(root)
    return client


def invite(desk: Client, **typed: Any) -> Any:
    role = Group.objects.get(name=Role.REVIEWER)
    return desk.post(ADD, {"name": "Nora Vale", "email": "nora@example.org", "groups": [role.pk], **typed}, follow=True)


def sent() -> Any:
    run_side_effects([MAIL])
    return mail.outbox[-1]


def link() -> str:
    found = re.search(r"http://127\.0\.0\.1:8000(/admin/reset/\S+)", str(sent().body))
    assert found
    return found[1]


def change(desk: Client, user: User, **typed: Any) -> Any:
    boxes = {name: "on" for name in ("is_active", "is_staff", "is_superuser") if getattr(user, name)}
    names = {"name": user.get_full_name(), "username": user.username, "email": user.email}
    data = {**names, **boxes, "groups": [*user.groups.values_list("pk", flat=True)], **typed}
    sent = {name: value for name, value in data.items() if value is not None}
    return desk.post(f"{USERS}{user.pk}/change/", sent, follow=True)


def test_an_invited_user_sets_the_password_by_a_link_in_a_mail(desk: Client) -> None:
    assert "An invitation is sent to nora@example.org" in invite(desk).text
    nora = User.objects.get(username="nora@example.org")
    assert (nora.get_full_name(), nora.is_staff, nora.is_superuser) == ("Nora Vale", True, False)
    assert "Invited" in desk.get(USERS).text
    address = link()
    assert sent().to == ["nora@example.org"]
    assert "log in as “nora@example.org”" in Client().get(address, follow=True).text
    assert "The new password is set" in use(address, NEW).text
    client = Client()
    client.post("/admin/login/", {"username": "nora@example.org", "password": NEW})
    assert client.get("/admin/articles/queuedarticle/").status_code == 200
    assert "used before or has ended" in use(address, "another and long one").text
    recorded = AuditEntry.objects.filter(article_title="nora@example.org").order_by("pk")
    actions = [(entry.action, entry.user_name) for entry in recorded]
    assert actions == [
        ("add_user", "root"), ("change_user", "root"), ("invite_user", "root"), ("change_password", ""),
    ]  # fmt: skip


def test_an_invited_user_begins_with_the_language_of_the_inviting_user(desk: Client, root: User) -> None:
    choose_language(root, "zh-hans")
    invite(desk)
    assert Preferences.objects.get(user__username="nora@example.org").language == "zh-hans"


def test_an_invitation_lives_for_a_week_and_is_sent_again(desk: Client, settings: Any) -> None:
    invite(desk)
    first = link()
    settings.PASSWORD_RESET_TIMEOUT = 0  # the invitation is stamped ahead
    assert "log in as" in Client().get(first, follow=True).text
    settings.PASSWORD_RESET_TIMEOUT = -settings.INVITATION_TIMEOUT
    assert "get a new link by mail" in Client().get(first, follow=True).text
    settings.PASSWORD_RESET_TIMEOUT = 3600
    change(desk, User.objects.get(username="nora@example.org"), auth_user_resend="1")
    assert "The new password is set" in use(link(), NEW).text
    page = desk.get(f"{USERS}{User.objects.get(username='nora@example.org').pk}/change/").text
    assert "Send the invitation again" not in page


def test_an_invited_user_gets_a_new_link_from_the_log_in_page(desk: Client) -> None:
    invite(desk)
    run_side_effects([MAIL])
    ask("nora@example.org")
    assert "The new password is set" in use(link(), NEW).text
    assert len(mail.outbox) == 2


@pytest.mark.parametrize(
    ("typed", "error"),
    [
        ({"email": ""}, "This field is required."),
        ({"name": ""}, "This field is required."),
        ({"email": "ROOT@example.org"}, "root has this address already."),
        ({"groups": []}, "Choose at least one role."),
        ({"email": "nora"}, "Enter a valid email address."),
    ],
)
def test_an_invitation_that_lacks_something_says_what(desk: Client, typed: dict[str, Any], error: str) -> None:
    assert error in invite(desk, **typed).text
    assert User.objects.count() == 1


def test_only_administrators_invite() -> None:
    chief = Client()
    chief.force_login(make_member(Role.CHIEF))
    assert invite(chief).status_code == 403


def test_without_a_mail_server_the_administrator_hands_over_the_link(desk: Client, settings: Any) -> None:
    desk.get(ADD)  # the URLs, which are loaded once, are those of a newsroom with a mail server
    settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
    found = re.search(r"http://127\.0\.0\.1:8000(/admin/reset/[\w/-]+)", invite(desk).text)
    assert found and "EMAIL_URL" in invite(desk, email="other@example.org").text
    assert "The new password is set" in use(found[1], NEW).text


def test_a_deactivated_user_is_signed_out_for_good(desk: Client, root: User) -> None:
    nora = make_member(Role.REVIEWER, "nora")
    nora.save()
    issue(nora, by=nora, name="probe")
    client = Client()
    client.force_login(nora)
    assert "Deactivated" in change(desk, nora, is_active=None).text
    assert client.get("/admin/").status_code == 302
    assert not ApiToken.objects.exists()
    change(desk, User.objects.get(pk=nora.pk), is_active="on")
    assert client.get("/admin/").status_code == 302, "the session has ended"
    assert desk.get("/admin/").status_code == 200


@pytest.mark.parametrize("name", ["is_active", "is_superuser", "is_staff"])
def test_the_last_administrator_stays(desk: Client, root: User, name: str) -> None:
    assert "This is the last administrator" in change(desk, root, **{name: None}).text
    assert "This is the last administrator" in desk.get(f"{USERS}{root.pk}/delete/").text
    desk.post(f"{USERS}{root.pk}/delete/", {"post": "yes"})
    desk.post(USERS, {"action": "delete_selected", "_selected_action": [root.pk], "post": "yes"})
    other = User.objects.create_superuser("other", "", None)
    assert "This is the last administrator" in change(desk, root, **{name: None}).text, "the other has no password"
    other.set_password("correct horse")
    other.save()
    change(desk, root, **{name: None})
    assert not getattr(User.objects.get(pk=root.pk), name)


def test_all_administrators_are_not_deleted_at_once(desk: Client, root: User) -> None:
    other = User.objects.create_superuser("other", "", "correct horse")
    both = {"action": "delete_selected", "_selected_action": [root.pk, other.pk]}
    assert "This is the last administrator" in desk.post(USERS, both).text
    desk.post(USERS, both | {"post": "yes"})
    assert User.objects.filter(is_superuser=True).count() == 2


def test_a_user_without_raw_permissions_has_a_form_of_roles(desk: Client) -> None:
    nora = make_member(Role.REVIEWER, "nora")
    page = desk.get(f"{USERS}{nora.pk}/change/").text
    assert "Reads what is submitted, and approves or rejects it." in page
    assert "user_permissions" not in page and "pbkdf2" not in page
