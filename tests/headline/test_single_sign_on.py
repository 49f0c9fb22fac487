"""Single sign-on with a stub OpenID Connect provider: who gets in, with which roles, and who is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from allauth.socialaccount.models import SocialAccount, SocialToken
from cryptography.hazmat.primitives.asymmetric import rsa
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from articles.models import AuditEntry, SensitiveWord
from headline import env
from headline.accounts import single_sign_on
from headline.accounts.rate_limits import Limit
from headline.accounts.refusal import REFUSALS
from tests.harness import PATIENCE
from tests.headline.authenticator import code, connect_app
from tests.headline.identity_provider import IdentityProvider, identity_provider
from tests.headline.sign_in_results import groups_of, is_signed_in, reasons

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def running() -> Iterator[IdentityProvider]:
    with identity_provider() as provider:
        yield provider


@pytest.fixture
def provider(running: IdentityProvider, settings: Any) -> IdentityProvider:
    fresh = IdentityProvider(running.issuer)
    running.claims, running.broken = fresh.claims, fresh.broken
    settings.OIDC = running.settings()
    settings.SSO_ROLES = {"news-editors": "Editor", "news-chiefs": "Editor-in-chief", "gone": "No such role"}
    app = {"provider_id": "oidc", "name": "Company", **settings.OIDC}
    settings.SOCIALACCOUNT_PROVIDERS = {
        "openid_connect": {**settings.SOCIALACCOUNT_PROVIDERS["openid_connect"], "APPS": [app]}
    }
    return running


def sign_in(client: Client, next_url: str = "/admin/articles/article/") -> Any:
    """Start here, confirm at the provider, and come back."""
    return client.get(callback_of(client, next_url))


def callback_of(client: Client, next_url: str = "/admin/articles/article/") -> str:
    start = client.get("/admin/sso/", {"next": next_url})
    assert start.status_code == 302, start.text
    back = requests.get(start.headers["Location"], allow_redirects=False, timeout=PATIENCE).headers["Location"]
    return back.removeprefix("http://testserver")


def test_a_new_user_gets_an_account_with_the_mapped_roles(provider: IdentityProvider) -> None:
    client = Client()
    response = sign_in(client)
    user = User.objects.get()
    assert (response.status_code, response.headers["Location"]) == (302, "/admin/articles/article/")
    assert (user.username, user.email, user.first_name) == ("eva@example.org", "eva@example.org", "Eva Editor")
    assert (user.is_staff, user.is_superuser, user.has_usable_password()) == (True, False, False)
    assert groups_of(user) == ["Editor"]
    assert client.get("/admin/articles/article/").status_code == 200
    assert (SocialAccount.objects.get().extra_data, SocialToken.objects.exists()) == (
        {"issuer": provider.issuer},
        False,
    )
    entry = AuditEntry.objects.get(action="logged_in")
    assert (entry.user_id, entry.details["methods"]) == (user.pk, ["socialaccount"])


def test_a_later_name_of_the_provider_changes_none_and_a_forbidden_one_is_left_out(provider: IdentityProvider) -> None:
    SensitiveWord.objects.create(text="zanzibar", level=SensitiveWord.Level.BLOCK)
    provider.claims["name"] = "Zanzibar"
    sign_in(Client())
    assert User.objects.get().get_full_name() == ""
    provider.claims["name"] = "Eva"
    sign_in(Client())
    assert User.objects.get().get_full_name() == ""


def test_the_log_in_page_offers_it_only_when_it_is_configured(provider: IdentityProvider, settings: Any) -> None:
    assert "/admin/sso/?next=" in Client().get("/admin/login/").text
    settings.OIDC = {}
    settings.SOCIALACCOUNT_PROVIDERS = {}
    assert "/admin/sso/" not in Client().get("/admin/login/").text
    assert Client().get("/admin/sso/").status_code == 404


def test_a_second_factor_is_asked_for_unless_the_provider_does_that(provider: IdentityProvider, settings: Any) -> None:
    sign_in(client := Client())
    settings.SECOND_FACTOR_ROLES = ["Editor"]
    assert client.get("/admin/").headers["Location"] == "/admin/security/"
    settings.SECOND_FACTOR_AT_PROVIDER = True
    assert client.get("/admin/").status_code == 200
    connect_app(User.objects.get())
    assert sign_in(other := Client()).headers["Location"] == "/admin/login/code/"
    assert other.post("/admin/login/code/", {"code": code()}).headers["Location"] == "/admin/articles/article/"
    assert SocialAccount.objects.get().extra_data == {"issuer": provider.issuer}


def test_roles_follow_the_provider_and_roles_that_it_does_not_manage_stay(provider: IdentityProvider) -> None:
    sign_in(Client())
    user = User.objects.get()
    user.groups.create(name="Chess club")
    provider.claims |= {"groups": ["news-chiefs", "others"], "email": "eva.new@example.org"}
    sign_in(Client())
    assert groups_of(user) == ["Chess club", "Editor-in-chief"]
    provider.claims["groups"] = ["others"]
    client = Client()
    refused = sign_in(client)
    assert (refused.status_code, is_signed_in(client), groups_of(user)) == (403, False, ["Chess club"])


@pytest.mark.parametrize("groups", [[], ["others"], ["gone"], "others", None, {"news-editors": 1}, [["news-editors"]]])
def test_without_a_mapped_role_there_is_no_account(provider: IdentityProvider, groups: Any) -> None:
    provider.claims["groups"] = groups
    refused = sign_in(Client())
    assert refused.status_code == 403
    assert "None of your groups has a role in the newsroom" in refused.text
    assert not User.objects.exists()
    assert reasons() == ["no_role"]


def test_groups_may_be_inside_another_claim(provider: IdentityProvider, settings: Any) -> None:
    settings.OIDC_GROUPS_CLAIM = "realm_access.roles"
    provider.claims |= {"groups": None, "realm_access": {"roles": ["news-chiefs"]}}
    sign_in(Client())
    assert groups_of(User.objects.get()) == ["Editor-in-chief"]


def test_an_account_with_the_confirmed_address_is_linked_and_an_administrator_stays_one(
    provider: IdentityProvider,
) -> None:
    eva = User.objects.create_superuser("eva", "Eva@example.org", "correct horse")
    client = Client()
    assert sign_in(client).status_code == 302
    eva.refresh_from_db()
    assert client.session["_auth_user_id"] == str(eva.pk)
    assert (eva.is_superuser, groups_of(eva), eva.check_password("correct horse")) == (True, [], True)
    provider.claims["email"] = "other@example.org"
    sign_in(other := Client())
    assert other.session["_auth_user_id"] == str(eva.pk)


def test_a_reused_address_takes_over_no_linked_account(provider: IdentityProvider) -> None:
    sign_in(Client())
    provider.claims["sub"] = "43"
    refused = sign_in(client := Client())
    assert (refused.status_code, is_signed_in(client), reasons()) == (403, False, ["email_reused"])

    admin, eva = Client(), User.objects.get()
    admin.force_login(User.objects.create_superuser("root", "root@example.org", "correct horse"))
    form = f"/admin/auth/user/{eva.pk}/change/"
    assert "Unlink single sign-on" in admin.get(form).text
    fields = {"name": "Eva", "email": eva.email, "username": eva.username, "is_active": "on", "is_staff": "on"}
    admin.post(form, {**fields, "auth_user_unlink": "1"})
    assert (sign_in(client).status_code, client.session["_auth_user_id"]) == (302, str(eva.pk))
    links = AuditEntry.objects.filter(action__endswith="link_identity").values_list("action", flat=True).order_by("pk")
    assert [*links] == ["link_identity", "unlink_identity", "link_identity"]


@pytest.mark.parametrize("is_verified", [False, "true", None, 1])
def test_an_unconfirmed_address_takes_over_no_account(provider: IdentityProvider, is_verified: Any) -> None:
    User.objects.create_user("eva", "eva@example.org", "correct horse", is_staff=True)
    provider.claims["email_verified"] = is_verified
    client = Client()
    assert sign_in(client).status_code == 403
    assert (is_signed_in(client), User.objects.count(), reasons()) == (False, 1, ["email_unconfirmed"])


def test_the_confirmation_of_one_address_does_not_confirm_another(provider: IdentityProvider) -> None:
    User.objects.create_user("eva", "eva@example.org", "correct horse", is_staff=True)
    del provider.claims["email_verified"]
    provider.broken["id_token"] = {"email": "mallory@example.org", "email_verified": True}
    assert (sign_in(Client()).status_code, reasons()) == (403, ["email_unconfirmed"])


def test_trusted_addresses_link_accounts_except_those_of_administrators(
    provider: IdentityProvider, settings: Any
) -> None:
    settings.SSO_TRUST_EMAIL = True
    provider.claims["email_verified"] = False
    eva = User.objects.create_superuser("eva", "eva@example.org")
    assert (sign_in(Client()).status_code, reasons()) == (403, ["email_taken"])
    User.objects.filter(pk=eva.pk).update(is_superuser=False)
    assert sign_in(Client()).status_code == 302


def test_two_accounts_with_the_address_are_refused(provider: IdentityProvider) -> None:
    for name in ("eva", "eve"):
        User.objects.create_user(name, "eva@example.org")
    assert (sign_in(Client()).status_code, reasons()) == (403, ["email_taken"])


def test_without_an_address_there_is_no_account(provider: IdentityProvider) -> None:
    provider.claims["email"] = None
    assert (sign_in(Client()).status_code, reasons()) == (403, ["no_email"])


def test_a_deactivated_user_gets_neither_a_session_nor_a_second_account(provider: IdentityProvider) -> None:
    sign_in(session := Client())
    User.objects.update(is_active=False)
    assert session.get("/admin/articles/article/").status_code == 302
    client = Client()
    refused = sign_in(client)
    assert (refused.status_code, is_signed_in(client), User.objects.count()) == (403, False, 1)
    assert "deactivated" in refused.text


def test_a_deactivated_account_is_not_linked(provider: IdentityProvider) -> None:
    User.objects.create_user("eva", "eva@example.org", is_active=False)
    assert (sign_in(Client()).status_code, reasons()) == (403, ["deactivated"])
    assert groups_of(User.objects.get()) == []


@pytest.mark.parametrize(
    "broken",
    [
        {"metadata": {"issuer": "https://evil.example.org"}},
        {"metadata": {"token_endpoint": None}},
        {"id_token": {"iss": "https://evil.example.org"}},
        {"id_token": {"aud": "another client"}},
        {"id_token": {"exp": 1}},
        {"id_token": {"exp": None}},
        {"id_token": {"sub": ""}},
        {"id_token": {"aud": ["headline", "another client"]}},
        {"id_token": {"azp": "another client"}},
        {"userinfo": {"sub": "another user"}},
        {"signature": {"algorithm": "none", "key": ""}},
        {"signature": {"algorithm": "HS256", "key": "k" * 32}},
        {"signature": {"headers": {"kid": "unknown"}}},
        {"signature": {"key": rsa.generate_private_key(public_exponent=65537, key_size=2048)}},
        {"metadata": {"token_endpoint": "http://login.example.org/token"}},
        {"metadata": {"jwks_uri": "http://127.example.org/keys"}},
    ],
    ids=lambda broken: re.sub(r"object at \w+", "", str(broken)),
)
def test_wrong_answers_of_the_provider_are_refused(provider: IdentityProvider, broken: dict[str, Any]) -> None:
    client = Client()
    back = callback_of(client)
    provider.broken |= broken
    refused = client.get(back)
    assert (refused.status_code, is_signed_in(client), reasons()) == (403, False, ["provider"])
    assert "answer was invalid" in refused.text
    assert not User.objects.exists()


def test_starts_without_a_session_are_limited(provider: IdentityProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each one stores a session."""
    monkeypatch.setattr(single_sign_on, "STARTS", Limit("test", burst=2, every=timedelta(minutes=1)))
    responses = [Client().get("/admin/sso/") for _ in range(3)]
    assert [response.status_code for response in responses] == [302, 302, 429]
    assert (responses[2].headers["Retry-After"], Session.objects.count()) == ("60", 2)


def test_a_sign_in_deletes_sessions_that_have_ended(provider: IdentityProvider) -> None:
    Session.objects.create(session_key="old", session_data="", expire_date=timezone.now() - timedelta(minutes=1))
    sign_in(Client())
    assert not Session.objects.filter(session_key="old").exists()


@pytest.mark.parametrize("email", ["mi\u212ae@example.org", "je\u017fs@example.org"])
def test_an_address_that_a_database_takes_for_another_links_no_account(provider: IdentityProvider, email: str) -> None:
    other = User.objects.create_user("m", email.replace("\u212a", "k").replace("\u017f", "s"), is_staff=True)
    provider.claims["email"] = email
    sign_in(client := Client())
    assert client.session["_auth_user_id"] != str(other.pk)


def test_a_wrong_issuer_is_refused_before_the_user_is_sent_there(provider: IdentityProvider) -> None:
    provider.broken["metadata"] = {"issuer": "https://evil.example.org"}
    assert Client().get("/admin/sso/").status_code == 403


def test_an_unreachable_provider_is_a_clear_error(provider: IdentityProvider, settings: Any) -> None:
    settings.SOCIALACCOUNT_PROVIDERS["openid_connect"]["APPS"][0]["settings"] = {"server_url": "http://127.0.0.1:9"}
    refused = Client().get("/admin/sso/")
    assert (refused.status_code, "could not be reached" in refused.text) == (403, True)


def test_a_cancelled_sign_in_says_so(provider: IdentityProvider) -> None:
    provider.broken["error"] = "access_denied"
    assert "was cancelled" in sign_in(Client()).text


def test_a_state_works_once_and_only_in_its_session(provider: IdentityProvider) -> None:
    client = Client()
    back = callback_of(client)
    stolen = Client().get(back)
    assert (stolen.status_code, "Start again" in stolen.text) == (403, True)
    assert client.get(back).status_code == 302
    client.post("/admin/logout/")
    replayed = client.get(back)
    assert (replayed.status_code, is_signed_in(client)) == (403, False)
    assert Client().get("/admin/sso/callback/?code=1&state=guessed").status_code == 403


def test_refusals_fill_the_audit_log_only_slowly(provider: IdentityProvider) -> None:
    for _number in range(REFUSALS.burst - 1):
        REFUSALS.take("127.0.0.1")
    assert Client().get("/admin/sso/callback/?code=1&state=guessed").status_code == 403
    assert Client().get("/admin/sso/callback/?code=1&state=guessed").status_code == 403
    assert Client().post("/admin/login/passkey/", {"credential": "{}"}).status_code == 403
    assert reasons() == ["expired"]


@pytest.mark.parametrize(
    "target", ["https://evil.example.org/", "//evil.example.org", "javascript:alert(1)", "\\\\evil"]
)
def test_it_redirects_only_within_the_site(provider: IdentityProvider, target: str) -> None:
    client = Client()
    assert sign_in(client, target).headers["Location"] == "/admin/"
    assert client.get("/admin/sso/", {"next": target}).headers["Location"] == "/admin/"


def test_the_request_has_a_fixed_scope_and_a_challenge(provider: IdentityProvider) -> None:
    start = Client().get("/admin/sso/", {"scope": "admin", "auth_params": "prompt=none", "process": "connect"})
    query = parse_qs(urlsplit(start.headers["Location"]).query)
    assert sorted(query["scope"][0].split()) == ["email", "openid", "profile"]
    assert query["code_challenge_method"] == ["S256"]
    assert "prompt" not in query


ISSUER = "https://login.example.org/realms/news"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((ISSUER, "", "s", {"a": "b"}), "OIDC_CLIENT_ID is missing"),
        ((ISSUER, "c", "", {"a": "b"}), "OIDC_CLIENT_SECRET is missing"),
        ((ISSUER, "c", "s", {}), "SSO_ROLES is missing"),
        (("http://login.example.org", "c", "s", {"a": "b"}), "does not use https"),
        (("http://127.example.org", "c", "s", {"a": "b"}), "does not use https"),
        (("login.example.org", "c", "s", {"a": "b"}), "unknown format"),
    ],
)
def test_incomplete_settings_stop_the_start(values: Any, message: str) -> None:
    issuer, client_id, secret, roles = values
    with pytest.raises(env.WrongEnvironment, match=message):
        env.open_id(issuer, client_id, secret, roles=roles)
    assert env.open_id("", "", "", roles={}) == {}
    assert env.open_id(ISSUER, "c", "s", roles={"a": "b"})["settings"] == {"server_url": ISSUER}
