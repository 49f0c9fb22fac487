"""CORS by allow-list, and errors as RFC 9457 problems."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from jsonschema import Draft202012Validator

from headline import env
from headline.api.tokens import issue
from headline.api.wire import ApiMiddleware, problem_of
from tests.articles.factories import make_article, make_editor
from tests.headline.api_document import api_document

pytestmark = pytest.mark.django_db

APP = "https://app.example.org"
ARTICLES = "/api/v1/desk/articles/"


@contextmanager
def open_connection() -> Iterator[None]:
    """Requests do not close the connection of the test."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


def ask(
    path: str, *origins: str, method: str = "GET", query: str = "", **headers: str
) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of a request through the middleware."""
    environ = {
        "REQUEST_METHOD": method, "PATH_INFO": path, "SERVER_NAME": "127.0.0.1", "SERVER_PORT": "8000",
        "QUERY_STRING": query, "wsgi.url_scheme": "http", "wsgi.input": io.BytesIO(),
        **{f"HTTP_{name}": one for name, one in headers.items()},
    }  # fmt: skip
    return sent_by(ApiMiddleware(get_wsgi_application(), origins), environ)


def sent_by(application: Any, environ: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of the response of a WSGI application."""
    got: list[Any] = []
    with open_connection():
        body = b"".join(application(environ, lambda status, sent, *_rest: got.extend((status, sent))))
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


def test_problems_are_as_documented() -> None:
    document = api_document()
    for path, item in document["paths"].items():
        for operation in item.values():
            errors = [one for code, one in operation["responses"].items() if code >= "400"]
            shared = document["components"]["responses"]
            bodies = [shared[one["$ref"].rpartition("/")[2]] if "$ref" in one else one for one in errors]
            assert len(bodies) > 3 and all("application/problem+json" in one["content"] for one in bodies), path
    known = document["components"]["schemas"]["ProblemDetails"] | {"additionalProperties": False}
    article, token = make_article(), issue(make_editor(), by=make_editor("bob"), name="x")[1]
    address, signed_in = f"{ARTICLES}{article.pk}/", {"AUTHORIZATION": f"Bearer {token}"}
    for status, method, path, headers in (
        (401, "GET", ARTICLES, {}), (404, "GET", f"{ARTICLES}987654321/", signed_in),
        (405, "PUT", address, signed_in), (412, "DELETE", address, {**signed_in, "IF_MATCH": '"x"'}),
        (400, "GET", f"{ARTICLES}{article.pk}/checks/?x=1", signed_in),
    ):  # fmt: skip
        path, _mark, query = path.partition("?")
        got = ask(path, method=method, query=query, ACCEPT="application/problem+json", **headers)
        assert (got[0], got[1]["Content-Type"]) == (status, "application/problem+json"), (method, path)
        Draft202012Validator(known).validate(json.loads(got[2]))
        assert (json.loads(got[2]).get("current", {}).get("id") == article.pk) is (status == 412)
    no_json = ask(ARTICLES, ACCEPT="application/xml", **signed_in)
    assert (no_json[0], json.loads(no_json[2])["code"]) == (406, "not_acceptable")
    assert all("406" in operation["responses"] for item in document["paths"].values() for operation in item.values())


def test_the_errors_of_fields_have_pointers() -> None:
    error = {"title": ["Too long."], "stages": [{"kind": ["Unknown."]}], "status": ["Odd."], "code": "invalid"}
    problem = problem_of(400, error)
    assert (problem["title"], problem["status"]) == ("Bad Request", 400), "the names of fields hide nothing"
    pointers = [one["pointer"] for one in problem["errors"]]
    assert pointers == ["/title", "/stages/0/kind", "/status"]
