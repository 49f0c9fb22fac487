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
from scheduling.database import clock, read_database_clock
from scheduling.services import run_due, sweep
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
