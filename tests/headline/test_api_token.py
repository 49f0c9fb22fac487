"""A token for a name and a password."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient

URL = "/api/v1/token/"
PASSWORD = "correct horse"  # noqa: S105

pytestmark = pytest.mark.django_db


def ask(username: Any = "alice", password: Any = PASSWORD) -> Any:
    return APIClient().post(URL, {"username": username, "password": password})


@pytest.fixture
def alice() -> User:
    return User.objects.create_superuser("alice", password=PASSWORD)


def test_staff_get_a_token_that_signs_them_in(alice: User) -> None:
    token = ask().json()["token"]
    assert ask().json()["token"] == token
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Token {token}")
    assert client.get("/api/v1/desk/articles/").status_code == 200


def test_a_form_will_do_as_curl_sends_it(client: Client, alice: User) -> None:
    body = f"username=alice&password={PASSWORD}"
    answer = client.post(URL, body, content_type="application/x-www-form-urlencoded")
    assert answer.json() == ask().json()


def test_every_wrong_pair_gets_the_same_answer(alice: User) -> None:
    User.objects.create_user("reader", password=PASSWORD)
    User.objects.create_user("gone", password=PASSWORD, is_staff=True, is_active=False)
    answers = [ask(password="wrong"), ask("nobody"), ask("reader"), ask("gone")]  # noqa: S106
    assert {(answer.status_code, answer.content) for answer in answers} == {(400, answers[0].content)}
    assert answers[0].json()["code"] == "wrong_credentials"


@pytest.mark.parametrize("username", [None, "", "x" * 1000, ["alice"], {"a": 1}, "a\0b", 7])
def test_garbage_for_a_name_is_refused(alice: User, username: Any) -> None:
    assert ask(username).status_code == 400


def test_guessing_is_slowed_down(alice: User) -> None:
    codes = [ask(password="wrong").status_code for _ in range(10)]  # noqa: S106
    late = ask()
    assert codes == [400] * 10
    assert (late.status_code, late.json()["code"]) == (429, "throttled")
    assert int(late.headers["Retry-After"]) > 0


def test_an_unknown_token_is_refused() -> None:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION="Token forged")
    response = client.get("/api/v1/tasks/")
    assert (response.status_code, response.json()["code"]) == (401, "authentication_failed")
