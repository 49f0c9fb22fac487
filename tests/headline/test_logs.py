"""Log lines as text and JSON: with the ids of their request, task and article, and without secrets."""

from __future__ import annotations

import io
import json
import logging
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from django.test import RequestFactory
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from headline import env
from headline.log_format import hide_secrets
from headline.logs import formatter
from headline.request_id import RequestIdMiddleware
from scheduling.database import read_database_clock
from scheduling.log_fields import log_fields, set_log_fields
from scheduling.models import TaskInfo
from scheduling.services import add_task
from scheduling.workers.worker import Worker
from tests.articles.factories import APPROVED, make_article, soon
from tests.conftest import Manage, serving
from tests.harness import PATIENCE, eventually

SECRET = "c3p1-a-secret-that-no-line-contains"
SECRET_PARAMETERS = {"token", "secret", "uidb64"}


@pytest.fixture(autouse=True)
def _no_fields() -> Iterator[None]:
    before = log_fields()
    yield
    set_log_fields(before)


def line(message: str, *values: object, form: str = "json", **extra: Any) -> Any:
    """A line as it is written."""
    record = logging.LogRecord("articles.review", logging.WARNING, __file__, 1, message, values, None)
    vars(record).update(extra)
    text = formatter(form).format(record)
    return json.loads(text) if form == "json" else text


def secret_addresses() -> Iterator[str]:
    """Of each URL with a secret in its path."""
    for name, pattern in named(get_resolver()):
        if parameters := SECRET_PARAMETERS & pattern.pattern.converters.keys():
            values = {parameter: SECRET if parameter in parameters else 1 for parameter in pattern.pattern.converters}
            yield reverse(name, kwargs=values)


def named(resolver: URLResolver, namespace: str = "") -> Iterator[tuple[str, URLPattern]]:
    for pattern in resolver.url_patterns:
        if isinstance(pattern, URLResolver):
            inner = f"{namespace}{pattern.namespace}:" if pattern.namespace else namespace
            yield from named(pattern, inner)
        elif pattern.name:
            yield f"{namespace}{pattern.name}", pattern


def test_secrets_in_paths_are_hidden() -> None:
    addresses = list(secret_addresses())
    assert {"/preview/", "/calendar/", "/admin/reset/", "/admin/login/link/"} <= {
        address.partition(SECRET)[0] for address in addresses
    }
    for address in addresses:
        assert SECRET not in hide_secrets(f"Not Found: {address}"), address


@pytest.mark.parametrize(
    "text",
    [
        f"Authorization: Token {SECRET}",
        f"authorization: bearer {SECRET}",
        f"Cookie: sessionid={SECRET}; csrftoken={SECRET}",
        f"POST /admin/login/ username=ada&password={SECRET}",
        f"GET /admin/sso/callback/?code={SECRET}&state={SECRET}",
        f"cannot connect to mysql://headline:{SECRET}@db:3306/headline",
        f"Cookie: known_device={SECRET}",
        f"answer: {{'access_token': '{SECRET}', \"client_secret\":\"{SECRET}\"}}",
        f"the form had 'password': '{SECRET} two words'",
        f"invalid: eyJhbGciOiJI.{SECRET}.{SECRET}",
    ],
)
def test_tokens_cookies_and_passwords_are_hidden(text: str) -> None:
    assert SECRET not in hide_secrets(text)
    assert SECRET not in str(line("%s", text))


def test_a_secret_that_is_part_of_a_name_uncovers_no_other_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(env, "_used", {"DATABASE_URL": "mysql://headline:pass@db/news"})
    assert SECRET not in str(line("POST /admin/login/ password=%s", SECRET))


@pytest.mark.parametrize("form", ["text", "json"])
def test_secrets_of_the_environment_are_hidden_and_names_are_not(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"mysql://headline:{SECRET}@db/news"
    monkeypatch.setattr(env, "_used", {"DATABASE_URL": url, "METRICS_TOKEN": f"{SECRET}-2"})
    text = str(line("no access: %s with %s-2 for headline", url, SECRET, form=form))
    assert SECRET not in text
    assert "no access: mysql://…@db/news with … for headline" in text


@pytest.mark.parametrize("form", ["text", "json"])
def test_tracebacks_have_no_secrets(form: str) -> None:
    try:
        raise ValueError(f"/preview/{SECRET}/")
    except ValueError as error:
        record = logging.LogRecord("x", logging.ERROR, __file__, 1, "failed", (), (ValueError, error, None))
    text = formatter(form).format(record)
    assert SECRET not in text
    assert "ValueError: /preview/…/" in text


def test_texts_of_others_begin_no_line_and_control_no_terminal() -> None:
    forged = "x\n2030-01-01T00:00:00.000Z INFO root: forged \x1b[2J\u202e\ud800"
    try:
        raise ValueError(forged)
    except ValueError as error:
        record = logging.LogRecord("x", logging.ERROR, __file__, 1, "%s", (forged,), (ValueError, error, None))
    first, *others = formatter("text").format(record).split("\n")
    assert first.endswith(r" ERROR x: x\n2030-01-01T00:00:00.000Z INFO root: forged \x1b[2J\u202e\ud800")
    assert len(others) == 2
    assert all(line.startswith("  ") for line in others)
    assert "\x1b" not in "".join(others)


@pytest.mark.parametrize("form", ["text", "json"])
def test_arguments_that_do_not_fit_are_not_written(form: str) -> None:
    text = str(line("%d of %d", SECRET, form=form))
    assert "%d of %d (its arguments do not fit)" in text
    assert SECRET not in text


def test_a_foreign_host_is_one_line(transactional_db: None) -> None:
    with serving() as site:
        request = urllib.request.Request(f"{site.url}/", headers={"Host": "evil.example"})  # noqa: S310
        with pytest.raises(urllib.error.HTTPError, match="400"):
            urllib.request.urlopen(request, timeout=PATIENCE)
        mounted = urllib.request.Request(f"{site.url}/latest/", headers={"SCRIPT_NAME": "/latest"})  # noqa: S310
        with urllib.request.urlopen(mounted, timeout=PATIENCE) as page:
            assert b"/latest/latest/" not in page.read()
        with pytest.raises(urllib.error.HTTPError, match="404"):
            elsewhere = urllib.request.Request(f"{site.url}/latest/x/", headers={"SCRIPT_NAME": "/latest"})  # noqa: S310
            urllib.request.urlopen(elsewhere, timeout=PATIENCE)
    lines = [line for line in site.process.output.splitlines() if "evil.example" in line]
    assert (len(lines), "Traceback" in site.process.output) == (1, False)


def test_a_line_of_text_ends_with_ids() -> None:
    set_log_fields({"request_id": "1234567890", "task_ids": ["7", "8"]})
    text = line("late by %d ms", 5, form="text", article_id=3)
    assert text.endswith("Z WARNING articles.review: late by 5 ms [request_id=1234567890 article_id=3]"), text


def test_a_line_of_json_has_fields() -> None:
    set_log_fields({"request_id": "1234567890"})
    found = line("line\n%s", "two", article_ids=[3, 4], unknown=object())
    assert found.pop("time").endswith("Z")
    assert found == {
        "level": "WARNING",
        "logger": "articles.review",
        "message": "line\ntwo",
        "request_id": "1234567890",
        "article_ids": [3, 4],
    }


def asked(path: str = "/", **headers: str) -> tuple[str, dict[str, Any]]:
    """The id in the response of a request, and the fields that lines had."""
    fields: dict[str, Any] = {}
    sent: list[tuple[str, str]] = []

    def application(environ: Any, start_response: Any) -> list[bytes]:
        fields.update(log_fields())
        start_response("200 OK", [("Content-Type", "text/plain")])
        return []

    def start(status: str, sent_headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
        sent.extend(sent_headers)

    RequestIdMiddleware(application)(RequestFactory(headers=headers).get(path).environ, start)
    return dict(sent)["X-Request-ID"], fields


def test_a_request_keeps_a_well_formed_id() -> None:
    given = "6f1c.-_9A"
    assert asked(x_request_id=given) == (given, {"request_id": given})


@pytest.mark.parametrize(
    "given", ["", "short", "x" * 129, "two words here", "id=1234567890", "新闻新闻新闻新闻", "1234567\n8"]
)
def test_a_request_without_a_well_formed_id_gets_one(given: str) -> None:
    made = {asked(x_request_id=given)[0] for _ in range(2)}
    assert len(made) == 2
    assert all(len(one) == 32 for one in made)


@pytest.mark.parametrize(
    "path",
    [
        "/article/12/ferry/",
        "/admin/articles/article/12/change/",
        "/api/v1/articles/12/",
        "/api/v1/articles/12/approve/",
    ],
)
def test_lines_of_a_request_about_an_article_have_its_id(path: str) -> None:
    assert asked(path)[1]["article_id"] == "12"


class Lines:
    """Written lines of JSON."""

    def __init__(self, stream: io.StringIO) -> None:
        self.stream = stream

    def with_text(self, text: str) -> list[dict[str, Any]]:
        """Those whose message contains this."""
        lines = [json.loads(line) for line in self.stream.getvalue().splitlines()]
        return [line for line in lines if text in line["message"]]


@pytest.fixture
def written() -> Iterator[Lines]:
    """The lines that are written by the test."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter("json"))
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    yield Lines(stream)
    root.removeHandler(handler)
    root.setLevel(level)


def add(task_type: str, **values: Any) -> None:
    add_task(task_type, execute_time=read_database_clock(), **{"parameters": {}, **values})


def test_a_worker_logs_its_task_and_its_article(transactional_db: None, written: Lines) -> None:
    article = make_article(status=APPROVED, publish_at=soon(seconds=-1))
    task_id = str(TaskInfo.objects.get().pk)
    Worker().drain()
    (line,) = written.with_text("published 1 article,")
    assert (line["task_id"], line["task_type"], line["article_id"]) == (task_id, "articles.publish", str(article.pk))


@pytest.mark.parametrize("task_type", ["probe.fail", "probe.at_least_once"])
def test_a_worker_logs_the_task_that_fails(transactional_db: None, written: Lines, task_type: str) -> None:
    add(task_type, parameters={"times": 9, "article_id": 5, "note": SECRET})
    task_id = str(TaskInfo.objects.get().pk)
    Worker().drain()
    (line,) = written.with_text("attempt 1 failed")
    assert (line["task_id"], line["task_type"], line["article_id"]) == (task_id, task_type, "5")
    assert "note" not in line


def test_a_worker_logs_all_tasks_of_a_batch(transactional_db: None, written: Lines) -> None:
    for number in range(3):
        add("probe.note", key=str(number))
    ids = set(map(str, TaskInfo.objects.values_list("pk", flat=True)))
    Worker().drain()
    (line,) = written.with_text("executed=3")
    assert set(line["task_ids"]) == ids


def test_an_article_that_goes_live_takes_one_line(transactional_db: None, written: Lines) -> None:
    """An outage of 12 seconds takes fewer than 20, with an article due in every other one."""
    make_article(status=APPROVED, publish_at=soon(seconds=-1))
    Worker().drain()
    assert [line["message"].partition(",")[0] for line in written.with_text("")] == ["published 1 article"]


def test_commands_write_json(manage: Manage) -> None:
    """Workers and cron jobs."""
    add("probe.fail", parameters={"times": 9})
    done = manage("poll", env={"LOG_FORMAT": "json"})
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert [line["message"].startswith("executed=0 failed=1") for line in lines].count(True) == 1, lines


def test_a_web_server_writes_json_and_no_secret(transactional_db: None) -> None:
    """All lines: Django's, gunicorn's, and one for each request."""
    given = "an-id-of-the-proxy"
    with serving("--access-logfile", "-", env={"LOG_FORMAT": "json"}) as site:
        addresses = [*secret_addresses(), f"/search/?q={SECRET}", "/article/77/"]
        for address in addresses:
            request = urllib.request.Request(site.url + address, headers={"X-Request-ID": given, "Cookie": SECRET})
            with suppress(urllib.error.HTTPError), urllib.request.urlopen(request, timeout=PATIENCE) as response:
                assert response.headers["X-Request-ID"] == given
        eventually(lambda: site.process.output.count('"path"') == len(addresses))
        site.process.stop()
        lines = [json.loads(line) for line in site.process.lines]
    loggers = {line["logger"] for line in lines}
    assert {"gunicorn.error", "gunicorn.access", "django.request"} <= loggers
    assert {line.get("request_id") for line in lines if line["logger"] != "gunicorn.error"} == {given}
    assert {line["path"] for line in lines if line.get("article_id") == "77" and "path" in line} == {"/article/77/"}
    assert SECRET not in site.process.output
