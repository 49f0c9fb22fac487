"""What a person does just before an instant, and that would end after it, takes nothing away that readers saw."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, connections
from django.test import Client

from articles import fronts, publishing, releases
from articles.exceptions import ArticleError, FrontLive
from articles.models import Article, AuditEntry, Release, SensitiveWord
from articles.publishing import bulk, rescan
from articles.workflow import Transition
from scheduling.database import clock, read_database_clock, transactions
from scheduling.services import run_due, sweep
from tests.articles.desk.articles.test_admin import confirmed, form_address, form_of, wall
from tests.articles.factories import APPROVED, approve, make_article, make_editor, make_front, soon
from tests.articles.import_files import run_import, write_lines
from tests.harness import eventually

pytestmark = pytest.mark.django_db(transaction=True)

Status = Article.Status


@pytest.fixture(autouse=True, params=[-60, pytest.param(60, marks=pytest.mark.thorough)])
def _wrong_clock(request: pytest.FixtureRequest) -> Iterator[None]:
    """This process has not measured the database's clock, and its machine's is a minute off: it only estimates it."""
    clock.measure()
    clock._ahead += request.param
    yield
    clock.measure()


@pytest.fixture
def irene() -> User:
    return make_editor("irene")


@contextmanager
def lasting_until(at: datetime) -> Iterator[None]:
    """Each audit entry is written after this instant, as if its transaction took so long."""

    def wait(execute: Callable[..., Any], sql: str, *args: Any) -> Any:
        if sql.startswith("INSERT") and AuditEntry._meta.db_table in sql:
            eventually(lambda: read_database_clock() > at)
        return execute(sql, *args)

    with connection.execute_wrapper(wait):
        yield


def recorded(article_id: int) -> set[str]:
    """The actions in the audit log, after a worker has measured the clock and done what is due."""
    clock.measure()

    def work() -> bool:
        sweep(grace=0)
        return run_due(10) == 0

    eventually(work)
    return set(AuditEntry.objects.filter(article_id=article_id).values_list("action", flat=True))


def _client(by: User) -> Client:
    client = Client()
    client.force_login(by)
    return client


def _patch(by: User, article: Article, **values: datetime) -> int:
    address = f"/api/v1/desk/articles/{article.pk}/"
    sent = {name: value.isoformat() for name, value in values.items()}
    return _client(by).patch(address, sent, content_type="application/json").status_code


def _reschedule_by_api(article: Article, by: User) -> None:
    assert _patch(by, article, publish_at=soon(hours=3)) in (200, 400, 409)


def _embargo_by_api(article: Article, by: User) -> None:
    assert _patch(by, article, embargo_until=soon(hours=3)) in (200, 400, 409)


def _edit_end(article: Article, by: User) -> None:
    publishing.edit(article, by=by, changes={"publish_at": None})


def _shift(article: Article, by: User) -> None:
    publishing.reschedule_many([article], shift=timedelta(hours=3), by=by)


def _schedule_many(article: Article, by: User) -> None:
    publishing.schedule_many([article], publish_at=soon(hours=3), by=by)


def _join_release(article: Article, by: User) -> None:
    releases.add_member(Release.objects.get(), article=article, by=by)


def _delete_by_api(article: Article, by: User) -> None:
    assert _client(by).delete(f"/api/v1/desk/articles/{article.pk}/").status_code == 204


def _delete_in_the_desk(article: Article, by: User) -> None:
    answer = _client(by).post(f"/admin/articles/article/{article.pk}/delete/", {"post": "yes"})
    assert answer.status_code == 302


def _delete(article: Article, by: User) -> None:
    article.delete()


def _delete_many(article: Article, by: User) -> None:
    Article.objects.filter(pk=article.pk).delete()


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    "act",
    [
        _reschedule_by_api,
        _edit_end,
        _schedule_many,
        _join_release,
        _delete_many,
        *(
            pytest.param(act, marks=pytest.mark.thorough)
            for act in (_embargo_by_api, _shift, _delete_by_api, _delete_in_the_desk, _delete)
        ),
    ],
)
def test_no_change_of_an_article_passes_over_what_readers_saw(
    irene: User, act: Callable[[Article, User], None]
) -> None:
    """R0.4"""
    article = make_article(status=APPROVED)
    at = soon(seconds=2)
    publishing.schedule(article, by=irene, publish_at=at)
    releases.create_release(name="Budget day", by=irene)
    pk = article.pk
    with lasting_until(at), suppress(ArticleError):
        act(article, irene)
    assert "published" in recorded(pk)


def test_an_undo_passes_over_nothing(irene: User) -> None:
    article = make_article(status=APPROVED)
    at = soon(seconds=2)
    action = bulk.gather_articles(Transition.SCHEDULE, [(article.pk, article.title)], by=irene)
    bulk.start_bulk_action(action, publish_at=at)
    while bulk.advance_bulk_action(action.pk):
        pass
    action.refresh_from_db()
    undoing = bulk.undo_bulk_action(action, by=irene)
    with lasting_until(at):
        while bulk.advance_bulk_action(undoing.pk):
            pass
    assert "published" in recorded(article.pk)


def test_an_import_passes_over_nothing(irene: User, tmp_path: Path) -> None:
    file, at = tmp_path / "articles.jsonl", soon(seconds=4)
    item = {"external_id": "gazette-7", "title": "Bridge opens", "status": "scheduled"}
    run_import(write_lines(file, {**item, "publish_at": at.isoformat()}))
    article = Article.objects.get()
    with lasting_until(at):
        later = soon(hours=3).isoformat()
        run_import(write_lines(file, {**item, "title": "Bridge opens at last", "publish_at": later}))
    assert "published" in recorded(article.pk)


def _with_update(irene: User, at: datetime) -> Article:
    article = make_article(status=APPROVED, publish_at=soon(hours=-1))
    publishing.edit(article, by=irene, changes={"title": "New"})
    publishing.submit(article, by=irene)
    approve(article)
    publishing.schedule_update(article, by=irene, publish_at=at)
    return article


@pytest.mark.parametrize("seconds", [0, 2])
def test_an_update_that_joins_a_release_was_not_live_before(irene: User, seconds: int) -> None:
    at = soon(seconds=seconds)
    article, release = _with_update(irene, at), releases.create_release(name="Budget day", by=irene)
    with lasting_until(at), suppress(ArticleError):
        releases.add_member(release, article=article, by=irene)
    assert "updated" in recorded(article.pk)


def test_an_update_that_readers_saw_is_not_pulled_back(irene: User) -> None:
    article = _with_update(irene, soon())
    SensitiveWord.objects.create(text="New", level=SensitiveWord.Level.REVIEW)
    rescan.review_again()
    assert "updated" in recorded(article.pk)


def test_a_front_is_unscheduled_before_its_instant_or_not_at_all(irene: User) -> None:
    at = soon(seconds=4)
    version = make_front(make_article(status=APPROVED), live_from=at)
    with lasting_until(at), pytest.raises(FrontLive):
        fronts.unschedule_version(version, by=irene)


def test_a_deletion_records_the_times_that_are_stored(irene: User) -> None:
    article, at = make_article(status=APPROVED), soon(hours=1)
    publishing.schedule(Article.objects.get(), by=irene, publish_at=at)
    pk = article.pk
    article.delete()
    assert AuditEntry.objects.get(article_id=pk, action="delete").old_time == at


def test_a_form_says_only_what_was_stored(irene: User) -> None:
    article, client = make_article(status=APPROVED), _client(irene)
    at = soon(seconds=3)
    publishing.schedule(article, by=irene, publish_at=at)
    sent = form_of(client, article)
    with lasting_until(at):
        page = confirmed(client, form_address(article), {**sent, "publish_at": wall(soon(hours=3)), "_save": "1"})
    said = [str(one) for one in page.context["messages"]]
    assert (len(said), said[0][:9]) == (2, "Went live")
    assert "published" in recorded(article.pk)


def test_a_deletion_is_reported_once(irene: User) -> None:
    article, client = make_article(status=APPROVED), _client(irene)
    at = soon(seconds=3)
    publishing.schedule(article, by=irene, publish_at=at)
    with lasting_until(at):
        page = client.post(f"/admin/articles/article/{article.pk}/delete/", {"post": "yes"}, follow=True)
    assert len(page.context["messages"]) == 1


def test_a_commit_may_take_its_time(irene: User, monkeypatch: pytest.MonkeyPatch) -> None:
    article, at = make_article(status=APPROVED), soon(seconds=2)
    publishing.schedule(article, by=irene, publish_at=at)
    used: Any = connections[connection.alias]
    refuse = transactions._refuse_passed
    commit = used._commit

    def refuse_late() -> None:
        while read_database_clock() < at - timedelta(milliseconds=10):
            pass
        refuse()

    def commit_slowly() -> None:
        sleep(0.015)
        commit()

    monkeypatch.setattr(transactions, "_refuse_passed", refuse_late)
    monkeypatch.setattr(used, "_commit", commit_slowly)
    with suppress(ArticleError):
        publishing.unschedule(article, by=irene)
    assert "published" in recorded(article.pk)
