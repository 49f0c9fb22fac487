"""A user whom two change at the same time: no right comes back."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.db import connection, transaction
from django.test import Client
from django.urls import reverse

from headline.accounts.links import link_of
from headline.accounts.password_forms import LimitedPasswordChangeForm
from headline.accounts.reset import NewPasswordForm
from headline.accounts.single_sign_on import give_roles
from headline.api.models import ServiceAccount
from headline.api.service_accounts import create_service_account
from tests.articles.factories import make_user
from tests.articles.open_forms import sent_by
from tests.articles.publishing.test_races import together
from tests.articles.releases.test_races import someone_waits
from tests.harness import PATIENCE, eventually

pytestmark = pytest.mark.django_db

PASSWORD = "Long enough 77"  # noqa: S105 (of a test)


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def boss() -> User:
    return make_user("boss", is_superuser=True)


@pytest.fixture
def bob() -> User:
    return make_user("bob", is_superuser=True)


def deactivates_after(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, user: User) -> None:
    """Another user deactivates this one after a step of the request."""
    step = getattr(owner, name)

    def followed(*arguments: Any, **options: Any) -> Any:
        result = step(*arguments, **options)
        User.objects.filter(pk=user.pk).update(is_active=False, is_superuser=False)
        return result

    monkeypatch.setattr(owner, name, followed)


def is_out_with_the_new_password(user: User) -> bool:
    user.refresh_from_db()
    return (user.is_active, user.is_superuser, user.check_password(PASSWORD)) == (False, False, True)


def test_who_changes_the_own_password_stays_deactivated(bob: User, monkeypatch: pytest.MonkeyPatch) -> None:
    deactivates_after(monkeypatch, LimitedPasswordChangeForm, "is_valid", bob)
    sent = {"old_password": "secret", "new_password1": PASSWORD, "new_password2": PASSWORD}
    client_of(bob).post("/admin/password_change/", sent)
    assert is_out_with_the_new_password(bob)


def test_who_gets_another_password_stays_deactivated(boss: User, bob: User, monkeypatch: pytest.MonkeyPatch) -> None:
    client = client_of(boss)
    client.get("/admin/")  # which registers the screens
    deactivates_after(monkeypatch, admin.site.get_model_admin(User), "get_object", bob)
    address = reverse("admin:auth_user_password_change", args=[bob.pk])
    client.post(address, {"password1": PASSWORD, "password2": PASSWORD})
    assert is_out_with_the_new_password(bob)


def test_who_uses_a_link_for_a_password_stays_deactivated(bob: User, monkeypatch: pytest.MonkeyPatch) -> None:
    User.objects.filter(pk=bob.pk).update(email="bob@example.org")
    bob.refresh_from_db()
    client = Client()
    opened = client.get(link_of(bob).removeprefix("http://testserver"), follow=True)
    deactivates_after(monkeypatch, NewPasswordForm, "is_valid", bob)
    client.post(opened.redirect_chain[-1][0], dict.fromkeys(("new_password1", "new_password2"), PASSWORD))
    assert is_out_with_the_new_password(bob)


def test_of_two_users_the_one_who_is_not_deleted_is_deactivated(
    boss: User, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_user("other")

    def delete_first(*_users: User) -> bool:
        User.objects.filter(pk=other.pk).delete()
        return False

    monkeypatch.setattr("headline.accounts.staff.are_last_administrators", delete_first)
    sent = {"action": "delete_selected", "_selected_action": [bob.pk, other.pk], "deactivate": "1"}
    assert client_of(boss).post("/admin/auth/user/", sent).status_code == 302
    assert not User.objects.get(pk=bob.pk).is_active


def api_takes(account: ServiceAccount, boss: User, role: Group) -> Callable[[], Any]:
    address = f"/api/v1/desk/service-accounts/{account.pk}/"
    return lambda: client_of(boss).patch(address, {"roles": [role.name]}, content_type="application/json")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", ["service account", "single sign-on"])
def test_a_role_that_is_taken_while_a_form_is_saved_stays_so(boss: User, kind: str, settings: Any) -> None:
    if not connection.features.has_select_for_update:
        pytest.skip("SQLite has no row locks")
    kept, taken = Group.objects.create(name="Kept"), Group.objects.create(name="Taken")
    settings.SSO_ROLES = {"kept": "Kept", "taken": "Taken"}
    if kind == "service account":
        account = create_service_account(name="robot", purpose="p", roles=[kept, taken], by=boss)
        user, address = account.user, reverse("admin:headline_api_serviceaccount_change", args=[account.pk])
        form, typed = "serviceaccount_form", {"purpose": "Changed"}
    else:
        user = make_user("bob")
        user.groups.set([kept, taken])
        address = reverse("admin:auth_user_change", args=[user.pk])
        form, typed = "user_form", {"email": "bob@example.org"}
    client, held = client_of(boss), Event()
    sent = dict(sent_by(client.get(address).text, form))

    def take() -> None:
        with transaction.atomic():
            if kind == "service account":
                assert api_takes(account, boss, kept)().status_code == 200
            else:
                give_roles(user, [kept])
            held.set()
            eventually(someone_waits)

    def save() -> int:
        held.wait(PATIENCE)
        return client.post(address, {**sent, **typed}).status_code

    assert together(take, save) == [None, 302]
    assert [*user.groups.all()] == [kept]


@pytest.mark.django_db(transaction=True)
def test_a_user_whose_invitation_fails_is_not_stored(boss: User, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: Any, **_options: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr("headline.accounts.api.invite", fail)
    sent = {"name": "Eve", "email": "eve@example.org", "is_superuser": True}
    with pytest.raises(RuntimeError):
        client_of(boss).post("/api/v1/desk/users/", sent, content_type="application/json")
    assert not User.objects.filter(email="eve@example.org").exists()
