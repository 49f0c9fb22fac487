"""Releases, readers, editors and workers at the same time, with real threads and processes on a real database."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from threading import Event, Thread
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction

from articles import publishing, releases
from articles.exceptions import ReleaseNotReady, WrongState
from articles.models import Article, AuditEntry, Release, Update
from articles.task_types import RELEASE
from scheduling.database import database_now, read_database_clock
from scheduling.models import TaskInfo, TaskInfoLog
from scheduling.services import refresh, run_due, sweep
from tests.articles.factories import APPROVED, approve, make_article, make_editor, make_release, soon
from tests.articles.publishing.test_races import hold, together
from tests.conftest import StartManage
from tests.harness import PATIENCE, eventually

pytestmark = pytest.mark.django_db(transaction=True)

Status = Article.Status


@pytest.fixture
def irene() -> User:
    return make_editor("irene")


@contextmanager
def reader() -> Iterator[list[int]]:
    """A reader who polls over a separate connection: the number of articles seen each time."""
    seen: list[int] = []
    looked, done = Event(), Event()

    def look() -> None:
        while not done.is_set():
            seen.append(Article.objects.live(database_now()).count())
            looked.set()
            done.wait(0.002)  # the other threads need the processor, too
        seen.append(Article.objects.live(database_now()).count())
        connection.close()

    thread = Thread(target=look)
    thread.start()
    try:
        looked.wait(PATIENCE)
        yield seen
    finally:
        done.set()
        thread.join()


def twenty(irene: User, *, failing: int = 0) -> Release:
    """A release of 20 that is due, of which so many need a reviewer."""
    articles = [
        make_article(f"No. {number}", status=Status.MANUAL_REVIEW if number < failing else APPROVED)
        for number in range(20)
    ]
    release = make_release(*articles, by=irene)
    releases.schedule_release(release, publish_at=soon(), by=irene)
    return release


def work() -> bool:
    """One round of a worker; whether nothing is left to release."""
    sweep(grace=0)
    run_due(10)
    return not TaskInfo.objects.filter(task_type=RELEASE).exists()


def test_of_20_members_with_one_failing_none_is_published_and_once_fixed_all_are_in_one_commit(irene: User) -> None:
    release = twenty(irene, failing=1)
    with reader() as seen:
        eventually(work)
        release.refresh_from_db()
        assert release.status == Release.Status.FAILED
        with pytest.raises(ReleaseNotReady):
            releases.publish_release_now(release, by=irene)
        approve(Article.objects.get(status=Status.MANUAL_REVIEW))
        releases.schedule_release(release, publish_at=soon(), by=irene)
        eventually(work)
    assert set(seen) == {0, 20}
    assert (seen[0], seen[-1]) == (0, 20)
    release.refresh_from_db()
    assert set(Article.objects.values_list("published_at", "publish_at")) == {
        (release.published_at, release.publish_at)
    }


def test_a_roll_back_is_one_commit_too(irene: User) -> None:
    release = twenty(irene)
    eventually(work)
    with reader() as seen:
        release.refresh_from_db()
        releases.roll_back_release(release, by=irene)
    assert set(seen) == {20, 0}


def test_two_workers_release_once(irene: User) -> None:
    eight = [make_release(make_article(status=APPROVED), by=irene, name=f"No. {number}") for number in range(8)]
    for release in eight:
        releases.schedule_release(release, publish_at=soon(), by=irene)
    together(*[lambda: [work() for _ in range(3)]] * 3)
    eventually(work)
    assert not Release.objects.exclude(status=Release.Status.PUBLISHED).exists()
    assert AuditEntry.objects.filter(action="released").count() == AuditEntry.objects.filter(action="published").count()
    logs = TaskInfoLog.objects.filter(task_type=RELEASE)
    assert set(logs.values_list("status", flat=True)) == {TaskInfoLog.Status.EXECUTED}


@pytest.mark.cases(1)
@pytest.mark.parametrize("attempt", range(3))
def test_of_a_cancellation_and_the_clock_one_wins_and_both_know(irene: User, attempt: int) -> None:
    release = twenty(irene)
    refused, _ = together(lambda: releases.cancel_release(Release.objects.get(), by=irene), work)
    eventually(work)
    release.refresh_from_db()
    live = Article.objects.live(database_now()).count()
    if refused is None:
        assert (release.status, live) == (Release.Status.CANCELLED, 0)
    else:
        assert isinstance(refused, WrongState)
        assert (release.status, live) == (Release.Status.PUBLISHED, 20)


def test_of_two_editors_who_want_an_article_for_their_release_one_gets_it(irene: User) -> None:
    make_article(status=APPROVED)
    for name in ("One", "Two"):
        make_release(by=irene, name=name)
    outcomes = together(
        *(
            lambda release=release: releases.add_member(release, article=Article.objects.get(), by=irene)
            for release in Release.objects.all()
        )
    )
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["BelongsToRelease", "ReleaseMember"]


def test_a_release_waits_for_no_one_and_goes_live_when_its_members_are_free(irene: User) -> None:
    twenty(irene)
    bulletin = make_article("Bulletin", status=APPROVED, publish_at=soon())
    held, released = Event(), Event()
    has_row_locks = connection.features.has_select_for_update_skip_locked  # SQLite locks everything: there it waits

    def edit_slowly() -> None:
        with transaction.atomic():
            hold(title="No. 7")
            held.set()
            released.wait(PATIENCE if has_row_locks else 0.2)

    def release_at_that_time() -> int:
        held.wait(PATIENCE)
        work()
        count = Article.objects.live(database_now()).exclude(pk=bulletin.pk).count()
        released.set()
        return count

    assert together(edit_slowly, release_at_that_time)[1] == (0 if has_row_locks else 20)
    eventually(work)
    bulletin.refresh_from_db()
    assert bulletin.status == Status.PUBLISHED
    assert Article.objects.live(database_now()).count() == 21


@pytest.mark.thorough
def test_editors_who_never_let_go_of_a_member_do_not_starve_its_release(irene: User) -> None:
    release, done = twenty(irene), Event()
    has_row_locks = connection.features.has_select_for_update_skip_locked  # SQLite has no fair queue

    def hammer() -> None:
        while not done.is_set():
            with transaction.atomic():
                hold(title="No. 7")
                done.wait(0.05 if has_row_locks else 0)

    def wait_for_release() -> bool:
        try:
            return eventually(work)
        finally:
            done.set()

    assert together(*[hammer] * 3, wait_for_release)[-1] is True
    release.refresh_from_db()
    assert release.status == Release.Status.PUBLISHED


def test_a_worker_killed_in_mid_release_leaves_nothing_and_the_next_one_does_all(
    irene: User, start_manage: StartManage
) -> None:
    out = make_article("Out", status=Status.PUBLISHED, publish_at=soon(days=-1), published_at=soon(days=-1))
    publishing.edit(out, by=irene, changes={"body": "Better"})
    Update.objects.update(status=Status.MANUAL_REVIEW)
    approve(Article.objects.get())
    new = [make_article(f"No. {number}", status=APPROVED) for number in range(20)]
    release = make_release(*new, Article.objects.get(pk=out.pk), by=irene)
    releases.schedule_release(release, publish_at=soon(), by=irene)

    with reader() as seen:
        doomed = start_manage("poll", env={"TEST_SETTINGS": '{"PROBE_DIES_OF_UPDATES": true}'})
        assert doomed.wait() == -9
        release.refresh_from_db()
        assert release.status == Release.Status.SCHEDULED
        assert set(seen) == {1}

        start_manage("poll", "--forever")
        eventually(lambda: Release.objects.filter(status=Release.Status.PUBLISHED).exists())
    assert set(seen) == {1, 21}
    assert AuditEntry.objects.filter(action="published").count() == 20
    refresh()
    assert not TaskInfo.objects.filter(task_type=RELEASE).exists()


def test_deleting_an_article_and_changing_what_its_release_does_with_it_do_not_deadlock(irene: User) -> None:
    article = make_article(status=APPROVED)
    release = make_release(article, by=irene)
    held = Event()

    def change() -> None:
        with transaction.atomic():
            hold()
            held.set()
            if connection.features.has_select_for_update:
                eventually(someone_waits)
            releases.add_member(release, article=article, action="publish", by=irene)

    def delete() -> None:
        held.wait(PATIENCE)
        Article.objects.get().delete()

    assert [outcome for outcome in together(change, delete) if isinstance(outcome, Exception)] == []
    assert release.members.get().article is None


def someone_waits() -> bool:
    """Whether a transaction of this database waits for a lock of another; MariaDB updates that every 0.1 s."""
    time.sleep(0.15)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT COUNT(*) FROM information_schema.INNODB_TRX JOIN information_schema.PROCESSLIST"
            " ON ID = trx_mysql_thread_id WHERE trx_state = 'LOCK WAIT' AND DB = DATABASE()"
        )
        return bool(cursor.fetchone()[0])


def test_an_article_that_goes_live_while_it_is_locked_keeps_its_time_and_joins_no_release(irene: User) -> None:
    if not connection.features.has_select_for_update:
        pytest.skip("SQLite has no row locks")
    article = make_article(status=APPROVED, publish_at=(due := soon(seconds=1)))
    release, held = make_release(by=irene), Event()

    def keep() -> None:
        with transaction.atomic():
            hold()
            held.set()
            eventually(someone_waits)
            eventually(lambda: read_database_clock() > due)

    def join() -> None:
        held.wait(PATIENCE)
        with pytest.raises(WrongState, match="live already"):
            releases.add_member(release, article=article, action="publish", by=irene)

    assert together(keep, join) == [None, None]
    assert Article.objects.get().publish_at == due


def test_an_end_that_passes_while_a_roll_back_waits_stays_past(irene: User) -> None:
    if not connection.features.has_select_for_update:
        pytest.skip("SQLite has no row locks")
    article = make_article(status=Status.PUBLISHED, publish_at=soon(hours=-1), published_at=soon(hours=-1))
    release, held = make_release(by=irene), Event()
    releases.add_member(release, article=article, action="unpublish", by=irene)
    releases.publish_release_now(release, by=irene)

    def end() -> None:
        with transaction.atomic():
            hold()
            held.set()
            eventually(someone_waits)
            Article.objects.update(unpublish_at=read_database_clock())

    def roll_back() -> None:
        held.wait(PATIENCE)
        releases.roll_back_release(release, by=irene)

    assert together(end, roll_back) == [None, None]
    assert Article.objects.get().status == Status.UNPUBLISHED


def _unschedule(article: Article, release: Release, by: User) -> None:
    publishing.unschedule(article, by=by)


def _retract(article: Article, release: Release, by: User) -> None:
    publishing.retract(article, by=by, notice="It was wrong.")


def _cancel_update(article: Article, release: Release, by: User) -> None:
    publishing.unschedule_update(article, by=by)


def _cancel_release(article: Article, release: Release, by: User) -> None:
    releases.cancel_release(release, by=by)


@pytest.mark.cases(2)
@pytest.mark.parametrize("act", [_unschedule, _retract, _cancel_update, _cancel_release])
def test_what_begins_before_an_instant_and_would_end_after_it_is_done_again(
    irene: User, act: Callable[[Article, Release, User], None]
) -> None:
    """R0.4: else readers saw by the clock what the commit takes away, and no record says so."""
    at, is_update = soon(seconds=2), act is _cancel_update
    article = make_article(status=APPROVED, publish_at=soon(hours=-1) if is_update else None)
    other = make_article("Other", status=APPROVED)
    release = Release.objects.create(name="Empty", created_by=irene)
    if is_update:
        publishing.edit(article, by=irene, changes={"title": "New"})
        publishing.submit(article, by=irene)
        approve(article)
        publishing.schedule_update(article, by=irene, publish_at=at)
    elif act is _unschedule:
        publishing.schedule(article, by=irene, publish_at=at)
    else:
        release = make_release(article, other, by=irene)
        releases.schedule_release(release, publish_at=at, by=irene)

    def wait(execute: Callable[..., Any], sql: str, *args: Any) -> Any:
        if sql.startswith("INSERT") and AuditEntry._meta.db_table in sql:
            eventually(lambda: read_database_clock() > at)
        return execute(sql, *args)

    with connection.execute_wrapper(wait), nullcontext() if act is _retract else pytest.raises(WrongState):
        act(article, release, irene)

    eventually(work)
    expected = {article.pk: "updated" if is_update else "published"}
    expected |= {other.pk: "published"} if act in (_retract, _cancel_release) else {}
    recorded = set(AuditEntry.objects.values_list("article_id", "action"))
    assert {*expected.items()} <= recorded
