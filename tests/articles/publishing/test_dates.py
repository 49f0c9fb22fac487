"""Records have the times of what readers saw, whether a worker or the clock alone has shown it."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime

import pytest
from django.db import connection, transaction

from articles import publishing, releases
from articles.audit import Action
from articles.models import Article, AuditEntry, Correction, Release, Update
from articles.task_types import DATE, PUBLISH, UPDATE
from scheduling import registry
from scheduling.database import read_database_clock
from scheduling.models import TaskInfo, TaskInfoLog
from scheduling.services import sweep
from scheduling.workers.worker import Worker
from tests.articles.factories import (
    APPROVED,
    EARLY,
    allow_automatic_approval,
    approve,
    make_article,
    make_editor,
    make_release,
    soon,
)

pytestmark = pytest.mark.django_db(transaction=True)


def updated(changes: dict[str, str], correction: str = "") -> Article:
    """A live article whose update a worker has published."""
    irene = make_editor("irene")
    before = soon(hours=-2)
    article = make_article("News", status=Article.Status.PUBLISHED, publish_at=before, published_at=before)
    publishing.edit(article, by=irene, changes=changes, correction=correction)
    publishing.submit(article, by=irene)
    approve(article)
    publishing.schedule_update(article, publish_at=soon(minutes=-1), by=irene)
    Update.objects.update(updated_at=soon(minutes=-2))
    Worker().drain()
    return Article.objects.get(pk=article.pk)


def test_an_update_and_its_correction_have_the_time_from_which_readers_saw_them() -> None:
    article = updated({"title": "Better"}, correction="It was wrong.")
    instant = TaskInfoLog.objects.get(task_type=UPDATE).execute_time
    assert (article.title, article.text_changed_at) == ("Better", instant)
    assert Correction.objects.get().published_at == instant


@pytest.mark.parametrize("is_over", [False, True])
def test_deleting_what_only_the_clock_had_published_records_that_first(*, is_over: bool) -> None:
    begin, end = soon(minutes=-5), soon(minutes=-1) if is_over else None
    article = make_article(status=APPROVED, publish_at=begin, unpublish_at=end, cleared_at=EARLY)
    key = str(article.pk)
    article.delete()
    entries = AuditEntry.objects.exclude(action__in=("create", "save")).order_by("pk")
    shown = [Action.PUBLISHED, Action.UNPUBLISHED, Action.DELETE] if end else [Action.PUBLISHED, Action.DELETE]
    assert list(entries.values_list("action", flat=True)) == shown
    assert (entries[0].new_time, entries[0].source) == (begin, AuditEntry.Source.WORKER)
    task = TaskInfoLog.objects.get(task_type=PUBLISH, key=key)
    assert (task.status, task.worker) == (TaskInfoLog.Status.EXECUTED, publishing.BY_CLOCK)


def test_deleting_what_no_one_has_seen_records_nothing_else() -> None:
    make_article(status=APPROVED, publish_at=soon(hours=1)).delete()
    assert not AuditEntry.objects.filter(action=Action.PUBLISHED).exists()


def in_a_long_transaction(action: Callable[[], object]) -> datetime:
    """Run `action`, and commit later; a time shortly before the commit."""
    with transaction.atomic():
        action()
        time.sleep(0.01)
        return read_database_clock()


def one(times: set[datetime | None]) -> datetime:
    """The time that all of these are."""
    (moment,) = times
    assert moment is not None
    return moment


def test_what_a_person_publishes_has_the_time_of_its_commit() -> None:
    irene = make_editor("irene")
    article = make_article("New", status=APPROVED)
    committing = in_a_long_transaction(lambda: publishing.publish_now(article, by=irene))
    stored = Article.objects.get()
    times = {stored.published_at, stored.publish_at, stored.goes_live_at, stored.text_changed_at}
    assert one(times) >= committing
    assert (article.published_at, article.publish_at) == (stored.published_at, stored.publish_at)
    assert article.changed_fields() == frozenset()


def test_what_a_person_approves_late_stands_where_readers_got_it() -> None:
    article = make_article("Late", publish_at=soon(minutes=-1), status=Article.Status.MANUAL_REVIEW)
    committing = in_a_long_transaction(lambda: approve(article))
    assert Article.objects.get().goes_live_at >= committing


def test_what_an_edit_lets_go_live_stands_where_readers_got_it() -> None:
    irene = make_editor("irene")
    article = make_article("New", publish_at=soon(minutes=-1), embargo_until=soon(hours=1), status=APPROVED)
    lift = {"embargo_until": None}
    committing = in_a_long_transaction(lambda: publishing.edit(article, by=irene, changes=lift))
    assert Article.objects.get().goes_live_at >= committing


def test_what_a_worker_approves_late_stands_where_readers_got_it() -> None:
    allow_automatic_approval()
    article = make_article("Late", publish_at=soon(minutes=-1), status=Article.Status.SUBMITTED)
    committing = in_a_long_transaction(lambda: publishing.review_submitted(article.pk, needs_reviewer=False))
    assert Article.objects.get().goes_live_at >= committing


def test_an_update_that_a_person_publishes_has_the_time_of_its_commit() -> None:
    irene = make_editor("irene")
    before = soon(hours=-2)
    article = make_article("News", status=Article.Status.PUBLISHED, publish_at=before, published_at=before)
    publishing.edit(article, by=irene, changes={"title": "Better"}, correction="It was wrong.")
    publishing.submit(article, by=irene)
    approve(article)
    committing = in_a_long_transaction(lambda: publishing.publish_update(article, by=irene))
    assert one({Article.objects.get().text_changed_at, Correction.objects.get().published_at}) >= committing


def test_a_release_that_a_person_publishes_has_the_time_of_its_commit() -> None:
    irene = make_editor("irene")
    article = make_article("New", status=APPROVED)
    release = make_release(article, by=irene)
    committing = in_a_long_transaction(lambda: releases.publish_release_now(release, by=irene))
    times = {Article.objects.get().published_at, Release.objects.get().published_at, release.published_at}
    assert one({*times, Article.objects.get().publish_at, Release.objects.get().publish_at}) >= committing


def by_a_process_that_dies(action: Callable[[], object]) -> datetime:
    """Run `action`, and nothing after its commit; a time after that."""
    with transaction.atomic():
        action()
        connection.run_on_commit.clear()
    return read_database_clock()


def work_later() -> None:
    """Let a worker run what is due in a second."""
    TaskInfo.objects.filter(task_type=DATE).update(execute_time=read_database_clock())
    sweep(grace=0)
    Worker().drain()
    assert not TaskInfo.objects.filter(task_type=DATE).exists()


def test_a_worker_dates_a_release_whose_process_died_after_its_commit() -> None:
    irene = make_editor("irene")
    release = make_release(make_article("New", status=APPROVED), by=irene)
    committed = by_a_process_that_dies(lambda: releases.publish_release_now(release, by=irene))
    assert one({Release.objects.get().published_at}) < committed
    work_later()
    assert one({Article.objects.get().goes_live_at, Release.objects.get().published_at}) >= committed
    assert TaskInfoLog.objects.get(task_type=DATE).status == TaskInfoLog.Status.EXECUTED


def test_a_worker_dates_an_article_whose_process_died_after_its_commit() -> None:
    irene = make_editor("irene")
    article = make_article("New", status=APPROVED)
    committed = by_a_process_that_dies(lambda: publishing.publish_now(article, by=irene))
    work_later()
    stored = Article.objects.get()
    assert one({stored.published_at, stored.publish_at, stored.goes_live_at, stored.text_changed_at}) >= committed


def test_a_worker_dates_no_update_that_was_published_before_it_came() -> None:
    irene = make_editor("irene")
    article = make_article("New", status=APPROVED)
    committed = by_a_process_that_dies(lambda: publishing.publish_now(article, by=irene))
    publishing.edit(article, by=irene, changes={"title": "Better"}, correction="It was wrong.")
    publishing.submit(article, by=irene)
    approve(article)
    publishing.publish_update(article, by=irene)
    seen = one({Article.objects.get().text_changed_at, Correction.objects.get().published_at})
    work_later()
    assert one({Article.objects.get().text_changed_at, Correction.objects.get().published_at}) == seen
    assert one({Article.objects.get().published_at}) >= committed


def test_what_a_process_has_dated_itself_no_worker_dates_again() -> None:
    irene = make_editor("irene")
    article = make_article("New", status=APPROVED)
    in_a_long_transaction(lambda: publishing.publish_now(article, by=irene))
    release = make_release(make_article("Two", status=APPROVED), by=irene)
    in_a_long_transaction(lambda: releases.publish_release_now(release, by=irene))
    assert not TaskInfo.objects.filter(task_type=DATE).exists()


def test_a_worker_that_was_away_when_an_article_was_published_does_not_know_when() -> None:
    irene = make_editor("irene")
    article = make_article("New", status=APPROVED)
    by_a_process_that_dies(lambda: publishing.publish_now(article, by=irene))
    long_ago = soon(minutes=-1)
    Article.objects.update(publish_at=long_ago, published_at=long_ago, cleared_at=long_ago)
    parameters = {"article_ids": [article.pk], "before": long_ago.isoformat()}
    TaskInfo.objects.filter(task_type=DATE).update(parameters=parameters)
    work_later()
    assert Article.objects.get().published_at == long_ago


def test_what_a_person_schedules_for_a_past_time_has_the_time_of_its_commit() -> None:
    irene = make_editor("irene")
    article, past = make_article("New", status=APPROVED), soon(minutes=-1)
    committing = in_a_long_transaction(lambda: publishing.schedule_many([article], publish_at=past, by=irene))
    assert Article.objects.get().goes_live_at >= committing
    assert not TaskInfo.objects.filter(task_type=DATE).exists()


def test_what_was_to_go_live_before_the_commit_of_its_approval_went_live_with_that() -> None:
    irene = make_editor("irene")
    scheduled, approved = make_article("New", status=APPROVED), make_article("Two", status=Article.Status.MANUAL_REVIEW)
    Article.objects.filter(pk=approved.pk).update(publish_at=soon(seconds=0.02))

    def act() -> None:
        publishing.schedule_many([scheduled], publish_at=soon(seconds=0.005), by=irene)
        approve(approved)
        time.sleep(0.03)

    committing = in_a_long_transaction(act)
    assert [article.goes_live_at >= committing for article in Article.objects.all()] == [True, True]


def to_be_dated() -> list[list[int]]:
    """The articles of each task."""
    return [dict(task.parameters or {})["article_ids"] for task in TaskInfo.objects.filter(task_type=DATE)]


def test_very_many_articles_of_one_transaction_are_dated_by_several_tasks() -> None:
    before, ids = read_database_clock(), range(10_000_000, 10_010_000)
    publishing.date_later("article", ids, before)
    assert sorted(pk for page in to_be_dated() for pk in page) == list(ids)
    publishing.note_dated("article", ids, before)
    assert not TaskInfo.objects.filter(task_type=DATE).exists()


def test_dating_one_article_again_keeps_the_task_of_others_that_were_published_with_it() -> None:
    before = read_database_clock()
    publishing.date_later("article", [1, 2, 3], before)
    publishing.date_later("article", [1], soon(seconds=1))
    publishing.note_dated("article", [1], soon(seconds=1))
    assert [1, 2, 3] in to_be_dated()


def test_a_task_that_dates_names_what_it_is_about() -> None:
    article, editor = make_article("Storm"), make_editor()
    release = make_release(article, by=editor)
    before = read_database_clock()
    publishing.date_later("article", [article.pk], before)
    publishing.date_later("release", [release.pk], before)
    keys = [task.key or "" for task in TaskInfo.objects.filter(task_type=DATE)]
    assert set(registry.names_of(DATE, keys, user=editor).values()) == {"Storm", release.name}
