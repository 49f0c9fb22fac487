"""Tokens and service accounts by API: issued, listed and revoked, and refused to whom they do not belong."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from articles.models import AuditEntry
from articles.roles import Role
from headline.api.models import ApiToken, Scope, ServiceAccount
from headline.api.tokens import issue
from tests.articles.factories import make_editor, make_member, make_user

TOKENS, ACCOUNTS, DESK = "/api/v1/desk/tokens/", "/api/v1/desk/service-accounts/", "/api/v1/desk/articles/"
READ, WRITE = Scope.DESK_READ.value, Scope.DESK_WRITE.value

pytestmark = pytest.mark.django_db


def client_of(user: User) -> APIClient:
    client = APIClient()
    client.force_login(user)
    return client


def program(secret: str, keyword: str = "Bearer") -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"{keyword} {secret}")
    return client


@pytest.fixture
def editor() -> User:
    return make_editor()


def test_both_schemes_sign_in(editor: User) -> None:
    secret = issue(editor, by=editor, name="probe")[1]
    statuses = [program(secret, keyword).get(DESK).status_code for keyword in ("Bearer", "bearer", "Token", "Basic")]
    assert statuses == [200, 200, 200, 401]
    assert APIClient().get(DESK).headers["WWW-Authenticate"] == "Bearer"


def test_a_user_issues_lists_and_revokes_tokens(editor: User) -> None:
    client = client_of(editor)
    made = client.post(TOKENS, {"name": "sync", "scopes": [READ], "days": 7})
    assert made.status_code == 201, made.content
    secret = made.json()["token"]
    assert program(secret).get(DESK).status_code == 200
    (listed,) = client.get(TOKENS).json()["results"]
    assert (listed["name"], listed["owner"], listed["scopes"]) == ("sync", "alice", [READ])
    assert listed["last_used_at"] and "token" not in listed and secret not in str(listed)
    assert client.delete(f"{TOKENS}{listed['id']}/").status_code == 204
    assert program(secret).get(DESK).status_code == 401
    actions = AuditEntry.objects.filter(article_title="sync").order_by("id").values_list("action", "user_name")
    assert list(actions) == [("add_token", "alice"), ("revoke_token", "alice")]


def test_the_tokens_of_others_are_hidden(editor: User, root: User) -> None:
    token, _secret = issue(root, by=root, name="of root")
    client = client_of(editor)
    assert client.get(TOKENS).json()["results"] == []
    assert client.delete(f"{TOKENS}{token.pk}/").status_code == 404
    assert ApiToken.objects.filter(pk=token.pk).exists()
    assert client.post(TOKENS, {"name": "x", "scopes": [READ], "owner": "root"}).status_code == 403


def test_a_token_issues_none_that_may_do_more_or_lasts_longer(editor: User) -> None:
    soon = timezone.now() + timedelta(days=2)
    narrow = program(issue(editor, by=editor, name="narrow", scopes=[READ, WRITE], expires_at=soon)[1])
    wider = narrow.post(TOKENS, {"name": "wider", "scopes": [READ, Scope.TASKS_WRITE]})
    assert (wider.status_code, wider.json()["code"]) == (400, "scope_missing")
    longer = narrow.post(TOKENS, {"name": "longer", "scopes": [READ], "days": 90})
    assert longer.status_code == 201
    assert ApiToken.objects.get(name="longer").expires_at == soon


def test_a_token_without_a_scope_may_do_nothing(editor: User) -> None:
    secret = issue(editor, by=editor, name="bare", scopes=[])[1]
    response = program(secret).get(DESK)
    assert (response.status_code, response.json()["code"]) == (403, "scope_missing")
    assert client_of(editor).post(TOKENS, {"name": "x", "scopes": []}).status_code == 400


def test_no_copy_of_a_response_keeps_a_secret(editor: User) -> None:
    asked = {"name": "x", "scopes": [READ]}
    response = client_of(editor).post(TOKENS, asked, headers={"Idempotency-Key": "k"})
    assert (response.status_code, response.json()["code"]) == (400, "idempotency_key_invalid")
    assert not ApiToken.objects.exists()


def test_the_token_of_who_needs_a_second_factor_is_refused(settings: Any, root: User) -> None:
    editor = make_member(Role.EDITOR)
    secret = issue(editor, by=editor, name="probe")[1]
    settings.SECOND_FACTOR_ROLES = ["Editor"]
    response = program(secret).get(DESK)
    assert (response.status_code, response.json()["code"]) == (401, "second_factor")
    made = client_of(root).post(ACCOUNTS, {"name": "wire", "roles": ["Editor"]})
    assert made.status_code == 201
    robot = ServiceAccount.objects.get().user
    assert program(issue(robot, by=root, name="wire")[1]).get(DESK).status_code == 200


def test_a_service_account_acts_by_tokens_alone(root: User) -> None:
    client = client_of(root)
    account = client.post(ACCOUNTS, {"name": "wire", "purpose": "Agency copy", "roles": ["Author"]}).json()
    assert (account["name"], account["roles"], account["is_active"]) == ("wire", ["Author"], True)
    issued = client.post(TOKENS, {"name": "wire", "scopes": [READ, WRITE], "owner": "wire"}).json()
    wire = program(issued["token"])
    assert wire.post(DESK, {"title": "Agency: bridge opens"}).status_code == 201
    assert AuditEntry.objects.get(action="create").user_name == "wire"
    robot = User.objects.get(username="wire")
    assert robot.has_usable_password() is False
    changed = client.patch(f"{ACCOUNTS}{robot.pk}/", {"is_active": False})
    assert (changed.status_code, changed.json()["is_active"]) == (200, False)
    assert wire.get(DESK).status_code == 401
    assert not ApiToken.objects.exists()


def test_a_service_account_gets_no_role_that_its_creator_lacks() -> None:
    manager = make_user("manager", "add_user", "change_user", "view_user")
    manager.groups.add(Group.objects.get(name=Role.AUTHOR))
    client = client_of(manager)
    refused = client.post(ACCOUNTS, {"name": "wire", "roles": ["Editor-in-chief"]})
    assert (refused.status_code, refused.json()["code"]) == (403, "not_allowed")
    assert not User.objects.filter(username="wire").exists()
    assert client.post(ACCOUNTS, {"name": "wire", "roles": ["Author"]}).status_code == 201
    assert client.post(ACCOUNTS, {"name": "wire", "roles": ["Author"]}).json()["code"] == "taken"
    assert client_of(make_member(Role.CHIEF)).get(ACCOUNTS).status_code == 403


def test_service_accounts_have_a_screen(root: User) -> None:
    desk = Client()
    desk.force_login(root)
    sent = {"name": "wire", "purpose": "Agency copy", "roles": [Group.objects.get(name=Role.AUTHOR).pk]}
    response = desk.post("/admin/headline_api/serviceaccount/add/", sent)
    assert response.status_code == 302, response.content.decode()
    account = ServiceAccount.objects.get()
    assert (account.user.username, account.purpose, account.created_by) == ("wire", "Agency copy", root)
    assert desk.get(f"/admin/headline_api/serviceaccount/{account.pk}/change/").status_code == 200
    assert "wire" in desk.get("/admin/headline_api/serviceaccount/").content.decode()
