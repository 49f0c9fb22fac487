"""Log-in: password guessing is throttled and recorded, without long lockouts or load on readers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth import authenticate
from django.contrib.auth.hashers import MD5PasswordHasher
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connections
from django.test import Client, RequestFactory
from django.utils import timezone

from articles.models import AuditEntry
from headline import env
from headline.accounts.address import address_of
from headline.accounts.login_throttle import ACCOUNT, ADDRESS, PAIR
from headline.accounts.models import TryCount
from headline.accounts.rate_limits import Limit
from tests.harness import PATIENCE, eventually

LOG_IN, TOKEN = "/admin/login/", "/api/v1/token/"
PASSWORD = "correct horse"  # noqa: S105

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def alice() -> User:
    return User.objects.create_superuser("alice", "alice@example.org", PASSWORD)


def at(address: str, **more: Any) -> Client:
    """A client at this address."""
    return Client(REMOTE_ADDR=address, **more)


def log_in(client: Client, password: str = PASSWORD, name: str = "alice") -> Any:
    return client.post(LOG_IN, {"username": name, "password": password, "next": "/admin/"})


def ask(client: Client, password: str = PASSWORD, name: str = "alice") -> Any:
    return client.post(TOKEN, {"username": name, "password": password}, content_type="application/json")


def actions() -> list[tuple[str, str]]:
    return list(AuditEntry.objects.order_by("pk").values_list("action", "article_title"))


@pytest.mark.cases(1)
@pytest.mark.parametrize("source", [log_in, ask])
def test_guessing_is_blocked_after_some_attempts_with_the_right_password_too(source: Any) -> None:
    guesser = at("192.0.2.1")
    codes = [source(guesser, "wrong").status_code for _ in range(40)]
    refused = source(guesser)
    assert codes[PAIR.burst :] == [429] * (40 - PAIR.burst)
    assert refused.status_code == 429
    assert 0 < int(refused.headers["Retry-After"]) <= 60
    assert "Try again in" in refused.content.decode()
    assert guesser.get("/admin/").status_code == 302


def test_log_in_page_and_token_api_share_one_count() -> None:
    guesser = at("192.0.2.1")
    for _ in range(PAIR.burst // 2):
        log_in(guesser, "wrong")
        ask(guesser, "wrong")
    assert log_in(guesser).status_code == ask(guesser).status_code == 429


@pytest.mark.cases(2)
@pytest.mark.parametrize("spelling", ["ALICE", " alice", "alice ", "álice", "ａｌｉｃｅ"])
def test_another_spelling_is_no_other_account(spelling: str) -> None:
    guesser = at("192.0.2.1")
    for _ in range(PAIR.burst):
        ask(guesser, "wrong", spelling)
    assert ask(guesser).status_code == 429


def test_refused_attempts_hash_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    guesser, hashed = at("192.0.2.1"), []
    encode = MD5PasswordHasher.encode

    def counted(*args: Any) -> str:
        hashed.append(1)
        return encode(*args)

    monkeypatch.setattr(MD5PasswordHasher, "encode", counted)
    for _ in range(40):
        log_in(guesser, "wrong")
    assert len(hashed) == PAIR.burst


def test_an_attacker_cannot_lock_a_user_out_of_a_known_browser() -> None:
    """Not from the same address either, as behind a proxy that is not counted."""
    editor, guesser = at("192.0.2.1"), at("192.0.2.1")
    assert log_in(editor).status_code == 302
    editor.post("/admin/logout/")
    for _ in range(40):
        log_in(guesser, "wrong")
    assert log_in(guesser).status_code == 429
    assert log_in(editor).status_code == 302


def test_a_known_browser_is_limited_too_and_known_for_one_account_alone() -> None:
    User.objects.create_superuser("bob", password=PASSWORD)
    browser = at("192.0.2.1")
    log_in(browser)
    browser.post("/admin/logout/")
    assert [log_in(browser, "wrong").status_code for _ in range(12)][-2:] == [429, 429]
    for _ in range(PAIR.burst):
        log_in(browser, "wrong", "bob")
    assert log_in(browser, PASSWORD, "bob").status_code == 429


def test_a_forged_device_cookie_is_ignored() -> None:
    for number in range(PAIR.burst):
        client = at("192.0.2.1")
        client.cookies["known_device"] = f"forged{number}"
        log_in(client, "wrong")
    assert log_in(at("192.0.2.1")).status_code == 429


def test_many_addresses_together_are_slowed_down_and_one_alone_uses_up_little() -> None:
    for number in range(ACCOUNT.burst // PAIR.burst):
        for _ in range(PAIR.burst * 2):
            log_in(at(f"192.0.2.{number}"), "wrong")
    assert log_in(at("198.51.100.1")).status_code == 429


def test_one_address_cannot_try_all_accounts() -> None:
    codes = [ask(at("192.0.2.1"), "wrong", f"name{number}").status_code for number in range(ADDRESS.burst + 5)]
    assert (codes[0], codes[-1]) == (400, 429)
    assert ask(at("192.0.2.2")).status_code == 200


def test_all_of_an_ipv6_site_is_one_address() -> None:
    for number in range(PAIR.burst):
        log_in(at(f"2001:db8:1:2::{number:x}"), "wrong")
    assert log_in(at("2001:db8:1:2:ffff::1")).status_code == 429
    assert log_in(at("2001:db8:1:3::1")).status_code == 302


def test_behind_a_proxy_its_header_gives_the_client_address(settings: LazySettings) -> None:
    settings.PROXY_COUNT = 1
    for number in range(PAIR.burst):
        log_in(at("10.0.0.1", HTTP_X_FORWARDED_FOR=f"203.0.113.{number}, 192.0.2.1"), "wrong")
    assert log_in(at("10.0.0.1", HTTP_X_FORWARDED_FOR="192.0.2.1")).status_code == 429
    assert log_in(at("10.0.0.1", HTTP_X_FORWARDED_FOR="192.0.2.2")).status_code == 302


@pytest.mark.parametrize(
    ("written", "address"),
    [("192.0.2.1:{}", "192.0.2.1"), ("[2001:db8::1]:{}", "2001:db8::/64"), ("2001:db8::1", "2001:db8::/64")],
)
def test_ports_in_the_header_are_no_other_address(written: str, address: str, settings: LazySettings) -> None:
    settings.PROXY_COUNT = 1
    for port in (5000, 5001):
        request = RequestFactory().get("/", headers={"X-Forwarded-For": written.format(port)})
        assert address_of(request) == address


def test_correct_passwords_are_never_throttled() -> None:
    for _ in range(ADDRESS.burst + 5):
        assert ask(at("192.0.2.1")).status_code == 200


def test_a_lockout_ends_by_itself() -> None:
    limit = Limit("probe", burst=2, every=timedelta(minutes=1))
    assert not limit.take("a") and not limit.take("a")
    assert timedelta(seconds=50) < limit.take("a") <= timedelta(minutes=1)
    TryCount.objects.update(free_at=TryCount.objects.get().free_at - 61_000_000)
    assert not limit.take("a")
    assert limit.take("a")


def test_expired_counters_are_deleted() -> None:
    log_in(at("192.0.2.1"), "wrong")
    TryCount.objects.update(free_at=0)
    log_in(at("192.0.2.2"))
    assert not TryCount.objects.filter(free_at=0).exists()


@pytest.mark.django_db(transaction=True)
def test_parallel_attempts_do_not_exceed_the_limit_together() -> None:
    limit = Limit("probe", burst=10, every=timedelta(hours=1))

    def take(_number: int) -> bool:
        try:
            return not limit.take("a")
        finally:
            connections.close_all()

    with ThreadPoolExecutor(16) as threads:
        assert sum(threads.map(take, range(60))) == 10


@pytest.fixture
def slow_hash(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[list[int], threading.Event]]:
    """Hashing lasts until the event is set; the list holds the callers."""
    encode, at_it, done = MD5PasswordHasher.encode, [], threading.Event()

    def slowly(*args: Any) -> str:
        at_it.append(1)
        done.wait(10 * PATIENCE)
        return encode(*args)

    monkeypatch.setattr(MD5PasswordHasher, "encode", slowly)
    yield at_it, done
    done.set()


@pytest.mark.django_db(transaction=True)
def test_log_ins_take_few_threads_and_one_processor(slow_hash: tuple[list[int], threading.Event]) -> None:
    at_it, done = slow_hash

    def try_it(number: int) -> int:
        try:
            return int(log_in(at(f"192.0.2.{number}"), "wrong").status_code)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(12) as threads:
        attempts = [threads.submit(try_it, number) for number in range(12)]
        try:
            eventually(lambda: sum(one.done() for one in attempts) == 9)
            assert [one.result() for one in attempts if one.done()] == [429] * 9
            assert len(at_it) == 1
            assert Client().get("/").status_code == 200
        finally:
            done.set()
    assert sorted(one.result() for one in attempts) == [200] * 3 + [429] * 9


def test_each_attempt_is_recorded_without_passwords() -> None:
    guesser = at("192.0.2.1")
    log_in(guesser, "hunter2")
    log_in(guesser, "hunter2", "my-password-in-the-wrong-field")
    log_in(guesser)
    assert actions()[1:] == [("log_in_failed", "alice"), ("log_in_failed", ""), ("logged_in", "")]
    success = AuditEntry.objects.latest("id")
    assert (success.user_name, success.source, success.details["address"]) == ("alice", "admin", "192.0.2.1")
    assert AuditEntry.objects.filter(action="log_in_failed", user_id=None, user_name="").count() == 2
    entries_text = str(list(AuditEntry.objects.values()))
    assert "hunter2" not in entries_text and "my-password" not in entries_text


def test_a_lockout_is_recorded_once() -> None:
    for _ in range(PAIR.burst + 5):
        ask(at("192.0.2.1"), "wrong")
    locked = AuditEntry.objects.get(action="locked_out")
    assert (locked.article_title, locked.details["address"], locked.source) == ("alice", "192.0.2.1", "api")
    chief = Client()
    chief.force_login(User.objects.get())
    assert "Log-in locked" in chief.get("/admin/articles/auditentry/").content.decode()


def test_the_old_password_cannot_be_guessed_at_an_open_session() -> None:
    session = Client()
    session.force_login(User.objects.get())
    guess = {"old_password": "wrong", "new_password1": "a new and long one", "new_password2": "a new and long one"}
    codes = [session.post("/admin/password_change/", guess).status_code for _ in range(15)]
    assert (codes[0], codes[-1]) == (200, 429)
    assert session.post("/admin/password_change/", guess | {"old_password": PASSWORD}).status_code == 429
    assert User.objects.get().check_password(PASSWORD)


def test_every_other_log_in_is_limited_too() -> None:
    with pytest.raises(Exception, match="Too many attempts"):
        for _ in range(40):
            authenticate(None, username="alice", password="wrong")  # noqa: S106


def test_a_changed_password_ends_all_other_sessions() -> None:
    mine, other = Client(), Client()
    for session in (mine, other):
        log_in(session)
    new = "a new and long one"
    changed = mine.post(
        "/admin/password_change/", {"old_password": PASSWORD, "new_password1": new, "new_password2": new}
    )
    assert changed.status_code == 302
    assert (mine.get("/admin/").status_code, other.get("/admin/").status_code) == (200, 302)


def test_a_session_ends_within_a_day_unless_it_is_used() -> None:
    session = Client()
    log_in(session)
    session.get("/admin/")
    begun = session.session.get_expiry_date()
    assert begun - timezone.now() <= timedelta(hours=12)
    stored = session.session
    stored["renewed_at"] -= 3600 * 3
    stored.save()
    renewed = session.get("/admin/")
    assert renewed.cookies["sessionid"]["max-age"] == 12 * 3600
    assert "sessionid" not in session.get("/admin/").cookies, "not written at each request"
    assert "sessionid" not in session.get("/").cookies


def give(monkeypatch: pytest.MonkeyPatch, password: str) -> None:
    """To `createsuperuser`, which Django and Headline read."""
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", password)
    monkeypatch.setitem(env._environment, "DJANGO_SUPERUSER_PASSWORD", password)


@pytest.mark.parametrize("weak", ["1", "password", "1234567890"])
def test_weak_passwords_are_refused_everywhere(weak: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chief, pk = Client(), User.objects.get().pk
    chief.force_login(User.objects.get())
    both = {"password1": weak, "password2": weak, "usable_password": "true"}
    assert chief.post(f"/admin/auth/user/{pk}/password/", both).status_code == 200
    assert User.objects.get().check_password(PASSWORD)
    give(monkeypatch, weak)
    with pytest.raises(CommandError, match="password"):
        call_command("createsuperuser", "--noinput", username="someone", email="a@example.org")
    assert User.objects.count() == 1


def test_a_strong_password_creates_a_superuser_without_input(monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, "a long and rare sentence")
    call_command("createsuperuser", "--noinput", username="root", email="root@example.org")
    assert User.objects.get(username="root").check_password("a long and rare sentence")
