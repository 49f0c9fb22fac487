"""An update that a worker publishes is dated by its commit, as its task's record is."""

from __future__ import annotations

import pytest

from articles import publishing
from articles.models import Article, Correction
from articles.task_types import UPDATE
from scheduling.models import TaskInfoLog
from scheduling.worker import Worker
from tests.articles.factories import approve, make_article, make_editor, soon

pytestmark = pytest.mark.django_db(transaction=True)


def updated(changes: dict[str, str], correction: str = "") -> Article:
    """A live article whose update a worker has published."""
    irene = make_editor("irene")
    before = soon(hours=-2)
    article = make_article("News", status=Article.Status.PUBLISHED, publish_at=before, published_at=before)
    publishing.edit(article, by=irene, changes=changes, correction=correction)
    publishing.submit(article, by=irene)
    approve(article)
    publishing.schedule_update(article, publish_at=soon(seconds=-1), by=irene)
    Worker().drain()
    return Article.objects.get(pk=article.pk)


def test_an_update_and_its_correction_have_the_time_from_which_readers_saw_them() -> None:
    article = updated({"title": "Better"}, correction="It was wrong.")
    committed_at = TaskInfoLog.objects.get(task_type=UPDATE).executed_at
    assert (article.title, article.text_changed_at) == ("Better", committed_at)
    assert Correction.objects.get().published_at == committed_at


def test_an_article_that_was_changed_before_its_update_is_dated_stays_as_it_is() -> None:
    article = updated({"title": "Better"}, correction="It was wrong.")
    Article.objects.filter(pk=article.pk).update(updated_at=soon(seconds=1))
    publishing.date_updates([article.pk], soon(hours=1))
    assert Article.objects.get().text_changed_at == article.text_changed_at
    assert Correction.objects.get().published_at == article.text_changed_at
