"""Second factors: an app and recovery codes, required for roles, limited, and used once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from articles.models import AuditEntry, CalendarFeed
from articles.publishing.previews import make_preview_link
from articles.roles import Role
from headline.accounts.factor_forms import CODES
from headline.accounts.sessions import end_sessions
from headline.api.models import ApiToken
from headline.api.tokens import issue
from headline.checks import check_roles
from tests.articles.factories import make_article
from tests.headline.authenticator import code, connect_app, log_in, wrong_code

PASSWORD = "correct horse"
CODE, SECURITY = "/admin/login/code/", "/admin/security/"

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice() -> User:
    return User.objects.create_superuser("alice", "alice@example.org", PASSWORD)


@pytest.fixture
def with_app(alice: User) -> User:
    connect_app(alice)
    return alice


def signed_in(**options: Any) -> Client:
    client = Client(**options)
    assert log_in(client, "alice", PASSWORD) == "/admin/"
    return client


def is_in(client: Client) -> bool:
    return client.get("/admin/articles/article/").status_code == 200


def actions() -> list[str]:
    return list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))


def test_an_app_is_connected_and_asked_for_at_the_next_log_in(alice: User) -> None:
    client = signed_in()
    page = client.get(f"{SECURITY}app/add/")
    secret = page.context["form"].secret
    assert "data:image/svg+xml" in page.text
    assert client.post(f"{SECURITY}app/add/", {"code": wrong_code()}).status_code == 200
    done = client.post(f"{SECURITY}app/add/", {"code": code(secret)})
    assert done.headers["Location"] == f"{SECURITY}codes/"
    codes = client.get(f"{SECURITY}codes/")
    recovery = codes.context["unused_codes"]
    assert (len(recovery), recovery[0] in codes.text) == (10, True)
    assert recovery[0] not in client.get(f"{SECURITY}codes/").text
    assert secret not in str(list(Authenticator.objects.values_list("data", flat=True)))
    client.post("/admin/logout/")

    assert log_in(client, "alice", PASSWORD, "/admin/articles/article/") == CODE
    assert not is_in(client)
    assert client.post(CODE, {"code": code(secret, periods=1)}).headers["Location"] == "/admin/articles/article/"
    assert is_in(client)
    assert actions()[1:] == [
        "logged_in", "log_in_failed", "add_second_factor", "new_recovery_codes", "logged_in",
    ]  # fmt: skip
    assert AuditEntry.objects.latest("pk").details["methods"] == ["password", "totp"]
    assert set(AuditEntry.objects.exclude(action="add_user").values_list("user_name")) == {("alice",)}


def test_a_recovery_code_works_once(with_app: User) -> None:
    client = Client()
    log_in(client, "alice", PASSWORD)
    client.post(CODE, {"code": code()})
    client.post(f"{SECURITY}confirm/code/?next={SECURITY}codes/new/", {"code": code(periods=1)})
    assert client.post(f"{SECURITY}codes/new/").status_code == 302
    recovery = client.get(f"{SECURITY}codes/").context["unused_codes"]
    for expected in (302, 200):
        other = Client()
        log_in(other, "alice", PASSWORD)
        assert other.post(CODE, {"code": recovery[3]}).status_code == expected
    assert "There are" not in client.get(SECURITY).text
    assert "9 codes are left" in client.get(SECURITY).text


def test_codes_cannot_be_guessed(with_app: User) -> None:
    client = Client()
    log_in(client, "alice", PASSWORD)
    codes = [client.post(CODE, {"code": wrong_code()}).status_code for _ in range(CODES.burst + 1)]
    assert codes == [200] * CODES.burst + [429]
    refused = client.post(CODE, {"code": code()})
    assert (refused.status_code, is_in(client)) == (429, False)
    assert 0 < int(refused.headers["Retry-After"]) <= 300
    assert "Try again in" in refused.text
    assert actions().count("locked_out") == 1


def test_a_code_works_once(with_app: User) -> None:
    first, second, typed = Client(), Client(), code(periods=1)  # one code, though its period may end between the two
    for client in (first, second):
        log_in(client, "alice", PASSWORD)
        client.post(CODE, {"code": typed})
    assert (is_in(first), is_in(second)) == (True, False)


def test_the_second_step_needs_the_first_and_ends_with_it(with_app: User) -> None:
    assert Client().get(CODE).headers["Location"] == "/admin/login/"
    client = Client()
    log_in(client, "alice", PASSWORD)
    for address in ("/admin/", "/api/v1/desk/articles/", f"{SECURITY}app/add/"):
        assert client.get(address).status_code in (302, 401)
    User.objects.update(is_active=False)
    client.post(CODE, {"code": code()})
    assert not is_in(client)


def test_an_unfinished_sign_in_ends_with_the_password_the_account_and_the_sessions(with_app: User) -> None:
    deactivated, old_password, ended = Client(), Client(), Client()
    log_in(deactivated, "alice", PASSWORD)
    User.objects.update(is_active=False)
    refused = deactivated.post(CODE, {"code": code()})
    User.objects.update(is_active=True)
    assert (refused.status_code, is_in(deactivated)) == (403, False)
    log_in(ended, "alice", PASSWORD)
    end_sessions(with_app)
    assert ended.get(CODE).status_code == 302
    log_in(old_password, "alice", PASSWORD)
    with_app.set_password("another horse")
    with_app.save()
    assert old_password.get(CODE).status_code == 302


def test_the_first_factor_ends_sessions_that_began_without_one(alice: User, settings: Any) -> None:
    settings.SECOND_FACTOR_ROLES = ["all"]
    stolen, own = signed_in(), signed_in()
    ApiToken.objects.issue(alice, name="stolen", expires_at=timezone.now() + timedelta(days=1))
    secret = own.get(f"{SECURITY}app/add/").context["form"].secret
    own.post(f"{SECURITY}app/add/", {"code": code(secret)})
    assert (is_in(own), is_in(stolen)) == (True, False)
    assert not ApiToken.objects.exists()


def test_a_role_requires_a_second_factor(alice: User, settings: Any) -> None:
    settings.SECOND_FACTOR_ROLES = [Role.EDITOR]
    client = signed_in()
    assert is_in(client)
    alice.groups.add(Group.objects.get(name=Role.EDITOR))
    assert client.get("/admin/articles/article/").headers["Location"] == SECURITY
    assert client.get("/api/v1/desk/articles/").status_code in (401, 403)
    assert "Your role needs a second factor" in client.get(SECURITY).text
    secret = client.get(f"{SECURITY}app/add/").context["form"].secret
    client.post(f"{SECURITY}app/add/", {"code": code(secret)})
    assert is_in(client)
    assert client.get("/api/v1/desk/articles/").status_code == 200
    refused = client.post(f"{SECURITY}app/remove/")
    assert (refused.status_code, Authenticator.objects.filter(type="totp").count()) == (200, 1)
    settings.SECOND_FACTOR_ROLES = []
    assert client.post(f"{SECURITY}app/remove/").status_code == 302
    assert (Authenticator.objects.exists(), actions()[-1]) == (False, "remove_second_factor")


@pytest.mark.parametrize("roles", [["all"], ["Administrator"]])
def test_everyone_or_administrators_may_be_required_to_have_one(alice: User, settings: Any, roles: list[str]) -> None:
    client = signed_in()
    settings.SECOND_FACTOR_ROLES = roles
    assert client.get("/admin/").headers["Location"] == SECURITY
    User.objects.update(is_superuser=False)
    assert (client.get("/admin/").status_code == 302) == (roles == ["all"])


def test_a_session_without_the_required_factor_is_a_reader(alice: User, settings: Any) -> None:
    client = signed_in()
    settings.SECOND_FACTOR_ROLES = ["all"]
    assert client.get("/").status_code == 200
    assert not client.get("/", follow=True).wsgi_request.user.is_authenticated


def test_an_api_token_needs_more_than_a_password(with_app: User, settings: Any) -> None:
    credentials = {"username": "alice", "password": PASSWORD}
    refused = Client().post("/api/v1/token/", credentials, content_type="application/json")
    assert (refused.status_code, "My API tokens" in refused.text) == (400, True)
    Authenticator.objects.all().delete()
    settings.SECOND_FACTOR_ROLES = ["all"]
    assert Client().post("/api/v1/token/", credentials, content_type="application/json").status_code == 400
    assert not ApiToken.objects.exists()


def test_what_acts_without_a_session_obeys_the_second_factor(alice: User, settings: Any) -> None:
    """An API token, a calendar feed and a preview link that the user made before a role needed a factor."""
    _token, secret = issue(alice, by=alice, name="probe")
    feed = reverse("calendar-file", args=[CalendarFeed.objects.renew(alice).secret])
    link = make_preview_link(make_article("Bridge"), by=alice, lasts=timedelta(days=1)).get_absolute_url()

    def statuses() -> list[int]:
        desk = Client().get("/api/v1/desk/articles/", headers={"Authorization": f"Token {secret}"})
        return [desk.status_code, *(Client().get(address).status_code for address in (feed, link))]

    assert statuses() == [200, 200, 200]
    settings.SECOND_FACTOR_ROLES = [Role.CHIEF]
    assert statuses() == [200, 200, 200]
    alice.groups.add(Group.objects.get(name=Role.CHIEF))
    assert statuses() == [401, 404, 404]
    settings.SECOND_FACTOR_AT_PROVIDER = True
    assert statuses() == [401, 404, 404]
    account = SocialAccount.objects.create(user=alice, provider="oidc", uid="42")
    assert statuses() == [200, 200, 200]
    account.delete()
    connect_app(alice)
    assert statuses() == [401, 404, 200]  # the first factor ends what a password alone could have made


def test_changes_ask_for_the_password_once_more(alice: User) -> None:
    client = Client()
    client.force_login(alice)
    asked = client.get(f"{SECURITY}app/add/")
    assert asked.headers["Location"].startswith(f"{SECURITY}confirm/password/?next=")
    wrong = client.post(asked.headers["Location"], {"password": "wrong"})
    assert (wrong.status_code, "Incorrect password" in wrong.text) == (200, True)
    confirmed = client.post(asked.headers["Location"], {"password": PASSWORD})
    assert confirmed.headers["Location"] == f"{SECURITY}app/add/"
    outside = client.post(f"{SECURITY}confirm/password/?next=https://evil.example.org/", {"password": PASSWORD})
    assert outside.headers["Location"] == "/admin/"


def test_a_new_secret_key_is_a_clear_error(with_app: User, settings: Any) -> None:
    old, settings.SECRET_KEY = settings.SECRET_KEY, "another key"
    client = Client()
    log_in(client, "alice", PASSWORD)
    assert "has a new secret key" in client.post(CODE, {"code": code()}).text
    settings.SECRET_KEY_FALLBACKS = [old]
    client = Client()
    log_in(client, "alice", PASSWORD)
    assert client.post(CODE, {"code": code()}).status_code == 302


def test_a_misspelt_role_is_reported(settings: Any) -> None:
    settings.SECOND_FACTOR_ROLES, settings.SSO_ROLES = [Role.EDITOR, "all"], {"a": "Edtor"}
    (warning,) = check_roles(None, databases=["default"])
    assert "do not exist: Edtor." in warning.msg
    assert check_roles(None) == []
