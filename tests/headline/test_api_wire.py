"""CORS by allow-list, and errors as RFC 9457 problems."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections

from headline import env
from headline.api.wire import ApiMiddleware, problem_of

pytestmark = pytest.mark.django_db

APP = "https://app.example.org"
ARTICLES = "/api/v1/desk/articles/"


@pytest.fixture(autouse=True)
def open_connection() -> Iterator[None]:
    """Requests do not close the connection of the test."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


def ask(path: str, *origins: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of a request through the middleware."""
    got: list[Any] = []
    environ = {
        "REQUEST_METHOD": method, "PATH_INFO": path, "SERVER_NAME": "127.0.0.1", "SERVER_PORT": "8000",
        "QUERY_STRING": "", "wsgi.url_scheme": "http", "wsgi.input": io.BytesIO(),
        **{f"HTTP_{name}": one for name, one in headers.items()},
    }  # fmt: skip
    application = ApiMiddleware(get_wsgi_application(), origins)
    body = b"".join(application(environ, lambda status, sent, *_rest: got.extend((status, sent))))  # type: ignore[arg-type]
    return int(got[0][:3]), dict(got[1]), body


def test_only_listed_origins_are_allowed_and_never_credentials() -> None:
    for origins, origin, allowed in (
        ((APP,), APP, APP), ((APP,), "https://evil.example", None), ((), APP, None), (("*",), APP, "*"),
        ((APP,), f"{APP}.evil.example", None), ((APP,), "null", None),
    ):  # fmt: skip
        for method in ("GET", "OPTIONS"):
            headers = ask(ARTICLES, *origins, method=method, ORIGIN=origin, ACCESS_CONTROL_REQUEST_METHOD="PATCH")[1]
            assert headers.get("Access-Control-Allow-Origin") == allowed, (origins, origin)
            assert "Access-Control-Allow-Credentials" not in headers
    assert "Origin" in ask("/api/v1/articles/", APP)[1]["Vary"]
    assert "Access-Control-Allow-Origin" not in ask("/", APP, ORIGIN=APP)[1]


def test_a_preflight_allows_what_the_api_takes() -> None:
    status, headers, _body = ask(ARTICLES, APP, method="OPTIONS", ORIGIN=APP, ACCESS_CONTROL_REQUEST_METHOD="PATCH")
    assert (status, "PATCH" in headers["Access-Control-Allow-Methods"]) == (204, True)
    assert {"Authorization", "If-Match", "Idempotency-Key"} <= {*headers["Access-Control-Allow-Headers"].split(", ")}


def test_a_list_of_origins_is_checked_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    for value in ("*,https://a.example", "app.example.org", "https://a.example/path", "https://a.example:x"):
        monkeypatch.setattr(env, "_environment", {"CORS_ORIGINS": value})
        with pytest.raises(env.WrongEnvironment):
            env.origins("CORS_ORIGINS")


def test_an_error_is_a_problem_for_who_asks_for_it() -> None:
    assert ask("/api/v1/articles/", ACCEPT="application/problem+json")[0] == 200
    status, headers, body = ask(ARTICLES, ACCEPT="application/problem+json")
    problem = json.loads(body)
    assert (status, headers["Content-Type"], int(headers["Content-Length"])) == (
        401,
        "application/problem+json",
        len(body),
    )
    assert {
        "type": "about:blank",
        "title": "Unauthorized",
        "status": 401,
        "code": "not_authenticated",
    }.items() <= problem.items()
    assert headers["WWW-Authenticate"] == "Bearer"
    missing = ask("/api/v1/nothing/", ACCEPT="application/json, application/problem+json")
    assert (missing[0], json.loads(missing[2])["title"]) == (404, "Not Found")
    plain = ask(ARTICLES, ACCEPT="application/json")
    assert plain[1]["Content-Type"] == "application/json"


def test_the_errors_of_fields_have_pointers() -> None:
    error = {"title": ["Too long."], "stages": [{"kind": ["Unknown."]}], "status": ["Odd."], "code": "invalid"}
    problem = problem_of(400, error)
    assert (problem["title"], problem["status"]) == ("Bad Request", 400), "the names of fields hide nothing"
    pointers = [one["pointer"] for one in problem["errors"]]
    assert pointers == ["/title", "/stages/0/kind", "/status"]
