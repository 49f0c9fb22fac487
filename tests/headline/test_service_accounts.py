"""Service accounts have no password, and no form signs them in: they act by tokens alone."""

from __future__ import annotations

from typing import Any

import pytest
from allauth.core.exceptions import ImmediateHttpResponse
from django.contrib.auth import authenticate
from django.contrib.auth.models import AnonymousUser, Group, User
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.test import Client, RequestFactory
from rest_framework.test import APIClient

from articles.audit import Action
from articles.models import AuditEntry
from articles.roles import Role
from headline.accounts.links import is_invited, link_of, may_have_link
from headline.accounts.one_time_link import sign_in_link
from headline.accounts.sign_in import SignInAdapter
from headline.accounts.single_sign_on import Identity, SignInRefused, admit
from headline.api.models import ApiToken, ServiceAccount
from headline.api.service_accounts import create_service_account
from headline.api.tokens import issue
from tests.articles.open_forms import sent_by

pytestmark = pytest.mark.django_db

PHRASE = "a long new phrase"


@pytest.fixture
def desk(root: User) -> Client:
    client = Client()
    client.force_login(root)
    return client


@pytest.fixture
def robot(root: User) -> User:
    roles = Group.objects.filter(name=Role.AUTHOR)
    return create_service_account(name="wire", purpose="Copy", roles=roles, by=root).user


def test_no_screen_operation_or_link_sets_a_password(desk: Client, root: User, robot: User, settings: Any) -> None:
    screen, api = f"/admin/auth/user/{robot.pk}/", APIClient()
    api.force_authenticate(root)
    asked = {"password1": PHRASE, "password2": PHRASE, "usable_password": "true"}
    assert desk.post(f"{screen}password/", asked).status_code == 403
    assert desk.post(f"{screen}change/", {"name": "Wire", "email": "wire@example.org"}).status_code == 403
    for path, body in (("", {"email": "wire@example.org"}), ("invite/", {}), ("unlink/", {})):
        method = api.post if path else api.patch
        assert method(f"/api/v1/desk/users/{robot.pk}/{path}", body).status_code == 403, path
    assert "Set a password" not in desk.get(f"{screen}change/").text
    User.objects.filter(pk=robot.pk).update(email="wire@example.org")
    robot.refresh_from_db()
    assert not is_invited(robot) and not may_have_link(robot)
    page = Client().get(link_of(robot).removeprefix(settings.SITE_URL), follow=True)
    assert page.status_code == 200 and "new_password1" not in page.text
    robot.set_password(PHRASE)
    with pytest.raises(ValidationError):
        robot.save()
    assert not User.objects.get(pk=robot.pk).has_usable_password()


def test_no_way_to_sign_in_lets_a_program_in(robot: User, settings: Any) -> None:
    User.objects.filter(pk=robot.pk).update(email="wire@example.org", is_superuser=True)
    robot.refresh_from_db()
    for password in ("", robot.password, PHRASE):
        assert authenticate(None, username="wire", password=password) is None
    settings.SSO_ROLES = {"desk": Role.AUTHOR}
    identity = Identity("wire@example.org", is_confirmed=True, name="Wire", groups=frozenset({"desk"}))
    with pytest.raises(SignInRefused, match="program"):
        admit(identity, linked=None)
    browser = Client()
    assert browser.post(sign_in_link(robot).removeprefix(settings.SITE_URL)).status_code == 403
    assert "_auth_user_id" not in browser.session
    request = RequestFactory().post("/admin/login/")
    request.user = AnonymousUser()
    with pytest.raises(ImmediateHttpResponse) as stopped:
        SignInAdapter(request).login(request, robot)
    assert "It acts by tokens" in stopped.value.response.content.decode()
    (refused,) = AuditEntry.objects.filter(action=Action.LOG_IN_FAILED, details__reason="program")
    assert refused.article_title == "wire"


def test_a_program_is_deactivated_on_its_screen(desk: Client, root: User, robot: User) -> None:
    issue(robot, by=root, name="wire")
    address = f"/admin/headline_api/serviceaccount/{robot.pk}/change/"
    sent = {"purpose": "Copy", "roles": [Group.objects.get(name=Role.AUTHOR).pk]}
    assert desk.post(address, {**sent, "is_active": "on"}).status_code == 302
    assert ApiToken.objects.exists()
    assert desk.post(address, sent).status_code == 302
    robot.refresh_from_db()
    assert (robot.is_active, ApiToken.objects.exists()) == (False, False)


def test_a_program_that_another_user_deactivated_stays_so(desk: Client, robot: User) -> None:
    address = f"/admin/headline_api/serviceaccount/{robot.pk}/change/"
    sent = sent_by(desk.get(address).text, "serviceaccount_form")
    User.objects.filter(pk=robot.pk).update(is_active=False)
    robot.groups.set(Group.objects.filter(name=Role.EDITOR))
    assert desk.post(address, {**sent, "purpose": "Pictures"}).status_code == 302
    robot.refresh_from_db()
    found = ServiceAccount.objects.get(user=robot).purpose, robot.is_active, robot.groups.get().name
    assert found == ("Pictures", False, Role.EDITOR)


def test_a_program_is_deleted_with_its_user_and_tokens(desk: Client, root: User, robot: User) -> None:
    issue(robot, by=root, name="feed")
    assert desk.post(f"/admin/auth/user/{robot.pk}/delete/", {"post": "yes"}).status_code == 302
    assert not (User.objects.filter(pk=robot.pk).exists() or ApiToken.objects.exists())


def test_an_impossible_number_of_a_program_is_unknown(root: User) -> None:
    api = APIClient()
    api.force_authenticate(root)
    for pk in (0, 2**63, 10**40):
        address = f"/api/v1/desk/service-accounts/{pk}/"
        assert [api.get(address).status_code, api.patch(address, {"purpose": "x"}).status_code] == [404, 404]


def test_a_command_gives_a_program_no_password(robot: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("getpass.getpass", lambda **_options: PHRASE)
    with pytest.raises(ValidationError):
        call_command("changepassword", "wire")
