"""Row locks: they are taken by primary key, deadlocks are retried, and publishing never waits."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction

from articles import publishing, releases
from articles.models import Article, AuditEntry, Channel, Notification, Release, Tag
from articles.roles import Role
from articles.task_types import DATE, RELEASE, UPDATE
from scheduling.database import Collision, lock_by_ids, read_database_clock
from scheduling.models import TaskInfo
from scheduling.services import run_due, sweep
from tests.articles.factories import APPROVED, make_article, make_editor, make_member, make_release, soon
from tests.articles.publishing.test_races import together
from tests.articles.sources import SOURCES, Stage, found_stage
from tests.conftest import StartManage, database_environment
from tests.harness import PATIENCE, Process, PythonProcess, eventually

pytestmark = pytest.mark.django_db(transaction=True)

Status = Article.Status

_WRITES = re.compile(r"\s*(INSERT|UPDATE|DELETE)\b|.*FOR UPDATE", re.DOTALL)
_OWN = re.compile(r"articles_|scheduling_|taskinfo")


# Of a form, a program, a command, a file and a worker, with one row or many, and of each kind of row.
DIFFERENT = {
    *("edit", "schedule_many", "publish_update", "publish_release", "roll_back", "bulk"),
    *("import", "words", "api with key", "form", "deletion", "reconcile", "worker"),
}
OF_SOURCES = [name if name in DIFFERENT else pytest.param(name, marks=pytest.mark.thorough) for name in SOURCES]


@pytest.fixture
def stage() -> Stage:
    return found_stage()


class Watch:
    """Sees every statement that writes or locks; the one with the number `refused` is refused as a deadlock, once."""

    def __init__(self, refused: int | None = None) -> None:
        self.seen: list[tuple[str, Any]] = []
        self.refused = refused

    def __call__(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if _WRITES.match(sql) and _OWN.search(sql) and connection.in_atomic_block:
            self.seen.append((sql, params))
            if len(self.seen) - 1 == self.refused:
                raise OperationalError(1213, "Deadlock found when trying to get lock; try restarting transaction")
        return execute(sql, params, many, context)

    @property
    def last_entry(self) -> int:
        """The last audit entry that was written; the last write where nothing is recorded."""
        entries = [number for number, (sql, _params) in enumerate(self.seen) if "INTO `articles_audit" in sql]
        entries += [number for number, (sql, _params) in enumerate(self.seen) if 'INTO "articles_audit' in sql]
        return max(entries, default=len(self.seen) - 1)


def watched(act: Callable[[], Any], watch: Watch) -> int:
    """Run the action; returns the number of new audit entries."""
    before = AuditEntry.objects.count()
    with connection.execute_wrapper(watch):
        act()
    return AuditEntry.objects.count() - before


@pytest.mark.cases(4)
@pytest.mark.parametrize("name", OF_SOURCES)
def test_a_deadlock_is_not_seen_at_any_source_and_nothing_happens_twice(stage: Stage, name: str) -> None:
    undisturbed = Watch()
    entries = watched(SOURCES[name](stage), undisturbed)
    assert watched(SOURCES[name](stage), Watch(refused=0)) == entries
    assert watched(SOURCES[name](stage), Watch(refused=undisturbed.last_entry)) == entries


@pytest.mark.cases(6)
@pytest.mark.parametrize("name", OF_SOURCES)
def test_every_lock_goes_by_primary_key(stage: Stage, name: str) -> None:
    """Locks along another index are taken in another order, which deadlocks with locks by primary key."""
    watch = Watch()
    watched(SOURCES[name](stage), watch)
    with connection.cursor() as cursor:
        for sql, params in watch.seen:
            if "FOR UPDATE" in sql or sql.lstrip().startswith("DELETE doomed"):
                cursor.execute(f"EXPLAIN FORMAT=TRADITIONAL {sql}", params)
                keys = {row[5] for row in cursor.fetchall() if row[2] not in (None, "gone")}
                assert keys <= {"PRIMARY"}, (keys, sql)


@contextmanager
def another() -> Iterator[Any]:
    """A cursor of another connection in a transaction, which is rolled back in the end."""
    other = connection.copy()
    with other.cursor() as cursor:
        cursor.execute("BEGIN")
        try:
            yield cursor
        finally:
            cursor.execute("ROLLBACK")
    other.close()


def test_scheduling_many_does_not_deadlock_with_who_changes_a_status(stage: Stage) -> None:
    """Locks along the index of the status would deadlock with the other transaction."""
    articles = [stage.waiting() for _ in range(3)]
    everything = list(Article.objects.all())  # of which few wait, so that the index of the status is the shorter way
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE TABLE articles_article")
    held, over = Event(), Event()

    def change_status() -> None:
        with transaction.atomic():
            list(lock_by_ids(Article, [articles[0].pk]))
            held.set()
            over.wait(0.5)  # time for the other one to run into the lock
            Article.objects.filter(pk=articles[0].pk).update(status=Status.DRAFT)

    def schedule() -> int:
        held.wait(PATIENCE)
        watch = Watch()
        with connection.execute_wrapper(watch):
            done = publishing.schedule_many(everything, publish_at=soon(hours=2), by=stage.user)
        assert len([sql for sql, _params in watch.seen if "FROM `articles_article`" in sql and "UPDATE" in sql]) == 1
        return done

    assert together(change_status, schedule) == [None, 2]


PERSONS = "SELECT * FROM auth_user FOR UPDATE"
CHOICES = "SELECT * FROM articles_notificationpreference FOR UPDATE"
CHANNELS = "SELECT * FROM articles_channel FOR UPDATE"
TAGS = "SELECT * FROM articles_tag FOR UPDATE"


@contextmanager
def impatient() -> Iterator[None]:
    """Waiting for a lock fails after a second in this block."""
    with connection.cursor() as cursor:
        cursor.execute("SET innodb_lock_wait_timeout = 1")
        try:
            yield
        finally:
            cursor.execute("SET innodb_lock_wait_timeout = DEFAULT")


@pytest.mark.cases(2)
@pytest.mark.parametrize("rows", [PERSONS, CHOICES, CHANNELS, TAGS])
def test_publishing_waits_for_no_row_of_a_user(rows: str) -> None:
    """A lock on the author's row for the notification would delay everything else that is due."""
    author, editor = make_member(Role.AUTHOR, "wen"), make_editor()
    about = {"author": author, "channel": Channel.objects.create(name="Politics")}
    due = soon(seconds=-0.1)
    for number in range(3):
        make_article(f"No. {number}", status=APPROVED, publish_at=due, **about)
    make_article("Over", status=Status.PUBLISHED, publish_at=soon(hours=-1), unpublish_at=due, **about)
    released = make_article("Released", status=APPROVED, **about)
    for article in Article.objects.all():
        article.tags.add(Tag.objects.get_or_create(name="Bridges", slug="bridges")[0])
    releases.schedule_release(make_release(released, by=editor), publish_at=due, by=editor)
    with another() as cursor, impatient():
        cursor.execute(rows)
        assert run_due(100) == 5
    assert Article.objects.filter(status=Status.PUBLISHED).count() == 4
    assert Notification.objects.filter(user=author, kind=Notification.Kind.PUBLISHED).count() == 4
    assert Release.objects.get().status == Release.Status.PUBLISHED


def test_a_release_with_a_member_in_use_gives_up_quickly_and_changes_nothing_of_the_session() -> None:
    """It must not hold its other members for long, nor leave a lock timeout set in the session."""
    editor = make_editor()
    articles = [make_article(f"No. {number}", status=APPROVED) for number in range(3)]
    releases.schedule_release(make_release(*articles, by=editor), publish_at=soon(seconds=-10), by=editor)
    with connection.cursor() as mine, another() as others:
        mine.execute("SELECT @@innodb_lock_wait_timeout")
        patience = mine.fetchone()
        is_mariadb: bool = connection.mysql_is_mariadb  # type: ignore[attr-defined]
        by_statement = "SET STATEMENT" if is_mariadb else "SELECT"  # MySQL: by the session
        others.execute("SELECT * FROM articles_article WHERE id = %s FOR UPDATE", [articles[1].pk])
        for _attempt in range(3):
            sweep(grace=0)
            watch = Watch()
            with connection.execute_wrapper(watch):
                run_due(10)
            locks = [sql for sql, _params in watch.seen if "FROM `articles_article`" in sql and "FOR UPDATE" in sql]
            assert locks and all("SKIP LOCKED" in sql or sql.startswith(by_statement) for sql in locks)
            assert Article.objects.filter(status=Status.PUBLISHED).count() == 0
        mine.execute("SELECT @@innodb_lock_wait_timeout")
        assert mine.fetchone() == patience
    assert TaskInfo.objects.get(task_type=RELEASE).attempts == 0
    eventually(lambda: [sweep(grace=0), run_due(10)] and not TaskInfo.objects.filter(task_type=RELEASE).exists())
    assert Article.objects.filter(status=Status.PUBLISHED).count() == 3


def test_no_other_task_waits_for_a_release_with_a_locked_member(start_manage: StartManage) -> None:
    """Articles due at the same time are on time; an edit of a member waits until what readers have seen is stored."""
    editor = make_editor()
    members = [make_article(f"Member {number}", status=APPROVED) for number in range(3)]
    releases.schedule_release(make_release(*members, by=editor), publish_at=soon(seconds=-10), by=editor)
    worker = start_manage("poll", "--forever")
    worker.wait_for(" runs ")
    with another() as cursor, impatient():
        cursor.execute("SELECT * FROM articles_article WHERE id = %s FOR UPDATE", [members[1].pk])
        for number in range(10):
            make_article(f"Bulletin {number}", status=APPROVED, publish_at=soon())
            eventually(lambda: Article.objects.filter(status=Status.PUBLISHED).count() > number)  # noqa: B023
        with pytest.raises(Collision):
            publishing.edit(members[2], by=editor, changes={"title": "Better"})
        assert not Article.objects.filter(pk__in=[one.pk for one in members], status=Status.PUBLISHED).exists()
    eventually(lambda: Release.objects.get().status == Release.Status.PUBLISHED)
    assert Article.objects.filter(status=Status.PUBLISHED).count() == 13
    publishing.edit(members[2], by=editor, changes={"title": "Better"})
    assert worker.stop() == 0


def date_later() -> None:
    """Let a worker date what it can, at once."""
    TaskInfo.objects.filter(task_type=DATE).update(execute_time=read_database_clock())
    sweep(grace=0)
    run_due(10)


def test_what_is_locked_after_its_publication_gets_the_time_of_its_commit_and_not_of_its_release() -> None:
    first, second, editor = make_article(status=APPROVED), make_article(status=APPROVED), make_editor()
    release = make_release(second, by=editor)
    actions: list[Callable[[], None]] = [
        lambda: publishing.publish_now(first, by=editor),
        lambda: releases.publish_release_now(release, by=editor),
    ]
    with another() as other:
        for act in actions:
            with transaction.atomic():
                transaction.on_commit(lambda: other.execute("SELECT * FROM articles_article FOR UPDATE"))
                act()
                time.sleep(0.01)
                committing = read_database_clock()
            committed = read_database_clock()
            time.sleep(0.05)
            date_later()
            other.execute("ROLLBACK")
            other.execute("BEGIN")
            date_later()
            live = Article.objects.filter(status=Status.PUBLISHED).latest("published_at")
            assert committing <= live.published_at <= committed  # type: ignore[operator]
    assert not TaskInfo.objects.filter(task_type=DATE).exists()


def test_dating_waits_for_no_user_of_a_release() -> None:
    """The process that dates it has its row, and waits for the task: that would be a deadlock."""
    release = make_release(make_article(status=APPROVED), by=make_editor())
    with transaction.atomic():
        releases.publish_release_now(release, by=make_editor("other"))
        connection.run_on_commit.clear()
    with another() as other, impatient():
        other.execute("SELECT * FROM articles_release FOR UPDATE")
        date_later()
    assert TaskInfo.objects.get(task_type=DATE).leased_until is None  # nor is it refused
    date_later()
    assert not TaskInfo.objects.filter(task_type=DATE).exists()


def test_editors_who_take_turns_with_an_article_do_not_keep_its_update_from_readers(stage: Stage) -> None:
    """A row for which others queue is never free: a worker that does not queue never gets it."""
    article, over = stage.updated(), Event()
    updates = TaskInfo.objects.filter(task_type=UPDATE, key=str(article.pk))
    publishing.schedule_update(article, publish_at=soon(), by=stage.user)

    def hammer() -> None:
        while not over.is_set():
            with transaction.atomic():
                list(lock_by_ids(Article, [article.pk]))
                over.wait(0.02)

    def wait_for_update() -> None:
        try:
            eventually(lambda: [sweep(grace=0), run_due(10)] and not updates.exists())
        finally:
            over.set()

    assert together(*[hammer] * 4, wait_for_update) == [None] * 5


NAMES = ["bob", "carol", "dave", "erin"]


@pytest.mark.thorough
@pytest.mark.long
def test_no_deadlock_reaches_any_of_four_editors_beside_two_workers(start_manage: StartManage) -> None:
    """`make chaos` does the same for a minute."""
    env = {**database_environment(), "DJANGO_SETTINGS_MODULE": "tests.settings"}

    def start(**part: Any) -> Process:
        return PythonProcess(["-m", "tests.chaos.editors", json.dumps(part)], env=env)

    assert start(articles=30, editors=NAMES).wait() == 0
    workers = start_manage("poll", "--forever", "--processes", "2")
    errors: Counter[str] = Counter()
    parts: Sequence[Process] = [start(name=name, operations=60) for name in NAMES]
    for part in parts:
        assert part.wait(2 * PATIENCE) == 0, part.output
        errors.update(json.loads(part.lines[-1])["errors"])
    assert workers.stop() == 0
    assert not errors
    assert "Deadlock" not in workers.output
