"""A database that refuses to write the audit log while tasks become due."""

from __future__ import annotations

import html
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client

from articles import publishing, releases
from articles.models import Article, Release, Update
from articles.task_types import PUBLISH
from scheduling.database import Trouble
from scheduling.models import TaskInfo, TaskInfoLog
from scheduling.services import reschedule_task
from tests.articles.factories import APPROVED, approve, make_article, make_editor, make_release, soon
from tests.harness import eventually

AUDIT = "articles_auditentry"
Status = Article.Status

_SIGNAL = f"CREATE TRIGGER refuse BEFORE INSERT ON {AUDIT} FOR EACH ROW SIGNAL SQLSTATE"
_HALF_MIGRATED = f"ALTER TABLE {AUDIT} RENAME COLUMN reason TO reasons"
_MIGRATED = f"ALTER TABLE {AUDIT} RENAME COLUMN reasons TO reason"
_END = "DROP TRIGGER refuse"

WAYS = {
    "mysql": {
        Trouble.DISK_FULL: (f"{_SIGNAL} 'HY000' SET MYSQL_ERRNO = 1114, MESSAGE_TEXT = 'The table is full'", _END),
        Trouble.SCHEMA: (_HALF_MIGRATED, _MIGRATED),
        Trouble.REFUSED: (f"{_SIGNAL} '45000' SET MESSAGE_TEXT = 'not today'", _END),
    },
    "sqlite": {
        Trouble.SCHEMA: (_HALF_MIGRATED, _MIGRATED),
        Trouble.REFUSED: (
            f"CREATE TRIGGER refuse BEFORE INSERT ON {AUDIT} BEGIN SELECT RAISE(ABORT, 'not today'); END",
            _END,
        ),
    },
}
"""Database to trouble to the statements that begin and end it."""


@contextmanager
def audit_refused(trouble: Trouble) -> Iterator[None]:
    """While the block lasts, nothing that is audited can be written."""
    begin, end = WAYS[connection.vendor][trouble]
    _execute(begin)
    try:
        yield
    finally:
        _execute(end)


def ways() -> list[Trouble]:
    """The kinds of trouble that this database can be brought into."""
    return list(WAYS[connection.vendor])


def _execute(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


@dataclass
class Work:
    """Articles that go live, one that leaves, one that is updated and a release, planned for the next day."""

    editor: User
    release: Release

    @classmethod
    def plan(cls, *, articles: int) -> Work:
        """Plan the work; nothing is due yet."""
        editor, later = make_editor(), soon(days=1)
        editor.user_permissions.add(Permission.objects.get(codename="operate_tasks"))
        for number in range(articles):
            make_article(f"No. {number}", status=APPROVED, publish_at=later)
        out = {"status": Status.PUBLISHED, "publish_at": soon(hours=-1), "published_at": soon(hours=-1)}
        make_article("Leaves", **out, unpublish_at=later)
        updated = make_article("Old", **out)
        publishing.edit(updated, by=editor, changes={"title": "New"})
        Update.objects.filter(article=updated).update(status=Status.MANUAL_REVIEW)
        approve(Article.objects.get(pk=updated.pk))
        publishing.schedule_update(Article.objects.get(pk=updated.pk), publish_at=later, by=editor)
        release = make_release(make_article("Together", status=APPROVED), by=editor)
        releases.schedule_release(release, publish_at=later, by=editor)
        return cls(editor, release)

    def make_due(self, seconds: float) -> None:
        """As if it had been planned for now, the articles one after the other in the next `seconds`."""
        now = soon()
        Article.objects.filter(title="Leaves").update(unpublish_at=now)
        Update.objects.filter(publish_at__isnull=False).update(publish_at=now)
        Release.objects.update(publish_at=now)
        for task in TaskInfo.objects.exclude(task_type=PUBLISH):
            reschedule_task(task.task_id, now)
        articles = list(TaskInfo.objects.filter(task_type=PUBLISH))
        for number, task in enumerate(articles):
            due = now + timedelta(seconds=seconds * number / len(articles))
            Article.objects.filter(pk=int(task.key or 0)).update(publish_at=due)
            reschedule_task(task.task_id, due)

    def is_done(self) -> bool:
        """Whether everything due has been published, unpublished, updated and released."""
        self.release.refresh_from_db()
        waiting = Article.objects.filter(status=APPROVED).exists()
        titles = set(Article.objects.exclude(status=Status.PUBLISHED).values_list("title", flat=True))
        is_updated = Article.objects.filter(title="New").exists()
        return not waiting and titles == {"Leaves"} and is_updated and self.release.status == Release.Status.PUBLISHED

    def nothing_is_done(self) -> bool:
        """Whether nothing was done partially."""
        self.release.refresh_from_db()
        return not Article.objects.filter(title__startswith="No. ", status=Status.PUBLISHED).exists() and (
            self.release.status == Release.Status.SCHEDULED
        )


@dataclass
class Timing:
    """Seconds from the first due time to the sentence on the dashboard, and from the repair to the last effect."""

    named: float
    recovered: float


def outlast(work: Work, trouble: Trouble, *, seconds: float) -> Timing:
    """Let the work become due while its audit entries are refused for `seconds`, repair that, wait for the end.

    The workers run already. No user does anything.
    """
    desk = Client()
    desk.force_login(work.editor)
    with audit_refused(trouble):
        work.make_due(0.9 * seconds)
        began = time.monotonic()
        eventually(lambda: str(trouble.label) in _page(desk))
        named = time.monotonic() - began
        ready = desk.get("/readyz").json()
        assert ready["trouble"] == {trouble.value: str(trouble.label)}, ready
        time.sleep(max(0.0, seconds - named))
        assert work.nothing_is_done()
        assert desk.get("/readyz").json()["overdue"] > 0
        assert not TaskInfoLog.objects.filter(status=TaskInfoLog.Status.FAILED).exists()
    repaired = time.monotonic()
    eventually(work.is_done)
    recovered = time.monotonic() - repaired
    eventually(lambda: desk.get("/readyz").json()["trouble"] == {})
    assert str(trouble.label) not in _page(desk)
    executed = TaskInfoLog.objects.filter(status=TaskInfoLog.Status.EXECUTED)
    assert set(executed.values_list("attempts", flat=True)) == {1}
    assert not executed.filter(lateness__lt=timedelta()).exists()
    return Timing(named, recovered)


def _page(desk: Client) -> str:
    return html.unescape(desk.get("/admin/").text)
