"""A process whose machine has a wrong clock, while the database's is right: what it stores and decides is the same."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import time_machine
from django.contrib.auth.models import User
from django.db import connection

from articles import publishing, releases
from articles.models import Article, AuditEntry, Event, Release
from headline.api.models import IdempotentRequest
from scheduling.database import clock, read_database_clock
from scheduling.services import run_due, sweep
from tests.articles.api.test_bulk import client_of
from tests.articles.factories import APPROVED, approve, make_article, make_editor, make_release, soon
from tests.articles.import_files import run_import, write_lines
from tests.harness import eventually

pytestmark = pytest.mark.django_db(transaction=True)

Status = Article.Status


@pytest.fixture(autouse=True, params=[-600, 600], ids=["behind", "ahead"])
def _wrong_clock(request: pytest.FixtureRequest) -> Iterator[None]:
    if connection.vendor == "sqlite":
        pytest.skip("SQLite has no clock of its own")
    with time_machine.travel(datetime.now(UTC) + timedelta(seconds=request.param)):
        yield
    clock.measure()


@pytest.fixture
def irene() -> User:
    return make_editor("irene")


def work() -> None:
    clock.measure()

    def done() -> bool:
        sweep(grace=0)
        return run_due(10) == 0

    eventually(done)


def test_an_update_is_dated_by_its_instant(irene: User) -> None:
    article = make_article(
        status=Status.PUBLISHED, publish_at=soon(hours=-1), published_at=soon(hours=-1), author=irene
    )
    at = soon(seconds=2)
    publishing.edit(article, by=irene, changes={"title": "Harbour bridge closes"})
    article = Article.objects.get(pk=article.pk)
    publishing.submit(article, by=irene)
    approve(article)
    article = Article.objects.get(pk=article.pk)
    publishing.schedule_update(article, by=irene, publish_at=at)
    eventually(lambda: read_database_clock() > at)
    work()
    article = Article.objects.get(pk=article.pk)
    assert article.title == "Harbour bridge closes"
    event = Event.objects.filter(kind=Event.Kind.UPDATED).get()
    entry = AuditEntry.objects.filter(action="updated").get()
    assert (event.happened_at, entry.old_time, article.text_changed_at) == (at, at, at)


def test_a_release_is_dated_by_its_instant(irene: User) -> None:
    article = make_article(status=APPROVED, author=irene)
    release = make_release(article, by=irene)
    at = soon(seconds=2)
    releases.schedule_release(release, publish_at=at, by=irene)
    eventually(lambda: read_database_clock() > at)
    work()
    release.refresh_from_db()
    article = Article.objects.get(pk=article.pk)
    assert release.status == Release.Status.PUBLISHED
    assert (release.published_at, article.published_at, article.goes_live_at) == (at, at, at)


def test_an_import_knows_what_is_past_due(tmp_path: Path) -> None:
    due, missed = soon(minutes=5), soon(minutes=-5)
    records = [
        {"title": title, "status": "future", "publish_at": at.isoformat()}
        for title, at in (("Due", due), ("Missed", missed))
    ]
    assert run_import(write_lines(tmp_path / "articles.jsonl", *records)).code == 0
    assert dict(Article.objects.values_list("title", "status")) == {"Due": APPROVED, "Missed": Status.DRAFT}


def test_what_is_written_and_saved_is_dated_by_the_database(irene: User) -> None:
    since = read_database_clock()
    article = make_article(author=irene)
    created = article.created_at
    publishing.edit(article, by=irene, changes={"title": "Harbour bridge closes"})
    assert since < created < article.updated_at < read_database_clock()
    stored = Article.objects.get(pk=article.pk)
    assert (stored.created_at, stored.updated_at) == (created, article.updated_at)
    saved_at = list(stored.revisions.order_by("number").values_list("created_at", flat=True))
    assert [since < moment < read_database_clock() for moment in saved_at] == [True, True]
    stored.title = "Harbour bridge reopens"
    stored.save()  # by other code
    assert article.updated_at < stored.updated_at < read_database_clock()
    assert Article.objects.get(pk=article.pk).updated_at == stored.updated_at
    Article(title="New").save()
    assert since < Article.objects.get(title="New").created_at < read_database_clock()


def test_a_request_is_remembered_by_the_database(irene: User) -> None:
    """Or one sent again would be done again, where a machine is a day behind."""
    api, key = client_of(irene), {"Idempotency-Key": "once"}
    answers = [api.post("/api/v1/desk/articles/", {"title": "Once", "body": "x"}, headers=key) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert Article.objects.count() == 1
    assert abs(IdempotentRequest.objects.get().created_at - read_database_clock()) < timedelta(minutes=1)
