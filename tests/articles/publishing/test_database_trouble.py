"""A database that refuses to write: no task is lost, users see why, and it recovers by itself."""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import timedelta
from itertools import cycle
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from articles import releases
from articles.models import Article, Notification, Release
from articles.notifications.alerts import notify_of_trouble
from articles.roles import Role
from articles.task_types import OF_ARTICLES, PUBLISH, RELEASE, REVIEW_AGAIN
from scheduling import registry
from scheduling.database import Trouble, read_database_clock
from scheduling.models import TaskInfo, TaskInfoLog, WorkerHeartbeat
from scheduling.services import refresh, run_due, sweep
from tests.articles.factories import APPROVED, make_article, make_editor, make_member, make_release, soon
from tests.articles.refused_audit import Work, audit_refused, outlast, ways
from tests.conftest import StartManage
from tests.harness import eventually

pytestmark = pytest.mark.django_db(transaction=True)

Status = Article.Status
# All attempts of a task that fails by its own fault are over within a second; workers soon forget what was refused.
HASTE = json.dumps(
    {
        "SCHEDULING_BACKOFF": 0.05,
        "SCHEDULING_MAX_BACKOFF": 0.1,
        "SCHEDULING_TROUBLE_PAUSE": 1,
        "SCHEDULING_HEARTBEAT_INTERVAL": 0.5,
    }
)


def marked(trouble: Trouble) -> Collection[pytest.MarkDecorator]:
    """Errors of a number that the engine does not know are handled as those of a full disk."""
    return [pytest.mark.thorough] if trouble is Trouble.REFUSED else ()


@pytest.mark.parametrize(
    ("queue", "trouble"),
    [
        pytest.param(queue, trouble, marks=marked(trouble))
        for queue, trouble in zip(cycle(["redis", "database"]), ways(), strict=False)
    ],
)
def test_work_due_in_an_outage_is_done_by_itself_after_it(
    start_manage: StartManage, queue: str, trouble: Trouble, settings: Any
) -> None:
    """`tests/chaos/test_refused.py` measures how long it takes."""
    settings.SCHEDULING_OVERDUE_ALARM = 1.0
    env = {"TEST_SETTINGS": HASTE} | ({"REDIS_URL": ""} if queue == "database" else {})
    work = Work.plan(articles=10)
    worker = start_manage("poll", "--forever", "--processes", "2", env=env)
    eventually(lambda: WorkerHeartbeat.objects.count() == 2)
    outlast(work, trouble, seconds=3)
    assert worker.stop() == 0


def beat(refused: list[dict[str, str]] | None, *, seconds_ago: float = 0) -> None:
    seen = read_database_clock() - timedelta(seconds=seconds_ago)
    types = ["articles.publish"]
    WorkerHeartbeat.objects.create(
        name=f"w{WorkerHeartbeat.objects.count()}", started_at=seen, seen_at=seen, task_types=types, refused=refused
    )


def row(trouble: str, task_type: str = PUBLISH) -> dict[str, str]:
    return {
        "task_type": task_type,
        "trouble": trouble,
        "error": "(1114, \"The table 'articles_auditentry' is full\")",
        "since": read_database_clock().isoformat(),
    }


def opened_by(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_all_users_read_the_error_and_operators_the_databases_own_words() -> None:
    beat([row("disk_full"), row("disk_full", RELEASE)])
    beat([])
    for role, sees_words in ((Role.AUTHOR, False), (Role.OPERATOR, True)):
        page = opened_by(make_member(role)).get("/admin/").text
        assert "The database refuses to write: disk full." in page and "Delayed since " in page
        assert "UTC: Publication, Release." in page
        assert "wait until this is repaired" in page
        assert ("is full" in page) == sees_words


@pytest.mark.parametrize("refused", [None, []])
def test_a_worker_that_knows_of_no_trouble_has_none(refused: list[dict[str, str]] | None) -> None:
    beat(refused)
    assert Client().get("/readyz").json()["trouble"] == {}
    assert "Publishing service: OK" in opened_by(make_editor()).get("/admin/").text


def test_what_a_dead_worker_said_is_forgotten() -> None:
    beat([row("disk_full")], seconds_ago=60)
    assert Client().get("/readyz").json()["trouble"] == {}


def test_trouble_of_a_kind_that_only_another_version_knows_is_shown() -> None:
    beat([row("eaten_by_mice")])
    assert Client().get("/readyz").json()["trouble"] == {"refused": "The database refuses what the workers write."}


def test_probes_and_prometheus_say_it_without_the_databases_words(settings: object) -> None:
    settings.METRICS_TOKEN = "t"  # type: ignore[attr-defined]
    beat([row("disk_full")])
    report = Client().get("/readyz").json()
    assert (report["status"], report["trouble"]) == (
        "degraded",
        {"disk_full": "The database refuses to write: disk full."},
    )
    assert "trouble" in report["problems"]
    assert "auditentry" not in json.dumps(report)
    figures = Client().get("/metrics", headers={"authorization": "Bearer t"}).text
    assert 'headline_trouble{kind="disk_full"} 1.0' in figures
    assert 'headline_trouble{kind="locks"} 0.0' in figures
    ours = [line for line in figures.splitlines() if line.startswith("headline_")]
    assert not [line for line in ours if "auditentry" in line]


def test_an_outage_of_the_audit_log_leaves_no_trace_in_the_tasks() -> None:
    article = make_article(status=APPROVED, publish_at=soon(seconds=-1))
    with audit_refused(Trouble.REFUSED):
        assert run_due(10) == 0
    assert TaskInfo.objects.get().attempts == 0
    TaskInfo.objects.update(leased_until=None)
    sweep(grace=0)
    assert run_due(10) == 1
    article.refresh_from_db()
    assert article.status == Status.PUBLISHED


# What our own tables can recreate


def test_the_tasks_of_articles_and_releases_are_never_dead() -> None:
    assert registry.recoverable_types() >= {*OF_ARTICLES, RELEASE, REVIEW_AGAIN}
    assert not registry.is_recoverable("articles.mail")


def test_tasks_that_an_earlier_version_failed_run_with_the_next_refresh() -> None:
    """Article, end, update and release, whose task logs say FAILED."""
    work = Work.plan(articles=3)
    work.make_due(0)
    TaskInfo.objects.all().delete()
    closed = TaskInfoLog.objects.filter(status=TaskInfoLog.Status.SCHEDULED)
    closed.update(status=TaskInfoLog.Status.FAILED, attempts=5, error="Its worker died 5 times while running it.")
    refresh()
    run_due(100)
    assert work.is_done()
    assert not TaskInfoLog.objects.filter(status=TaskInfoLog.Status.FAILED).exists()


def test_a_task_that_is_gone_without_a_trace_is_made_again_although_a_record_says_failed() -> None:
    """The article was rescheduled since; its task record was pruned or has another time."""
    make_article(status=APPROVED, publish_at=soon(minutes=-1))
    TaskInfo.objects.all().delete()
    TaskInfoLog.objects.update(status=TaskInfoLog.Status.FAILED, task_type="articles.publish.v0")
    refresh()
    assert run_due(10) == 1


def fail(article: Article) -> None:
    """The last attempt to publish it failed, for the third time."""
    task = TaskInfo.objects.get(key=str(article.pk))
    TaskInfo.objects.filter(pk=task.pk).update(execute_time=soon(minutes=4), attempts=3)
    TaskInfoLog.objects.filter(pk=task.pk).update(attempts=3, error="Traceback …\nValueError: no revision")


def test_a_failing_task_alarms_at_once_and_can_be_hurried() -> None:
    article = make_article("Mayor resigns", status=APPROVED, publish_at=soon(seconds=-9))
    fail(article)
    publisher, operator = make_member(Role.PUBLISHER), make_member(Role.OPERATOR)
    report = Client().get("/readyz").json()
    assert report["failing"] == 1
    assert "failing" in report["problems"]
    page = opened_by(operator).get("/admin/").text
    assert "Failed 3 times; was due" in page
    assert "ValueError: no revision" in page
    assert "ValueError" not in opened_by(publisher).get("/admin/").text
    opened_by(operator).post(f"/admin/desk/start/retry/{TaskInfo.objects.get().pk}/")
    assert run_due(10) == 1
    article.refresh_from_db()
    assert article.status == Status.PUBLISHED
    assert Client().get("/readyz").json()["failing"] == 0


def test_users_are_notified_once_of_articles_and_releases_that_fail() -> None:
    publisher = make_member(Role.PUBLISHER)
    fail(make_article("Mayor resigns", status=APPROVED, publish_at=soon(hours=1)))
    editor = make_editor()
    release = make_release(make_article("Budget", status=APPROVED), by=editor)
    releases.schedule_release(release, publish_at=soon(hours=1), by=editor)
    task = TaskInfo.objects.get(task_type=RELEASE)
    TaskInfo.objects.filter(pk=task.pk).update(attempts=1)
    TaskInfoLog.objects.filter(pk=task.pk).update(attempts=1, error="KeyError: 'members'")
    assert [notify_of_trouble(), notify_of_trouble()] == [2, 0]
    failures = Notification.objects.filter(user=publisher, kind=Notification.Kind.FAILED)
    assert set(failures.values_list("reason", flat=True)) == {"ValueError: no revision", "KeyError: 'members'"}
    assert Release.objects.get().status == Release.Status.SCHEDULED
