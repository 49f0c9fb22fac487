"""Task handlers of a worker: going live and unpublishing."""

from __future__ import annotations

import gc
import logging
import sys
import threading
from collections.abc import Mapping
from typing import Any

import pytest
from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.test import TestCase

from articles import publishing
from articles.audit import record
from articles.handlers import publish, unpublish
from articles.models import Article, AuditEntry, Notification, Revision
from articles.task_types import NOTIFY, PUBLISH, RELEASE, UNPUBLISH, UPDATE
from scheduling import registry
from scheduling.database import read_database_clock
from scheduling.models import TaskInfo, TaskInfoLog
from scheduling.registry import Drop, Fail, Verdict
from scheduling.services import add_tasks, run_due, run_once, sweep
from scheduling.workers.worker import Worker
from tests.articles.factories import (
    APPROVED,
    EARLY,
    make_article,
    make_editor,
    make_user,
    publish_tasks,
    soon,
    unpublish_tasks,
)

Status = Article.Status


def verdicts_of_publishing() -> Mapping[int, Verdict]:
    return publish(list(TaskInfo.objects.filter(task_type="articles.publish"))) or {}


def reason(verdicts: Mapping[int, Verdict]) -> str:
    (verdict,) = verdicts.values()
    assert isinstance(verdict, Drop)
    return verdict.reason


@pytest.mark.django_db
def test_a_due_article_is_published_and_stamped() -> None:
    """R0.4 R1.15"""
    due = soon(seconds=-1)
    article = make_article(status=APPROVED, publish_at=due, cleared_at=EARLY)
    assert verdicts_of_publishing() == {}
    article.refresh_from_db()
    assert article.status == Status.PUBLISHED
    assert article.published_at == due


@pytest.mark.django_db(transaction=True)
def test_the_log_has_the_lateness_of_the_latest_record(caplog: pytest.LogCaptureFixture) -> None:
    for seconds in (-0.3, -0.2):
        make_article(status=APPROVED, publish_at=soon(seconds=seconds))
    with caplog.at_level(logging.INFO, "articles.handlers"):
        run_due(10)
    late = max(filter(None, (record.lateness_ms for record in TaskInfoLog.objects.filter(task_type=PUBLISH))))
    assert f"published 2 articles, late {late:.1f} ms at most" in caplog.messages


@pytest.mark.parametrize("task_type", [PUBLISH, UNPUBLISH, UPDATE, RELEASE])
@pytest.mark.django_db
def test_a_task_without_a_subject_fails_alone(task_type: str) -> None:
    """Its neighbours are not run again."""
    now = read_database_clock()
    values: list[Any] = [{}, None, {"article_id": "seven", "release_id": [1]}, {"article_id": 1, "release_id": 1}]
    given = [{"task_type": task_type, "execute_time": now, "parameters": parameters} for parameters in values]
    *invalid, unknown = add_tasks(given)
    found = registry.get(task_type)
    assert found is not None
    verdicts = found.run([*invalid, unknown]) or {}
    assert [type(verdicts.get(task.task_id)) for task in (*invalid, unknown)] == [Fail, Fail, Fail, Drop]


@pytest.mark.django_db
def test_publishing_counts_as_no_edit() -> None:
    article = make_article(status=APPROVED, publish_at=soon(seconds=-1))
    verdicts_of_publishing()
    assert Article.objects.get().updated_at == article.updated_at


@pytest.mark.django_db(transaction=True)
def test_the_first_article_of_a_worker_finds_its_statements_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiling them takes as long as publishing the article."""
    for module, name in ((gc, "freeze"), (gc, "disable"), (sys, "setswitchinterval")):  # of a process of its own
        monkeypatch.setattr(module, name, lambda *_: None)
    compiled = vars(connections[DEFAULT_DB_ALIAS]).setdefault("compiled_once", {})
    compiled.clear()
    worker = Worker(task_types=[PUBLISH])
    stopped = threading.Event()
    stopped.set()
    worker.run(stopped)
    prepared = set(compiled)
    assert bool(prepared) == (connection.vendor != "sqlite")
    make_article(status=APPROVED, publish_at=soon(seconds=-0.01), author=make_user("wen"))
    compiled_by_saving = set(compiled) - prepared
    assert worker.drain().executed == 1
    assert set(compiled) == prepared | compiled_by_saving


@pytest.mark.django_db
def test_500_articles_take_a_few_statements(django_assert_max_num_queries: pytest.FixtureRequest) -> None:
    """Four, one for the events, and six to add the task that notifies the authors; then those that run this one."""
    past, author = soon(seconds=-1), make_user("wen")
    Article.objects.bulk_create(
        Article(title=f"No. {number}", status=APPROVED, publish_at=past, cleared_at=EARLY, author=author)
        for number in range(500)
    )
    ids = list(Article.objects.values_list("pk", flat=True))
    tasks = [TaskInfo(task_id=pk, parameters={"article_id": pk}, execute_time=soon(), promised_at=soon()) for pk in ids]
    with django_assert_max_num_queries(10):  # type: ignore[operator]
        assert publish(tasks) == {}
    TaskInfo.objects.filter(task_type=NOTIFY).update(execute_time=past)
    sweep(grace=0)
    with django_assert_max_num_queries(12):  # type: ignore[operator]
        assert run_once(10, task_types=[NOTIFY]).executed == 1
    assert Article.objects.filter(status=Status.PUBLISHED).count() == 500
    assert Notification.objects.filter(user=author, kind=Notification.Kind.PUBLISHED, at__gte=past).count() == 500
    entries = AuditEntry.objects.filter(action="published", article_id__in=ids, at__gte=past)
    assert entries.values("old_status", "new_status", "old_time", "revision", "source").distinct().get() == {
        "old_status": APPROVED, "new_status": Status.PUBLISHED, "old_time": past, "revision": 0, "source": "worker",
    }  # fmt: skip
    assert entries.count() == 500


@pytest.mark.django_db
@pytest.mark.parametrize("status", set(Status) - set(Status.waiting()))
def test_an_article_that_is_not_approved_any_more_is_not_published(status: Status) -> None:
    """R0.3"""
    make_article(status=APPROVED, publish_at=soon(seconds=-1))
    Article.objects.update(status=status)
    assert status.name.lower() in reason(verdicts_of_publishing())
    assert Article.objects.get().status == status


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["publish_at", "embargo_until"])
def test_an_article_moved_later_without_a_save_is_not_published_early(name: str) -> None:
    """R1.19"""
    article = make_article(status=APPROVED, publish_at=soon(seconds=-1))
    Article.objects.update(**{name: (later := soon(hours=1))})
    with TestCase.captureOnCommitCallbacks(execute=True):
        assert "not come" in reason(verdicts_of_publishing())
    assert Article.objects.get().status == APPROVED
    assert publish_tasks(article) == [later]


@pytest.mark.django_db
def test_the_task_of_an_article_deleted_without_a_save_is_dropped() -> None:
    make_article(status=APPROVED, publish_at=soon(seconds=-1))
    with connection.cursor() as cursor:
        for model in (Revision, Article):
            cursor.execute(f"DELETE FROM {model._meta.db_table}")  # noqa: S608 (the name is the model's)
    assert "deleted" in reason(verdicts_of_publishing())


@pytest.mark.django_db
def test_an_invalid_task_does_not_stop_the_others() -> None:
    """R0.8"""
    drafts = [make_article(status=APPROVED, publish_at=soon(seconds=-1)) for _ in range(2)]
    Article.objects.filter(pk=drafts[0].pk).update(status=Status.DRAFT)
    assert len(verdicts_of_publishing()) == 1
    assert Article.objects.get(pk=drafts[1].pk).status == Status.PUBLISHED


@pytest.mark.django_db(transaction=True)
def test_one_refused_audit_entry_costs_the_rest_of_a_burst_neither_entry_nor_publication() -> None:
    past, author = soon(seconds=-1), make_user("wen")
    articles = [make_article(status=APPROVED, publish_at=past, author=author) for _ in range(30)]
    record("published", article=articles[7])
    with connection.cursor() as cursor:
        cursor.execute("CREATE UNIQUE INDEX one_each ON articles_auditentry (article_id, action)")
        try:
            assert run_due(100) == 30
        finally:
            cursor.execute("DROP INDEX one_each" + " ON articles_auditentry" * (connection.vendor == "mysql"))
    published = set(Article.objects.filter(status=Status.PUBLISHED).values_list("pk", flat=True))
    assert published == {article.pk for article in articles} - {articles[7].pk}
    recorded = AuditEntry.objects.filter(action="published", source="worker").values_list("article_id", flat=True)
    assert (set(recorded), len(recorded)) == (published, len(published))
    assert TaskInfo.objects.get(task_type="articles.publish").attempts == 1


@pytest.mark.django_db
def test_an_article_whose_whole_span_was_missed_is_unpublished_and_never_published() -> None:
    make_article(status=APPROVED, publish_at=soon(hours=-2), unpublish_at=soon(hours=-1))
    with TestCase.captureOnCommitCallbacks(execute=True):
        verdicts_of_publishing()
    assert Article.objects.get().status == APPROVED
    assert unpublish(list(TaskInfo.objects.filter(task_type="articles.unpublish"))) == {}
    assert Article.objects.values_list("status", "published_at").get() == (Status.UNPUBLISHED, None)


@pytest.mark.django_db
def test_an_article_that_was_live_by_the_clock_alone_keeps_its_time_and_its_readers_see_why_it_is_retracted() -> None:
    """No worker ran during its whole span."""
    went_live, end = soon(hours=-2), soon(hours=-1)
    article = make_article(status=APPROVED, publish_at=went_live, unpublish_at=end, cleared_at=EARLY)
    assert unpublish(list(TaskInfo.objects.filter(task_type="articles.unpublish"))) == {}
    publishing.retract(article, by=make_editor(), notice="This was wrong.")
    assert Article.objects.retracted().values_list("publish_at", "published_at").get() == (went_live, went_live)


@pytest.mark.django_db(transaction=True)
def test_a_worker_that_only_publishes_does_not_go_round_in_circles_about_an_article_that_is_over() -> None:
    make_article(status=APPROVED, publish_at=soon(hours=-2), unpublish_at=soon(hours=-1))
    assert Worker(task_types=[PUBLISH]).drain().dropped == 1
    assert not TaskInfo.objects.filter(task_type=PUBLISH).exists()


@pytest.mark.django_db
def test_an_article_is_unpublished_at_its_end() -> None:
    """R5.5"""
    make_article(status=Status.PUBLISHED, publish_at=soon(hours=-2), unpublish_at=soon(seconds=-1))
    assert unpublish(list(TaskInfo.objects.all())) == {}
    assert Article.objects.get().status == Status.UNPUBLISHED


@pytest.mark.django_db
def test_an_end_moved_later_without_a_save_is_kept() -> None:
    article = make_article(status=Status.PUBLISHED, publish_at=soon(hours=-2), unpublish_at=soon(seconds=-1))
    Article.objects.update(unpublish_at=(later := soon(hours=1)))
    with TestCase.captureOnCommitCallbacks(execute=True):
        reason(unpublish(list(TaskInfo.objects.all())) or {})
    assert Article.objects.get().status == Status.PUBLISHED
    assert unpublish_tasks(article) == [later]


@pytest.mark.django_db(transaction=True)
def test_the_engine_publishes_a_due_article_and_forgets_the_task(caplog: pytest.LogCaptureFixture) -> None:
    """R0.4"""
    caplog.set_level(logging.INFO, "articles")
    article = make_article(status=APPROVED, publish_at=soon(seconds=-1))
    assert run_due(100) == 1
    assert Article.objects.get().status == Status.PUBLISHED
    assert publish_tasks(article) == []
    assert TaskInfoLog.objects.get().status == TaskInfoLog.Status.EXECUTED
    assert "published 1 article, late" in caplog.text


@pytest.mark.django_db(transaction=True)
def test_the_engine_closes_the_task_of_a_cancelled_article() -> None:
    """R1.18"""
    article = make_article(status=APPROVED, publish_at=soon(seconds=-1))
    Article.objects.update(status=Status.DRAFT)
    run_due(100)
    assert Article.objects.get().status == Status.DRAFT
    assert TaskInfoLog.objects.get(key=str(article.pk)).status == TaskInfoLog.Status.CANCELLED


@pytest.mark.django_db(transaction=True)
def test_a_task_without_an_article_fails_alone() -> None:
    """R0.8"""
    make_editor()
    article = make_article(status=APPROVED, publish_at=soon(seconds=-1))
    TaskInfo.objects.update(parameters=["nonsense"])
    healthy = make_article("Healthy", status=APPROVED, publish_at=soon(seconds=-1))
    run_due(100)
    assert Article.objects.get(pk=healthy.pk).status == Status.PUBLISHED
    assert Article.objects.get(pk=article.pk).status == APPROVED
    assert TaskInfo.objects.get().attempts == 1
