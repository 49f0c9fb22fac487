"""While the database is in trouble, each kind of request gets 503 with `Retry-After`, whichever statement fails."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import caches
from django.db import DataError, OperationalError, ProgrammingError, connection
from django.test import Client

from articles.models import Article
from scheduling.incidents import incidents
from tests.articles.factories import make_article, make_channel, make_user, soon

pytestmark = pytest.mark.django_db(transaction=True)

LOST = OperationalError(2013, "Lost connection to server during query")
STATEMENTS = (1, 2, 3, 5, 8, 13)
"""Of a request: the first ones are those of session, user and throttles; later ones those of view and template."""
READER, EDITOR = "reader", "editor"
LOG_IN = {"username": "alice", "password": "wrong"}
REQUESTS = [
    (READER, "GET", "/", {}),
    (READER, "GET", "/article/{article}/", {}),
    (READER, "GET", "/preview/a-token/", {}),
    (READER, "GET", "/no/such/page/", {}),
    (READER, "HEAD", "/article/{article}/", {}),
    (READER, "HEAD", "/admin/login/", {}),
    (READER, "POST", "/admin/login/", LOG_IN),
    (READER, "POST", "/admin/password_reset/", {"email": "alice@example.org"}),
    (EDITOR, "GET", "/admin/", {}),
    (EDITOR, "GET", "/admin/articles/article/{article}/change/", {}),
    (EDITOR, "OPTIONS", "/admin/articles/article/", {}),
    (EDITOR, "POST", "/admin/logout/", {}),
    (EDITOR, "GET", "/api/v1/desk/articles/", {}),
    (READER, "GET", "/api/v1/articles/", {}),
]


def failing(error: Exception, *, at: int = 1) -> Any:
    """From this statement on, the database raises the error; `reached` says whether it was asked for so many."""
    state = {"count": 0}

    def execute(run: Callable[..., Any], sql: str, *arguments: Any) -> Any:
        state["count"] += sql != "ROLLBACK"  # when a snapshot ends, the page is complete
        if state["count"] >= at:
            raise error
        return run(sql, *arguments)

    execute.reached = lambda: state["count"] >= at  # type: ignore[attr-defined]
    return execute


@pytest.fixture
def article() -> Article:
    return make_article(channel=make_channel(), status=Article.Status.PUBLISHED, publish_at=soon(hours=-1))


@pytest.fixture
def editor() -> User:
    return make_user("alice", is_superuser=True)


def ask(user: User | None, method: str, path: str, values: dict[str, str], failure: Any, **headers: str) -> Any:
    """The response of a request during a failure; None if it needs fewer statements."""
    client = Client(raise_request_exception=False, headers=headers)
    if user:
        client.force_login(user)
    for cache in caches.all():
        cache.clear()
    with connection.execute_wrapper(failure):
        response = client.post(path, values) if method == "POST" else client.generic(method, path)
    return response if failure.reached() else None


@pytest.mark.parametrize(("who", "method", "path", "values"), REQUESTS, ids=[" ".join(one[:3]) for one in REQUESTS])
def test_a_lost_connection_is_503_at_each_statement(
    who: str, method: str, path: str, values: dict[str, str], article: Article, editor: User
) -> None:
    user, path = editor if who == EDITOR else None, path.format(article=article.pk)
    found = [ask(user, method, path, values, failing(LOST, at=number)) for number in STATEMENTS]
    responses = [response for response in found if response is not None]
    assert responses
    assert [(one.status_code, one.headers["Retry-After"]) for one in responses] == [(503, "5")] * len(responses)
    assert {one.headers["Cache-Control"] for one in responses} == {"private, no-store"}
    assert method != "HEAD" or {one.content for one in responses} == {b""}


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (OperationalError(1205, "Lock wait timeout exceeded"), 503),
        (OperationalError(1114, "The table is full"), 503),
        (OperationalError(1290, "The server is running with the --read-only option"), 503),
        (OperationalError(1142, "INSERT command denied"), 503),
        (ProgrammingError(1146, "Table does not exist"), 503),
        (ProgrammingError(1064, "You have an error in your SQL syntax"), 500),
        (DataError(1406, "Data too long for column"), 500),
        (OperationalError(1153, "Got a packet bigger than 'max_allowed_packet' bytes"), 500),
        (OperationalError(1267, "Illegal mix of collations"), 500),
    ],
)
def test_only_trouble_of_the_database_is_503(error: Exception, status: int) -> None:
    assert ask(None, "GET", "/latest/", {}, failing(error)).status_code == status


def test_readers_get_a_page_and_programs_and_scripts_get_json() -> None:
    page = ask(None, "GET", "/latest/", {}, failing(LOST))
    assert "<h1>Unavailable for a moment</h1>" in page.content.decode()
    program = ask(None, "GET", "/api/v1/articles/", {}, failing(LOST))
    script = ask(None, "GET", "/admin/login/", {}, failing(LOST), sec_fetch_mode="cors")
    assert {response.json()["code"] for response in (program, script)} == {"unavailable"}
    assert program.json()["detail"] == script.json()["error"]


def test_a_request_whose_statement_was_ended_is_asked_for_less() -> None:
    too_long = OperationalError(1969, "Query execution was interrupted (max_statement_time exceeded)")
    page = ask(None, "GET", "/latest/", {}, failing(too_long))
    program = ask(None, "GET", "/api/v1/articles/", {}, failing(too_long))
    assert (page.status_code, program.status_code) == (503, 503)
    for text in (page.content.decode(), program.json()["detail"]):
        assert "Please ask for less at once" in text
        assert "database" not in text


def test_a_post_with_a_key_is_503_at_each_statement(editor: User) -> None:
    """And not said to be running already."""
    found = [
        ask(editor, "POST", "/api/v1/desk/articles/", {}, failing(LOST, at=number), idempotency_key="a-key")
        for number in STATEMENTS
    ]
    assert {response.status_code for response in found if response is not None} == {503}


def test_an_outage_is_logged_once_and_at_its_end(
    article: Article, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(incidents, "_monotonic", lambda: now)
    for _ in range(12):
        assert ask(None, "GET", "/latest/", {}, failing(LOST)).status_code == 503
        now += 1
    Client().get("/latest/")
    assert [(record.levelno, record.exc_info) for record in caplog.records] == [(logging.WARNING, None)]
    now += 10
    Client().get("/")
    assert caplog.messages[1:] == ["over after 12.0 s, 12 failures: requests are answered with 503"]


def test_a_page_does_not_end_an_outage_of_writes(
    article: Article, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(incidents, "_monotonic", lambda: now)
    read_only = OperationalError(1290, "The server is running with the --read-only option")
    ask(None, "POST", "/admin/login/", LOG_IN, failing(read_only))
    now += 10
    Client().get("/latest/")
    assert len(caplog.records) == 1
    Client().post("/admin/login/", LOG_IN)
    assert caplog.messages[-1].startswith("over after 10.0 s, 1 failures")
