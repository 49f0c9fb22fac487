"""Signal receivers and the reconciler keep tasks in line with articles."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction

from articles.models import Article
from articles.publishing import (
    count_unscheduled,
    publish_now,
    reconcile_tasks,
    reschedule_many,
    schedule_many,
    sync_tasks,
    unschedule,
)
from articles.task_types import PURGE
from scheduling.database import read_database_clock
from scheduling.models import TaskInfo, TaskInfoLog
from scheduling.services import refresh
from tests.articles.factories import APPROVED, make_article, make_editor, publish_tasks, soon, unpublish_tasks

pytestmark = pytest.mark.django_db


def test_an_approved_article_with_a_time_gets_one_task_at_that_time() -> None:
    """R0.1"""
    later = soon(hours=1)
    article = make_article(status=APPROVED, publish_at=later)
    assert publish_tasks(article) == [later]


@pytest.mark.parametrize("status", set(Article.Status) - set(Article.Status.waiting()))
def test_an_article_in_any_other_status_gets_none(status: Article.Status) -> None:
    article = make_article(status=status, publish_at=soon(hours=1))
    assert publish_tasks(article) == []


def test_an_approved_article_without_a_time_gets_none() -> None:
    assert publish_tasks(make_article(status=APPROVED)) == []


def test_a_time_in_the_past_is_due_now() -> None:
    """R0.2"""
    article = make_article(status=APPROVED, publish_at=soon(hours=-1))
    assert TaskInfo.objects.due(soon()).filter(key=str(article.pk)).exists()


@pytest.mark.parametrize("hours", [0.5, 2])
def test_moving_the_time_moves_the_one_task(hours: float) -> None:
    """R1.19"""
    article = make_article(status=APPROVED, publish_at=soon(hours=1))
    article.publish_at = moved = soon(hours=hours)
    article.save()
    assert publish_tasks(article) == [moved]


def test_editing_the_text_does_not_rewrite_the_task() -> None:
    """R1.19"""
    article = make_article(status=APPROVED, publish_at=soon(hours=1))
    before = TaskInfo.objects.values().get(key=str(article.pk))
    article.title = "Harbour bridge reopens early"
    article.save()
    assert TaskInfo.objects.values().get(key=str(article.pk)) == before


def test_an_embargo_holds_the_task_back() -> None:
    embargo = soon(hours=2)
    article = make_article(status=APPROVED, publish_at=soon(hours=1), embargo_until=embargo)
    assert publish_tasks(article) == [embargo]


def test_an_embargo_that_ends_first_changes_nothing() -> None:
    later = soon(hours=1)
    assert publish_tasks(make_article(status=APPROVED, publish_at=later, embargo_until=soon())) == [later]


@pytest.mark.parametrize("status", Article.Status.visible())
def test_a_visible_article_with_an_end_gets_a_task_to_take_it_off(status: Article.Status) -> None:
    end = soon(hours=2)
    article = make_article(status=status, publish_at=soon(hours=1), unpublish_at=end)
    assert unpublish_tasks(article) == [end]


def test_taking_the_end_away_takes_its_task_away() -> None:
    article = make_article(status=APPROVED, publish_at=soon(hours=1), unpublish_at=soon(hours=2))
    article.unpublish_at = None
    article.save()
    assert unpublish_tasks(article) == []
    assert len(publish_tasks(article)) == 1


def test_going_back_to_draft_takes_the_task_away() -> None:
    """R0.3"""
    article = make_article(status=APPROVED, publish_at=soon(hours=1))
    article.status = Article.Status.DRAFT
    article.save()
    assert publish_tasks(article) == []


def test_deleting_an_article_takes_its_tasks_away() -> None:
    """R1.19"""
    article = make_article(status=APPROVED, publish_at=soon(hours=1), unpublish_at=soon(hours=2))
    article.delete()
    assert not TaskInfo.objects.exclude(task_type=PURGE).exists()
    logs = TaskInfoLog.objects.exclude(task_type=PURGE)
    assert set(logs.values_list("status", flat=True)) == {TaskInfoLog.Status.CANCELLED}


def test_deleting_many_at_once_takes_their_tasks_away() -> None:
    """R1.19"""
    for number in range(3):
        make_article(f"No. {number}", status=APPROVED, publish_at=soon(hours=1))
    Article.objects.all().delete()
    assert not TaskInfo.objects.exclude(task_type=PURGE).exists()


def test_a_rollback_of_the_surrounding_transaction_takes_back_article_and_task() -> None:
    """R1.2"""
    article = make_article(status=APPROVED, publish_at=(before := soon(hours=1)))
    with transaction.atomic():
        article.publish_at = soon(hours=5)
        article.save()
        make_article("Another", status=APPROVED, publish_at=soon(hours=1))
        transaction.set_rollback(True)
    assert publish_tasks(article) == [before]
    assert TaskInfo.objects.count() == 1


def test_a_task_that_cannot_be_stored_takes_the_article_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """R1.2"""
    monkeypatch.setattr("scheduling.conf.Settings.MAX_PARAMETERS_BYTES", 1)
    with pytest.raises(Exception, match="parameters take"):
        make_article(status=APPROVED, publish_at=soon(hours=1))
    assert not Article.objects.exists()


def test_scheduling_many_at_once_gives_each_its_task() -> None:
    articles = [make_article(f"No. {number}", status=APPROVED) for number in range(5)]
    draft = make_article()
    later = soon(hours=1)
    assert schedule_many([*articles, draft], publish_at=later, by=make_editor()) == 5
    assert [publish_tasks(article) for article in [*articles, draft]] == [[later]] * 5 + [[]]


def test_rescheduling_many_moves_one_task_of_each_and_leaves_the_others() -> None:
    """R1.19"""
    editor, first, end = make_editor(), soon(hours=1), soon(days=3)
    plain = make_article("Plain", status=APPROVED, publish_at=first)
    ending = make_article("Ending", status=APPROVED, publish_at=first, unpublish_at=end)
    held = make_article("Held", status=APPROVED, publish_at=first, embargo_until=soon(hours=5))
    assert reschedule_many([plain, ending], shift=timedelta(hours=2), by=editor) == 2
    assert reschedule_many([held], shift=timedelta(hours=6), by=editor) == 1
    moved = [first + timedelta(hours=hours) for hours in (2, 2, 6)]
    assert [publish_tasks(article) for article in (plain, ending, held)] == [[moment] for moment in moved]
    assert [unpublish_tasks(article) for article in (plain, ending, held)] == [[], [end], []]


@pytest.mark.parametrize("is_past", [False, True])
def test_scheduling_many_is_a_change_for_readers_if_it_publishes(is_past: bool) -> None:
    article = make_article(status=APPROVED)
    stamped = Article.objects.filter(pk=article.pk).values_list("text_changed_at", flat=True)
    before = stamped.get()
    schedule_many([article], publish_at=soon(hours=-1 if is_past else 1), by=make_editor())
    assert (stamped.get() != before) is is_past


def test_scheduling_500_takes_a_few_statements(django_assert_max_num_queries: pytest.FixtureRequest) -> None:
    Article.objects.bulk_create(Article(title=f"No. {number}", status=APPROVED) for number in range(500))
    articles, editor = list(Article.objects.all()), make_editor()
    editor.has_perm("articles.schedule_article")
    with django_assert_max_num_queries(50):  # type: ignore[operator]
        schedule_many(articles, publish_at=soon(hours=1), by=editor)
    assert TaskInfo.objects.count() == 500


def test_bulk_created_articles_get_their_tasks_from_one_call() -> None:
    Article.objects.bulk_create(
        Article(title=f"No. {number}", status=APPROVED, publish_at=soon(hours=1)) for number in range(5)
    )
    sync_tasks(list(Article.objects.values_list("pk", flat=True)))
    assert TaskInfo.objects.count() == 5


def test_refresh_repairs_what_a_bulk_update_left() -> None:
    """R1.6"""
    articles = [make_article(f"No. {number}") for number in range(3)]
    near = soon(minutes=2)
    Article.objects.update(status=APPROVED, publish_at=near)
    refresh()
    assert [publish_tasks(article) for article in articles] == [[near]] * 3


def test_reconciling_moves_a_task_whose_article_was_moved_without_a_save() -> None:
    """R1.19"""
    article = make_article(status=APPROVED, publish_at=soon(hours=1))
    Article.objects.update(publish_at=(near := soon(minutes=1)))
    assert reconcile_tasks() == 1
    assert publish_tasks(article) == [near]
    assert reconcile_tasks() == 0


def test_reconciling_finds_an_article_whose_end_was_set_without_a_save() -> None:
    article = make_article(status=Article.Status.PUBLISHED, publish_at=soon(hours=-1))
    Article.objects.update(unpublish_at=(end := soon(minutes=1)))
    assert reconcile_tasks() == 1
    assert unpublish_tasks(article) == [end]


def test_reconciling_does_not_retry_failed_tasks() -> None:
    article = make_article(status=APPROVED, publish_at=(due := soon(minutes=-1)))
    TaskInfo.objects.all().delete()
    TaskInfoLog.objects.update(status=TaskInfoLog.Status.FAILED)
    assert reconcile_tasks() == 1
    assert publish_tasks(article) == [due]


def test_reconciling_does_not_hurry_a_task_that_is_being_retried() -> None:
    make_article(status=APPROVED, publish_at=soon(minutes=-1))
    TaskInfo.objects.update(execute_time=(next_attempt := soon(minutes=1)), attempts=2)
    assert reconcile_tasks() == 0
    assert TaskInfo.objects.get().execute_time == next_attempt


def test_reconciling_a_correct_newsroom_takes_a_few_statements(
    django_assert_max_num_queries: pytest.FixtureRequest,
) -> None:
    Article.objects.bulk_create(
        Article(title=f"No. {number}", status=APPROVED, publish_at=soon(minutes=2)) for number in range(300)
    )
    assert reconcile_tasks() == 300
    with django_assert_max_num_queries(8):  # type: ignore[operator]
        assert reconcile_tasks() == 0


def test_publishing_on_request_leaves_no_task() -> None:
    article = make_article(status=APPROVED, publish_at=soon(hours=1))
    publish_now(article, by=make_editor())
    assert publish_tasks(article) == []


def test_a_cancelled_article_has_no_task_and_keeps_its_approval() -> None:
    """R0.3"""
    article = make_article(status=APPROVED, publish_at=soon(hours=1), body="The text.")
    unschedule(article, by=make_editor())
    stored = Article.objects.get(pk=article.pk)
    assert (stored.status, stored.publish_at, stored.body) == (APPROVED, None, "The text.")
    assert publish_tasks(article) == []


def test_a_change_is_not_forgotten_when_a_deferred_field_is_loaded_after_it() -> None:
    article = make_article(status=APPROVED, publish_at=soon(hours=1), body="The text.")
    partly = Article.objects.defer("body").get()
    partly.publish_at = moved = soon(hours=2)
    assert partly.body == "The text."
    partly.save()
    assert publish_tasks(article) == [moved]


def test_unscheduled_articles_are_counted_by_one_statement(django_assert_num_queries: Any) -> None:
    """Approved, due soon or overdue, without a task; not drafts, and not what refresh looks at later."""
    times = soon(minutes=-1), soon(minutes=2), soon(hours=2)
    for time in times:
        make_article(status=APPROVED, publish_at=time)
    make_article(publish_at=times[1])
    now = read_database_clock()
    assert count_unscheduled(now) == 0
    TaskInfo.objects.all().delete()
    with django_assert_num_queries(1):
        assert count_unscheduled(now) == 2
    reconcile_tasks()
    assert count_unscheduled(now) == 0
