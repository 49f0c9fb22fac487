"""API tokens: issued by API or admin, hashed, with scopes and expiry, revocable."""

from __future__ import annotations

import re
from datetime import timedelta
from importlib import import_module
from typing import Any

import pytest
import time_machine
from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from articles.limits import MOST_TOKENS
from articles.models import AuditEntry
from headline.api.models import ApiToken, Scope
from headline.api.tokens import issue
from tests.articles.factories import make_article, make_editor, make_user, soon

URL = "/api/v1/token/"
DESK, TASKS = "/api/v1/desk/articles/", "/api/v1/tasks/"
PASSWORD = "correct horse"  # noqa: S105
TOKENS = "/admin/headline_api/apitoken/"

pytestmark = pytest.mark.django_db


def ask(username: Any = "alice", password: Any = PASSWORD, **more: Any) -> Any:
    return APIClient().post(URL, {"username": username, "password": password, **more})


def program(token: str) -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Token {token}")
    return client


def signs_in(token: str) -> bool:
    return bool(program(token).get(DESK).status_code == 200)


def desk_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def alice() -> User:
    return User.objects.create_superuser("alice", password=PASSWORD)


@pytest.fixture
def token(alice: User) -> str:
    return issue(alice, by=alice, name="probe")[1]


def test_staff_get_a_token_that_signs_them_in(alice: User) -> None:
    first, second = ask().json()["token"], ask().json()["token"]
    assert signs_in(first) and signs_in(second)


def test_a_form_is_accepted_as_curl_sends_it(client: Client, alice: User) -> None:
    body = f"username=alice&password={PASSWORD}"
    response = client.post(URL, body, content_type="application/x-www-form-urlencoded")
    assert response.json().keys() == ask().json().keys()
    assert signs_in(response.json()["token"])


def test_every_wrong_pair_gets_the_same_error(alice: User) -> None:
    User.objects.create_user("reader", password=PASSWORD)
    User.objects.create_user("gone", password=PASSWORD, is_staff=True, is_active=False)
    responses = [ask(password="wrong"), ask("nobody"), ask("reader"), ask("gone")]  # noqa: S106
    assert {(response.status_code, response.content) for response in responses} == {(400, responses[0].content)}
    assert responses[0].json()["code"] == "wrong_credentials"


@pytest.mark.parametrize("username", [None, "", "x" * 1000, ["alice"], {"a": 1}, "a\0b", 7])
def test_a_malformed_name_is_refused(alice: User, username: Any) -> None:
    assert ask(username).status_code == 400


@pytest.mark.parametrize("more", [{"scopes": ["admin"]}, {"scopes": "desk:read"}, {"name": "x" * 81}, {"name": ""}])
def test_a_malformed_token_request_is_refused(alice: User, more: Any) -> None:
    assert ask(**more).status_code == 400
    assert not ApiToken.objects.exists()


def test_guessing_is_slowed_down(alice: User) -> None:
    codes = [ask(password="wrong").status_code for _ in range(10)]  # noqa: S106
    late = ask()
    assert codes == [400] * 10
    assert (late.status_code, late.json()["code"]) == (429, "throttled")
    assert int(late.headers["Retry-After"]) > 0


def test_an_unknown_token_is_refused() -> None:
    response = program("forged").get("/api/v1/tasks/")
    assert (response.status_code, response.json()["code"]) == (401, "authentication_failed")


@pytest.mark.parametrize(
    "header", ["Token", "Token ", "Token a b", "Token ü", "token x", "Bearer x", "Token " + "x" * 9000]
)
def test_a_malformed_token_authenticates_no_one(alice: User, header: str) -> None:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=header)
    assert client.get(DESK).status_code == 401


def test_no_copy_of_the_database_holds_a_token_that_works(token: str) -> None:
    assert token not in str(list(ApiToken.objects.values()))
    assert not signs_in(ApiToken.objects.get().digest)


def test_a_token_ends_at_its_time(token: str) -> None:
    assert signs_in(token)
    left = ApiToken.objects.get().expires_at - timezone.now()
    assert timedelta(days=89) < left <= settings.API_TOKEN_LIFETIME
    ApiToken.objects.update(expires_at=timezone.now())
    assert not signs_in(token)


def test_a_new_password_ends_all_tokens(alice: User, token: str) -> None:
    new = "a new and long one"
    sent = {"old_password": PASSWORD, "new_password1": new, "new_password2": new}
    assert desk_of(alice).post("/admin/password_change/", sent).status_code == 302
    assert not signs_in(token)
    assert AuditEntry.objects.filter(action="revoke_token", article_title="probe").exists()
    assert AuditEntry.objects.filter(action="change_password", article_title="alice", user_name="alice").exists()


def test_a_password_that_an_administrator_sets_ends_them_too(token: str) -> None:
    root, alice = User.objects.create_superuser("root"), User.objects.get(username="alice")
    sent = {"password1": "a new and long one", "password2": "a new and long one", "usable_password": "true"}
    assert desk_of(root).post(f"/admin/auth/user/{alice.pk}/password/", sent).status_code == 302
    assert not signs_in(token)


def test_rehashing_the_same_password_revokes_nothing(token: str, settings: Any) -> None:
    """As Django does at a log-in after an upgrade raised the iterations."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.ScryptPasswordHasher", *settings.PASSWORD_HASHERS]
    before = User.objects.get().password
    assert ask().status_code == 200
    assert User.objects.get().password != before
    assert signs_in(token)


def test_deactivation_ends_them_for_good(alice: User, token: str) -> None:
    alice.is_active = False
    alice.save()
    assert not signs_in(token)
    alice.is_active = True
    alice.save()
    assert not signs_in(token)


def test_a_deactivation_without_a_signal_counts_too(token: str) -> None:
    User.objects.update(is_active=False)
    assert not signs_in(token)


@pytest.mark.parametrize(
    ("scope", "allowed"),
    [
        ("desk:read", {("GET", DESK)}),
        ("desk:write", {("POST", DESK)}),
        ("tasks:read", {("GET", TASKS)}),
        ("tasks:write", {("POST", TASKS)}),
    ],
)
def test_a_token_does_only_what_its_scope_says(alice: User, scope: str, allowed: set[tuple[str, str]]) -> None:
    client = program(ask(scopes=[scope]).json()["token"])
    for method, address in (("GET", DESK), ("POST", DESK), ("GET", TASKS), ("POST", TASKS)):
        response = client.generic(method, address, "{}", content_type="application/json")
        is_refused = response.status_code == 403 and response.json()["code"] == "scope_missing"
        assert is_refused == ((method, address) not in allowed), (method, address, response.content)


def test_a_read_only_token_allows_no_transition(alice: User) -> None:
    article = make_article(author=alice)
    client = program(ask(scopes=["desk:read", "tasks:write"]).json()["token"])
    for transition in ("submit", "approve", "publish", "retract"):
        assert client.post(f"{DESK}{article.pk}/{transition}/").json()["code"] == "scope_missing"
    assert client.patch(f"{DESK}{article.pk}/", {"title": "Mine"}).json()["code"] == "scope_missing"


@pytest.mark.parametrize("lost", ["is_staff", "is_active", "permission"])
def test_programs_need_staff_an_active_account_and_the_permission_for_tasks(lost: str) -> None:
    encoder = User.objects.create_user("encoder", is_staff=True)
    encoder.user_permissions.add(Permission.objects.get(codename="operate_tasks"))
    client = program(issue(encoder, by=encoder, name="encoder")[1])
    assert client.get(TASKS).status_code == 200
    if lost == "permission":
        encoder.user_permissions.clear()
    else:
        User.objects.filter(pk=encoder.pk).update(**{lost: False})
    assert client.get(TASKS).status_code in {401, 403}
    assert client.post(TASKS, {"task_type": "x", "execute_time": timezone.now()}).status_code in {401, 403}


def test_its_last_use_is_recorded(token: str) -> None:
    assert ApiToken.objects.get().last_used_at is None
    signs_in(token)
    used = ApiToken.objects.get().last_used_at
    assert used is not None
    signs_in(token)
    assert ApiToken.objects.get().last_used_at == used, "not written at each request"


def test_a_token_is_issued_on_its_screen_shown_once_and_revoked() -> None:
    editor = make_editor()
    desk = desk_of(editor)
    assert desk.get(f"{TOKENS}add/").context["adminform"].form["scopes"].value() in (None, [])
    page = desk.post(f"{TOKENS}add/", {"name": "Ticker", "scopes": ["desk:read"], "days": "7"})
    secret = re.search(r'id="secret">([\w-]{43})<', page.text)
    assert secret and {"no-store", "private"} <= set(page.headers["Cache-Control"].split(", "))
    assert signs_in(secret[1])
    issued = ApiToken.objects.get()
    assert (issued.user, issued.name, issued.scopes) == (editor, "Ticker", ["desk:read"])
    for address in (TOKENS, f"{TOKENS}{issued.pk}/change/", f"{TOKENS}{issued.pk}/delete/"):
        shown = desk.get(address).text
        assert "Ticker" in shown and secret[1] not in shown and issued.digest not in shown
    assert desk.post(f"{TOKENS}{issued.pk}/delete/", {"post": "yes"}).status_code == 302
    assert not signs_in(secret[1])
    actions = AuditEntry.objects.filter(article_title="Ticker").order_by("pk").values_list("action", "user_name")
    assert list(actions) == [("add_token", editor.username), ("revoke_token", editor.username)]
    assert secret[1] not in str(list(AuditEntry.objects.values()))


def test_users_cannot_issue_see_or_revoke_tokens_of_others(token: str) -> None:
    bob, alice = make_user("bob"), User.objects.get(username="alice")
    desk, pk = desk_of(bob), ApiToken.objects.get().pk
    assert "probe" not in desk.get(TOKENS).text
    for address in (f"{TOKENS}{pk}/change/", f"{TOKENS}{pk}/delete/"):
        assert "probe" not in desk.post(address, {"post": "yes"}, follow=True).text
    desk.post(TOKENS, {"action": "delete_selected", "_selected_action": [pk], "post": "yes"})
    desk.post(f"{TOKENS}add/", {"name": "Mine", "scopes": ["desk:read"], "days": "7", "user": alice.pk})
    assert signs_in(token)
    assert ApiToken.objects.get(name="Mine").user == bob


def test_an_administrator_issues_for_a_program_s_account_and_revokes_all(alice: User) -> None:
    encoder = make_user("encoder")
    desk = desk_of(alice)
    sent = {"name": "Encoder", "scopes": list(Scope), "days": "365", "user": encoder.pk}
    assert "not shown again" in desk.post(f"{TOKENS}add/", sent).text
    pk = ApiToken.objects.get(user=encoder).pk
    desk.post(TOKENS, {"action": "delete_selected", "_selected_action": [pk], "post": "yes"})
    assert not ApiToken.objects.exists()
    assert AuditEntry.objects.filter(action="revoke_token", user_name="alice").exists()


def test_a_program_that_requests_a_token_at_each_start_keeps_its_latest(alice: User) -> None:
    latest = issue(alice, by=alice, name="used")[1]
    ApiToken.objects.update(created_at=timezone.now() - timedelta(days=3))
    for _ in range(MOST_TOKENS + 1):
        ApiToken.objects.filter(name="used").update(last_used_at=timezone.now())
        last = ask().json()["token"]
    assert ApiToken.objects.count() == MOST_TOKENS
    assert signs_in(last) and signs_in(latest)


@pytest.mark.django_db(transaction=True)
def test_earlier_plain_tokens_are_hashed_and_still_work(alice: User) -> None:
    plain = "9944b09199c62bcf9418ad846dd0e4bbdfc6ee4b"
    migrations = MigrationLoader(None).disk_migrations
    (name,) = (name for app, name in migrations if app == "headline_api" and name.endswith("_api_tokens"))
    migration = import_module(f"headline.api.migrations.{name}")
    key = connection.ops.quote_name("key")
    with connection.schema_editor(atomic=False) as editor:
        editor.execute(f"CREATE TABLE authtoken_token ({key} varchar(40) PRIMARY KEY, user_id integer NOT NULL)")
        editor.execute(f"INSERT INTO authtoken_token ({key}, user_id) VALUES (%s, %s)", [plain, alice.pk])  # noqa: S608
        for _attempt in range(2):
            migration.hash_plain_tokens(apps, editor)
            migration.drop_plain_tokens(apps, editor)
    assert "authtoken_token" not in connection.introspection.table_names()
    assert signs_in(plain)
    assert ApiToken.objects.get().expires_at > timezone.now() + timedelta(days=89)


@pytest.mark.parametrize(("minutes", "left", "is_valid"), [(10, 5, True), (-10, -5, False)])
def test_the_database_says_whether_a_token_has_expired(alice: User, minutes: int, left: int, is_valid: bool) -> None:
    """Not the machine that serves the request, whose clock may be wrong."""
    if connection.vendor == "sqlite":
        pytest.skip("SQLite has no clock of its own")
    token, secret = issue(alice, by=alice, name="Sync", expires_at=soon(minutes=left))
    with time_machine.travel(timezone.now() + timedelta(minutes=minutes)):
        assert signs_in(secret) == is_valid
