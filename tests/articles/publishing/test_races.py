"""Editors and workers at the same time, with real threads on a real database."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction

from articles import images, publishing
from articles.desk.calendar import reschedule
from articles.desk.calendar.reschedule import Moment
from articles.exceptions import EditConflict, NotAllowed, RescheduledByOther, RevisionChanged, WrongState
from articles.models import Article, Image, StageApproval, Tag
from articles.publishing.tags import rename_tag
from articles.review import StageChoice, choose_stages
from articles.roles import Role
from scheduling.database import lock_by_ids
from scheduling.models import TaskInfoLog
from scheduling.services import refresh, run_due
from tests.articles.factories import APPROVED, make_article, make_editor, make_member, make_user, publish_tasks, soon
from tests.articles.image_files import make_image
from tests.harness import PATIENCE, eventually

pytestmark = pytest.mark.django_db(transaction=True)

Status = Article.Status


def together(*actions: Callable[[], Any]) -> list[Any]:
    """Run the actions at the same time, each in its own thread; returns what each returned or raised."""
    barrier = Barrier(len(actions))

    def run(action: Callable[[], Any]) -> Any:
        try:
            barrier.wait()
            return action()
        except Exception as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(len(actions)) as pool:
        return list(pool.map(run, actions))


def hold(**about: Any) -> Article:
    """The article, locked until the transaction ends."""
    return lock_by_ids(Article, [Article.objects.get(**about).pk]).get()


def run_until_published() -> bool:
    refresh()
    run_due(100)
    return Article.objects.filter(status=Status.PUBLISHED).exists()


def test_of_two_editors_who_save_the_same_version_one_gets_an_error() -> None:
    article, editor = make_article(), make_editor()
    copies = [Article.objects.get(), Article.objects.get()]
    outcomes = together(
        *(
            lambda copy=copy, title=title: publishing.edit(
                copy, by=editor, changes={"title": title}, seen=article.updated_at
            )
            for copy, title in zip(copies, ("One", "Two"), strict=True)
        )
    )
    assert {type(outcome) for outcome in outcomes} == {type(None), EditConflict}
    assert Article.objects.get().title in ("One", "Two")


def test_of_two_editors_who_schedule_the_last_one_counts_and_there_is_one_task() -> None:
    make_article(status=APPROVED)
    editor, times = make_editor(), [soon(hours=1), soon(hours=2)]
    together(
        *(
            lambda moment=moment: publishing.schedule(Article.objects.get(), publish_at=moment, by=editor)
            for moment in times
        )
    )
    article = Article.objects.get()
    assert article.publish_at in times
    assert publish_tasks(article) == [article.publish_at]


@pytest.mark.cases(4)
@pytest.mark.parametrize("attempt", range(10))
def test_of_a_cancellation_and_the_worker_one_wins_and_both_know(attempt: int) -> None:
    """R1.17"""
    article, editor = make_article(status=APPROVED, publish_at=soon()), make_editor()
    refused, _ = together(lambda: publishing.unschedule(Article.objects.get(), by=editor), lambda: run_due(10))
    eventually(lambda: run_until_published() or not publish_tasks(article))
    article.refresh_from_db()
    if isinstance(refused, WrongState):
        assert article.status == Status.PUBLISHED
        assert TaskInfoLog.objects.get().status == TaskInfoLog.Status.EXECUTED
    else:
        assert refused is None
        assert (article.status, article.publish_at, article.published_at) == (APPROVED, None, None)
        assert TaskInfoLog.objects.get().status == TaskInfoLog.Status.CANCELLED


def test_a_worker_does_not_wait_for_an_article_that_an_editor_holds() -> None:
    """R1.19"""
    article = make_article(status=APPROVED, publish_at=soon(seconds=-1))
    held, released = Event(), Event()
    has_row_locks = connection.features.has_select_for_update_skip_locked  # SQLite locks everything: there it waits

    def edit_slowly() -> bool:
        with transaction.atomic():
            copy = hold()
            held.set()
            worker_went_on = released.wait(PATIENCE if has_row_locks else 0.2)
            copy.publish_at = soon(hours=1)
            copy.save()
        return worker_went_on

    def work() -> str:
        held.wait(PATIENCE)
        run_due(10)
        status = Status(Article.objects.get().status)
        released.set()
        return status.name

    assert together(edit_slowly, work) == [has_row_locks, "APPROVED"]
    run_due(10)
    refresh()
    run_due(10)
    article.refresh_from_db()
    assert article.status == APPROVED
    assert publish_tasks(article) == [article.publish_at]


def test_two_workers_publish_each_article_once() -> None:
    """R0.6"""
    for number in range(40):
        make_article(f"No. {number}", status=APPROVED, publish_at=soon(seconds=-1))
    together(lambda: run_due(15), lambda: run_due(15), lambda: run_due(15))
    eventually(lambda: [refresh(), run_due(100)] and not Article.objects.exclude(status=Status.PUBLISHED).exists())
    logs = TaskInfoLog.objects.all()
    assert logs.count() == logs.filter(status=TaskInfoLog.Status.EXECUTED, attempts=1).count() == 40


def test_scheduling_overlapping_lists_in_opposite_order_does_not_deadlock() -> None:
    articles = [make_article(f"No. {number}", status=APPROVED) for number in range(30)]
    editor = make_editor()
    outcomes = together(
        lambda: publishing.schedule_many(articles, publish_at=soon(hours=1), by=editor),
        lambda: publishing.schedule_many(articles[::-1], publish_at=soon(hours=2), by=editor),
    )
    assert outcomes == [30, 30]


def test_of_two_editors_who_move_one_article_at_once_one_gets_an_error() -> None:
    article = make_article(status=APPROVED, publish_at=(seen := soon(hours=1)))
    times = {name: soon(hours=number + 2) for number, name in enumerate(("bob", "carol"))}
    editors = {name: make_editor(name) for name in times}

    def mover(name: str) -> Callable[[], Any]:
        copy = Article.objects.get()
        return lambda: reschedule.reschedule_article(copy, Moment.PUBLISH, to=times[name], seen=seen, by=editors[name])

    responses = dict(zip(times, together(*map(mover, times)), strict=True))
    (winner,) = [name for name, response in responses.items() if response is None]
    (refusal,) = [response for response in responses.values() if response is not None]
    assert isinstance(refusal, RescheduledByOther)
    assert str(refusal).startswith(winner)
    assert publish_tasks(article) == [times[winner]]


@pytest.mark.cases(4)
@pytest.mark.parametrize("changed", ["caption", "tag"])
@pytest.mark.parametrize("attempt", range(5))
def test_of_an_approval_and_a_change_of_what_is_shown_with_the_text_one_is_refused(attempt: int, changed: str) -> None:
    """Readers never see what the approval did not cover."""
    author, reviewer = make_member(Role.EDITOR, "edda"), make_member(Role.REVIEWER)
    image, tag = make_image(author), Tag.objects.create(name="Mayors")
    article = Article(title="Mayor resigns", cover_mode="one", cover=[str(image.pk)])
    publishing.create(article, by=author, tags=[tag])
    publishing.submit(article, by=author)
    read = article.revision

    def change() -> None:
        if changed == "caption":
            images.change_image(image, by=author, changes={"caption": "Another"})
        else:
            rename_tag(tag, name="Thieves", slug=tag.slug, by=author)

    outcomes = together(
        lambda: publishing.approve(Article.objects.get(), by=reviewer, revision=read),
        change,
    )
    assert {type(outcome) for outcome in outcomes} in ({type(None), NotAllowed}, {RevisionChanged, type(None)})
    is_approved = Article.objects.get().status == Status.MANUALLY_APPROVED
    was_changed = Tag.objects.get().name == "Thieves" or Image.objects.get().caption == "Another"
    assert is_approved != was_changed


def stages(*kinds: str) -> None:
    root = User.objects.filter(username="root").first() or make_user("root", is_superuser=True)
    choose_stages([StageChoice(kind) for kind in kinds], by=root)


def approve_as(by: User, article: Article, stage: str | None = None) -> Callable[[], None]:
    return lambda: publishing.approve(Article.objects.get(pk=article.pk), by=by, revision=article.revision, stage=stage)


@pytest.mark.parametrize("attempt", range(3))
def test_of_two_reviewers_at_one_stage_at_once_one_passes_it_and_the_other_is_refused(attempt: int) -> None:
    stages("first", "second")
    nadia, omar = make_member(Role.REVIEWER, "nadia"), make_member(Role.REVIEWER, "omar")
    article = make_article(status=Status.MANUAL_REVIEW)
    article.refresh_from_db()
    outcomes = together(approve_as(nadia, article, "first"), approve_as(omar, article, "first"))
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["NoneType", "StageChanged"]
    article.refresh_from_db()
    assert (article.status, StageApproval.objects.get().stage) == (Status.MANUAL_REVIEW, "first")


@pytest.mark.parametrize("attempt", range(3))
def test_one_person_at_two_stages_at_once_passes_one(attempt: int) -> None:
    stages("first", "second")
    nadia = make_member(Role.REVIEWER, "nadia")
    article = make_article(status=Status.MANUAL_REVIEW)
    article.refresh_from_db()
    outcomes = together(*[approve_as(nadia, article)] * 3)
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["NoneType", "NotAllowed", "NotAllowed"]
    article.refresh_from_db()
    assert (article.status, StageApproval.objects.get().stage) == (Status.MANUAL_REVIEW, "first")


@pytest.mark.parametrize("attempt", range(3))
def test_a_stage_that_is_removed_during_an_approval_approves_nothing_by_itself(attempt: int) -> None:
    """The approval counts for the stages before or after the change; one person never decides both of two stages."""
    stages("first", "second")
    nadia, omar = make_member(Role.REVIEWER, "nadia"), make_member(Role.REVIEWER, "omar")
    article = make_article(status=Status.MANUAL_REVIEW)
    article.refresh_from_db()
    approved, removed = together(approve_as(nadia, article), lambda: stages("first"))
    assert (approved, removed) == (None, None)
    article.refresh_from_db()
    if StageApproval.objects.exists():  # it passed the first of two stages, and now waits at the only one
        assert article.status == Status.MANUAL_REVIEW
        with pytest.raises(NotAllowed):
            approve_as(nadia, article)()
        approve_as(omar, article)()
        article.refresh_from_db()
    assert article.status == Status.MANUALLY_APPROVED
