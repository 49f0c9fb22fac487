"""How many statements a save takes: no more for many articles than for one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from articles import publishing
from articles.models import Article, AuditEntry, SearchEntry
from articles.task_types import PUBLISH
from scheduling.models import TaskInfo, TaskInfoLog
from tests.articles.factories import APPROVED, make_article, make_editor, soon

MOST = 12


@contextmanager
def at_most(most: int) -> Iterator[None]:
    """The block takes at most so many statements, with those that begin, commit or follow the transaction."""
    make_article("The first save reads what this process does not know yet", status=APPROVED, publish_at=soon(hours=9))
    with CaptureQueriesContext(connection) as queries:
        yield
    assert len(queries) <= most, "\n".join(query["sql"][:150] for query in queries)


def waiting(title: str = "News") -> Article:
    article = make_article(title, status=APPROVED, publish_at=soon(hours=1))
    return Article.objects.get(pk=article.pk)


def due_times() -> set[object]:
    return set(TaskInfo.objects.filter(task_type=PUBLISH).values_list("execute_time", flat=True))


def test_a_new_article_with_a_time_is_saved(transactional_db: None) -> None:
    article = Article(title="News", body="Text", status=APPROVED, publish_at=soon(hours=3))
    with at_most(MOST):
        article.save()
    assert article.publish_at in due_times()
    assert SearchEntry.objects.filter(article=article).exists()
    assert AuditEntry.objects.of(article).count() == 1


@pytest.mark.parametrize("name", ["publish_at", "unpublish_at", "title", "byline", "body", "external_digest"])
def test_an_article_with_a_time_is_saved(transactional_db: None, name: str) -> None:
    article = waiting()
    setattr(article, name, soon(hours=5) if name.endswith("_at") else "Other")
    with at_most(MOST):
        article.save()
    stored = Article.objects.select_related("search").get(pk=article.pk)
    assert getattr(stored, name) == getattr(article, name)
    assert (stored.publish_at in due_times(), stored.search.seen) == (True, stored.updated_at)
    assert AuditEntry.objects.of(article).count() == 2


def test_an_article_is_scheduled_by_an_editor(transactional_db: None) -> None:
    article, editor, moment = waiting(), make_editor(), soon(hours=5)
    assert editor.has_perm("articles.schedule_article")
    with at_most(13):
        publishing.schedule(article, publish_at=moment, by=editor)
    assert moment in due_times()


def test_a_save_within_a_transaction_takes_no_savepoint(transactional_db: None) -> None:
    article, editor = waiting(), make_editor()
    with CaptureQueriesContext(connection) as queries:
        publishing.schedule(article, publish_at=soon(hours=5), by=editor)
    assert not [query["sql"] for query in queries if "SAVEPOINT" in query["sql"]]


@pytest.mark.parametrize("change", ["schedule_many", "reschedule_many"])
def test_many_articles_take_as_many_statements_as_two(transactional_db: None, change: str) -> None:
    articles, editor = [waiting(f"News {number}") for number in range(12)], make_editor()
    assert editor.has_perm("articles.schedule_article")
    given = {"publish_at": soon(hours=4)} if change == "schedule_many" else {"shift": timedelta(hours=3)}
    counts = []
    for chosen in (articles[:2], articles[2:]):
        with CaptureQueriesContext(connection) as queries:
            assert getattr(publishing, change)(chosen, by=editor, **given) == len(chosen)
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 16
    stored = {article.pk: article.publish_at for article in Article.objects.all()}
    tasks = {int(task.key or 0): task.execute_time for task in TaskInfo.objects.filter(task_type=PUBLISH)}
    logs = {int(log.key or 0): log.execute_time for log in TaskInfoLog.objects.filter(task_type=PUBLISH)}
    assert stored == tasks == logs
    assert AuditEntry.objects.filter(action__in=["schedule", "reschedule"]).count() == 12


def test_a_saved_article_and_its_update_know_each_other(db: None) -> None:
    article, editor = waiting(), make_editor()
    publishing.edit(article, by=editor, changes={"body": "Newer"})
    stored = Article.objects.get(pk=article.pk)
    stored.title = "Other"
    stored.save()
    assert stored.pending_update is not None
    assert stored.pending_update.article is stored
