"""What a request to the API may hold is limited before any work begins."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from articles.limits import ORDINARY_BODY
from articles.models import Tag
from scheduling.limits import JSON_DEPTH
from tests.headline.api_document import api_document

pytestmark = pytest.mark.django_db

TOKEN = "/api/v1/token/"
CREDENTIALS = {"username": "a", "password": "b"}


def test_a_long_list_has_one_error() -> None:
    response = APIClient().post(TOKEN, {**CREDENTIALS, "scopes": ["x"] * 5_000})

    assert response.status_code == 400
    assert len(response.content) < 1_000
    assert len(response.json()["scopes"]) == 1


def test_ten_unknown_keys_are_named() -> None:
    response = APIClient().post(TOKEN, {**CREDENTIALS, **{f"k{number}": 1 for number in range(5_000)}})

    assert response.status_code == 400
    assert len([key for key in response.json() if key.startswith("k")]) == 10


@pytest.mark.parametrize(
    ("body", "is_refused"),
    [
        ("[" * JSON_DEPTH + "]" * JSON_DEPTH, False),
        ("[" * (JSON_DEPTH + 1) + "]" * (JSON_DEPTH + 1), True),
        ('{"a":' * 10_000, True),
        ("[" * 60_000, True),
        ('["' + "[{" * 5_000 + '\\"[[", "]"]', False),
        ('"' * 60_000, False),
    ],
)
def test_deeply_nested_json_is_refused_unparsed(body: str, is_refused: bool) -> None:
    response = APIClient().post(TOKEN, body, content_type="application/json")

    assert (response.status_code, "nested too deeply" in response.content.decode()) == (400, is_refused)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("articles/", "tags"),
        ("articles/", "cover"),
        ("bulk-actions/", "articles"),
        ("notifications/read/", "ids"),
        ("roles/", "permissions"),
        ("templates/", "tags"),
        ("tokens/", "scopes"),
        ("users/", "roles"),
        ("words/add-many/", "words"),
    ],
)
def test_a_list_that_is_too_long_is_refused_without_work_for_each_item(path: str, name: str) -> None:
    client = APIClient()
    client.force_login(User.objects.create_superuser("root"))
    Tag.objects.create(name="Opera", slug="opera")
    Group.objects.create(name="opera")

    with CaptureQueriesContext(connection) as queries:
        response = client.post(f"/api/v1/desk/{path}", {name: ["opera"] * 20_000}, format="json")

    assert (response.status_code, len(response.json()[name])) == (400, 1)
    assert len(response.content) < 2_000
    assert len(queries) < 20


@pytest.mark.parametrize("path", [TOKEN, "/i18n/setlang/", "/admin/login/", "/admin/articles/article/add/"])
def test_a_large_body_without_a_signed_in_user_is_refused_unread(client: Client, path: str) -> None:
    response = client.post(path, "x" * 100_000, content_type="application/x-www-form-urlencoded")

    assert response.status_code == 413
    assert len(response.content) < 1_000


@pytest.mark.parametrize("path", ["/api/v1/desk/bulk-actions/", "/api/v1/tasks/", "/admin/auth/user/add/"])
def test_a_large_body_is_refused_where_no_text_is_sent(admin_client: Client, path: str) -> None:
    response = admin_client.post(path, "x" * (ORDINARY_BODY + 1), content_type="application/json")

    assert response.status_code == 413


def test_a_large_body_that_is_not_asked_for_is_refused_as_documented(admin_client: Client) -> None:
    link = "/api/v1/desk/shared-pages/{id}/"

    response = admin_client.delete(
        link.replace("{id}", "1"), "x" * (ORDINARY_BODY + 1), content_type="application/json"
    )

    assert (response.status_code, response.json()["code"]) == (413, "too_large")
    assert "413" in api_document()["paths"][link]["delete"]["responses"]


@pytest.mark.parametrize(("method", "status"), [("PATCH", 411), ("PUT", 411), ("POST", 411), ("DELETE", 405)])
def test_a_body_without_a_length_is_refused_as_nothing_reads_it(admin_client: Client, method: str, status: int) -> None:
    chunked = {"Transfer-Encoding": "chunked"}

    response = admin_client.generic(method, "/api/v1/desk/articles/", headers=chunked)

    assert response.status_code == status
    if status == 411:
        assert response.json() == {"detail": "Send the length of the body.", "code": "no_length"}


def test_a_signed_in_user_may_send_a_large_form(admin_client: Client) -> None:
    response = admin_client.post("/admin/articles/article/add/", {"title": "Opera", "body": "x" * 1_100_000})

    assert response.status_code in (200, 302)


@pytest.mark.parametrize(
    ("charset", "status"),
    [
        ("utf-8", 200),
        ("utf-16", 200),
        ("GBK", 200),
        ("unheard-of", 200),
        ("bz2", 415),  # no charset
        ("undefined", 415),
        ("idna", 415),
        ("punycode", 415),  # in quadratic time
        ("utf-7", 415),  # yields half a character here
        ("unicode_escape", 415),
    ],
)
def test_a_charset_that_fails_or_takes_long_is_refused_unread(charset: str, status: int) -> None:
    client = Client()
    name = b'Content-Disposition: form-data; name="%b"\r\n\r\n'
    body = b"--x\r\n%b+2AA-\\ud800\xe4\r\n--x\r\n%ba\r\n--x--\r\n" % (name % b"username", name % b"password")
    page = client.generic("POST", "/admin/login/", body, f"multipart/form-data; boundary=x; charset={charset}")
    program = client.generic("POST", TOKEN, b"{}", f"application/json; charset={charset}")

    assert page.status_code == status
    assert program.status_code == (415 if status == 415 else 400)
    if status == 415:
        assert program.json() == {"detail": "Send the request body in UTF-8.", "code": "unsupported_media_type"}
