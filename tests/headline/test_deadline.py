"""A request ends at its deadline, unless it has committed something."""

from __future__ import annotations

import time
from contextlib import nullcontext, suppress
from io import BytesIO
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import OperationalError, connection, transaction
from django.test import Client, RequestFactory, override_settings
from rest_framework.test import APIClient

from articles.models import Article, AuditEntry, Revision, Tag
from headline.deadline import DeadlineMiddleware
from tests.articles.factories import soon

pytestmark = pytest.mark.django_db(transaction=True)

DESK = "/api/v1/desk/articles/"


def test_no_statement_begins_after_the_deadline() -> None:
    client = Client(raise_request_exception=False)
    with override_settings(REQUEST_TIMEOUT=0):
        page, program = client.get("/latest/"), client.get("/api/v1/articles/")
        probe = client.get("/healthz")
    assert [(one.status_code, one["Retry-After"]) for one in (page, program)] == [(503, "5")] * 2
    assert "Please ask for less at once" in page.content.decode()
    assert (probe.status_code, client.get("/latest/").status_code) == (200, 200)


class Clock:
    """Reaches the deadline at its nth reading."""

    def __init__(self, readings: int) -> None:
        self.left = readings

    def monotonic(self) -> float:
        self.left -= 1
        return time.monotonic() + (0 if self.left >= 0 else 3600)

    perf_counter = staticmethod(time.perf_counter)


def test_a_request_is_interrupted_before_its_commit_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """At each statement: nothing is stored, or all that belongs to the article."""
    client = APIClient(raise_request_exception=False)
    client.force_login(User.objects.create_superuser("root"))
    values = {"title": "Bridge", "body": "<p>Open.</p>", "publish_at": soon(hours=1).isoformat()}
    stored: list[int] = []
    for readings in range(1, 200):
        monkeypatch.setattr("headline.deadline.time", Clock(readings))
        response = client.post(DESK, values, format="json")
        of_article = AuditEntry.objects.filter(article_id__isnull=False)
        stored = [rows.count() for rows in (Article.objects, Revision.objects, of_article)]
        if response.status_code == 201:
            break
        assert (response.status_code, stored) == (503, [0, 0, 0])
    assert readings > 5
    assert stored == [1, 1, 1]


@pytest.mark.parametrize("is_of_savepoint", [False, True])
def test_what_was_rolled_back_does_not_end_the_deadline(
    is_of_savepoint: bool,  # noqa: FBT001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A collision, after which the request begins once more."""

    def view(_request: Any) -> Any:
        with transaction.atomic() if is_of_savepoint else nullcontext():
            with suppress(OperationalError), transaction.atomic():
                Tag.objects.create(name="Opera", slug="opera")
                raise OperationalError(1213, "Deadlock found")
            monkeypatch.setattr("headline.deadline.time", Clock(0))
            Tag.objects.create(name="Ballet", slug="ballet")

    with pytest.raises(OperationalError, match="1969"):
        DeadlineMiddleware(view)(RequestFactory().post("/"))
    assert not Tag.objects.exists()


class SlowLine(BytesIO):
    """A body that takes an hour, on its own clock."""

    def __init__(self, body: bytes) -> None:
        super().__init__(body)
        self.late = 0

    def read(self, size: int | None = -1) -> bytes:
        self.late += 3600
        return super().read(size)

    def monotonic(self) -> float:
        return time.monotonic() + self.late

    perf_counter = monotonic


def test_the_time_that_a_client_takes_to_send_its_body_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    line = SlowLine(b"name=Opera&slug=opera")
    monkeypatch.setattr("headline.deadline.time", line)
    form = {"content_type": "application/x-www-form-urlencoded", "wsgi.input": line}
    response = client.post("/admin/articles/tag/add/", line.getvalue(), **form)  # type: ignore[arg-type]
    assert (response.status_code, Tag.objects.count(), line.late > 0) == (302, 1, True)


@pytest.mark.skipif(connection.vendor != "mysql", reason="SQLite has no limit of statements")
@pytest.mark.parametrize("statement", ["SELECT SLEEP(20)", "(SELECT SLEEP(20)) UNION (SELECT 1)"])
def test_the_last_statement_gets_what_is_left(statement: str) -> None:
    def view(_request: Any) -> Any:
        with connection.cursor() as cursor:
            cursor.execute("WITH few AS (SELECT 1 AS one) SELECT one FROM few")
            cursor.execute(statement)

    begin = time.monotonic()
    with override_settings(REQUEST_TIMEOUT=0.4), pytest.raises(OperationalError, match="1969"):
        DeadlineMiddleware(view)(RequestFactory().get("/"))
    assert time.monotonic() - begin < settings.DATABASE_TIMEOUT - 2, "the database ends it a second later"
