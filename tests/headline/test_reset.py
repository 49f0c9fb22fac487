"""Password reset by mail, without revealing which accounts exist."""

from __future__ import annotations

import re
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.test import Client
from django.utils import timezone

from articles.models import AuditEntry
from headline.accounts import reset
from headline.accounts.links import MAIL
from headline.accounts.login_throttle import PAIR
from headline.accounts.reset import BY_ACCOUNT, BY_ADDRESS
from headline.api.tokens import issue
from scheduling.models import TaskInfo, TaskInfoLog
from scheduling.workers.side_effects import run_side_effects
from tests.articles.publishing.test_races import together

ASK = "/admin/password_reset/"
OLD, NEW = "correct horse", "a new and long one"

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds for which responses were held back, if they were."""
    pauses: list[float] = []
    monkeypatch.setattr(reset, "sleep", pauses.append)
    return pauses


@pytest.fixture(autouse=True)
def alice() -> User:
    return User.objects.create_superuser("alice", "alice@example.org", OLD)


def ask(address: str = "alice@example.org", client: Client | None = None, **headers: Any) -> Any:
    return (client or Client()).post(ASK, {"email": address}, follow=True, **headers)


def link() -> str:
    run_side_effects([MAIL])
    found = re.search(r"http://127\.0\.0\.1:8000(\S+)", str(mail.outbox[-1].body))
    assert found
    return found[1]


def use(address: str, password: str = NEW, client: Client | None = None) -> Any:
    client = client or Client()
    form = client.get(address, follow=True)
    return client.post(form.request["PATH_INFO"], {"new_password1": password, "new_password2": password}, follow=True)


def test_a_forgotten_password_is_reset_by_mail(alice: User) -> None:
    token = issue(alice, by=alice, name="probe")[1]
    other = Client()
    other.force_login(alice)
    assert "/admin/password_reset/" in Client().get("/admin/login/").text
    ask()
    assert "The new password is set" in use(link()).text
    assert User.objects.get().check_password(NEW)
    assert mail.outbox[0].to == ["alice@example.org"]
    assert other.get("/admin/").status_code == 302
    assert Client().get("/api/v1/desk/articles/", headers={"Authorization": f"Token {token}"}).status_code == 401
    assert AuditEntry.objects.filter(action="change_password", article_title="alice").exists()


def test_a_link_works_once() -> None:
    ask()
    address = link()
    use(address)
    assert "used before or has ended" in use(address, "another and long one").text
    assert User.objects.get().check_password(NEW)


@pytest.mark.django_db(transaction=True)
def test_a_link_that_is_used_twice_at_once_works_once() -> None:
    ask()
    address, clients = link(), [Client(), Client()]
    forms = [client.get(address)["Location"] for client in clients]

    def send(client: Client, form: str) -> int:
        return client.post(form, {"new_password1": NEW, "new_password2": NEW}).status_code

    sent = [partial(send, client, form) for client, form in zip(clients, forms, strict=True)]
    assert sorted(together(*sent)) == [200, 302]
    assert AuditEntry.objects.filter(action="change_password").count() == 1


@pytest.mark.parametrize("end", ["late", "new password", "new address", "log-in", "forged", "deactivated"])
def test_a_link_that_has_ended_sets_nothing(alice: User, end: str, settings: Any) -> None:
    ask()
    address = link()
    if end == "late":
        settings.PASSWORD_RESET_TIMEOUT = -1
    elif end == "new password":
        alice.set_password("another password first")
    elif end == "new address":
        alice.email = "new@example.org"
    elif end == "log-in":
        alice.last_login = timezone.now() + timedelta(seconds=1)
    elif end == "deactivated":
        alice.is_active = False
    alice.save()
    before = User.objects.get().password
    use(address.replace("/reset/", "/reset/x") if end == "forged" else address)
    assert User.objects.get().password == before


def test_unknown_addresses_get_the_same_response_at_the_same_time(alice: User, pauses: list[float]) -> None:
    User.objects.create_user("gone", "gone@example.org", OLD, is_active=False)
    responses = [ask(address) for address in ("alice@example.org", "gone@example.org", "nobody@example.org")]
    texts = {re.sub(r'nonce="[^"]*"|value="[^"]*"', "", response.text) for response in responses}
    assert len(texts) == 1 and "If an account has this address" in texts.pop()
    assert len(pauses) == 3 and all(0 < pause < reset.RESPONSE_TIME for pause in pauses)
    run_side_effects([MAIL])
    assert [message.to for message in mail.outbox] == [["alice@example.org"]]


def test_no_link_is_stored_and_none_leads_to_another_host(settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    ask(HTTP_HOST="evil.example.org")
    assert TaskInfo.objects.get(task_type=MAIL).parameters == {"user": User.objects.get().pk}
    address = link()
    proof = address.strip("/").rpartition("/")[2]
    assert proof not in str([*TaskInfoLog.objects.values(), *AuditEntry.objects.values()])
    assert "evil" not in str(mail.outbox[0].body)


def test_the_number_of_reset_mails_is_limited() -> None:
    for number in range(BY_ADDRESS.burst):
        ask(REMOTE_ADDR=f"192.0.2.{number}")
        run_side_effects([MAIL])
    assert len(mail.outbox) == BY_ACCOUNT.burst
    codes = [ask(f"name{number}@example.org").status_code for number in range(BY_ADDRESS.burst + 1)]
    assert (codes[0], codes[-1]) == (200, 429)


def test_a_weak_new_password_is_refused() -> None:
    ask()
    use(link(), "1")
    assert User.objects.get().check_password(OLD)


def test_a_reset_ends_a_lockout() -> None:
    for _ in range(PAIR.burst + 1):
        Client().post("/admin/login/", {"username": "alice", "password": "wrong"})
    mine = Client()
    ask(client=mine)
    use(link(), client=mine)
    assert mine.post("/admin/login/", {"username": "alice", "password": NEW, "next": "/admin/"}).status_code == 302
