"""Passkeys in Chromium with a virtual authenticator, and forged answers without one."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client
from playwright.sync_api import Page, expect

from articles.models import AuditEntry
from headline.accounts import security
from headline.accounts.rate_limits import Limit
from tests.conftest import Site
from tests.headline.authenticator import log_in

PASSWORD = "correct horse"
SECURITY, LOG_IN = "/admin/security/", "/admin/login/"


def with_authenticator(page: Page) -> Any:
    """Give the browser a device that verifies its user."""
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    return session, session.send("WebAuthn.addVirtualAuthenticator", {"options": options})["authenticatorId"]


def test_a_passkey_is_added_used_and_removed(page: Page, site: Site) -> None:
    User.objects.create_superuser("alice", "alice@example.org", PASSWORD)
    home = site.url.replace("127.0.0.1", "localhost")
    session, device = with_authenticator(page)
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(home + LOG_IN)
    expect(page.get_by_role("button", name="Log in with a passkey")).to_have_count(0)
    enter_password(page)
    page.wait_for_url(f"{home}/admin/")

    page.goto(f"{home}{SECURITY}passkeys/add/")
    page.get_by_label("Name of the passkey").fill("Laptop")
    page.get_by_role("button", name="Add", exact=True).click()
    page.wait_for_url("**/security/codes/")
    page.goto(home + SECURITY)
    expect(page.get_by_text("Laptop")).to_be_visible()
    page.context.clear_cookies()

    page.goto(f"{home}{LOG_IN}?next={SECURITY}")
    page.get_by_role("button", name="Log in with a passkey").click()
    page.wait_for_url(home + SECURITY)
    assert AuditEntry.objects.filter(action="logged_in").latest("pk").details["methods"] == ["webauthn"]
    page.context.clear_cookies()

    page.goto(home + LOG_IN)
    enter_password(page)
    page.get_by_role("button", name="Use a passkey").click()
    page.wait_for_url(f"{home}/admin/")

    page.goto(f"{home}{SECURITY}confirm/passkey/?next={SECURITY}")
    page.get_by_role("button", name="Use a passkey").click()
    page.wait_for_url(home + SECURITY)
    page.get_by_role("link", name="Remove the passkey Laptop").click()
    page.wait_for_url("**/remove/")
    session.send("WebAuthn.removeVirtualAuthenticator", {"authenticatorId": device})
    page.get_by_role("button", name="Remove", exact=True).click()
    page.wait_for_url(home + SECURITY)
    assert not Authenticator.objects.exists()
    assert problems == []


def enter_password(page: Page) -> None:
    page.locator("[name=username]").fill("alice")
    page.locator("[name=password]").fill(PASSWORD)
    page.locator("#login-form button[type=submit]").click()


@pytest.mark.django_db
@pytest.mark.parametrize(
    "credential",
    [
        "garbage",
        "[" * 10_000,
        "[" * 30_000 + "]" * 30_000,
        "1" * 5_000,
        "{}",
        json.dumps({"id": "x", "response": 1}),
        json.dumps({
            "id": "AQ", "rawId": "AQ", "type": "public-key", "clientExtensionResults": {},
            "response": {
                "clientDataJSON": "e30", "authenticatorData": "A" * 50, "signature": "AQ", "userHandle": "MQ",
            },
        }),
    ],
)  # fmt: skip
def test_forged_answers_are_refused(credential: str) -> None:
    User.objects.create_superuser("alice", "alice@example.org", PASSWORD)
    client = Client()
    options = client.get(f"{LOG_IN}passkey/", headers={"Accept": "application/json"}).json()["request_options"]
    assert options["publicKey"]["userVerification"] == "required"
    refused = client.post(f"{LOG_IN}passkey/", {"credential": credential})
    assert (refused.status_code, "_auth_user_id" in client.session) == (403, False)


@pytest.mark.django_db
def test_challenges_for_an_address_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each stores a session."""
    monkeypatch.setattr(security, "STARTS", Limit("test", burst=1, every=timedelta(minutes=1)))
    asked = [Client().get(f"{LOG_IN}passkey/", headers={"Accept": "application/json"}) for _ in range(3)]
    assert ([response.status_code for response in asked], Session.objects.count()) == ([200, 429, 429], 1)


@pytest.mark.django_db
def test_the_last_passkey_stays_while_a_role_needs_one(settings: Any) -> None:
    alice = User.objects.create_superuser("alice", "alice@example.org", PASSWORD)
    client = Client()
    log_in(client, "alice", PASSWORD)
    passkey = Authenticator(user=alice, type="webauthn", data={"name": "Laptop", "credential": {}})
    Authenticator.objects.bulk_create([passkey])  # without signals, because a first factor ends the sessions
    settings.SECOND_FACTOR_ROLES = ["all"]
    refused = client.post(f"{SECURITY}passkeys/{passkey.pk}/remove/")
    assert (refused.status_code, Authenticator.objects.count()) == (200, 1)
    assert "cannot deactivate" in refused.text
    settings.SECOND_FACTOR_ROLES = []
    assert client.post(f"{SECURITY}passkeys/{passkey.pk}/remove/").status_code == 302


@pytest.mark.django_db
def test_only_the_newsroom_may_use_passkeys() -> None:
    assert "publickey-credentials-get=()" in Client().get("/").headers["Permissions-Policy"]
    assert "publickey-credentials-get=(self)" in Client().get(LOG_IN).headers["Permissions-Policy"]
