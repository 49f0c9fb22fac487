"""What was due between a backup and its restore: published, rescheduled or held as the report says, silently."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import replace
from datetime import time, timedelta
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.db.models import Count, QuerySet

from articles import events, fronts
from articles.exchange import PastDue
from articles.fronts import Recurrence
from articles.models import (
    Alert,
    Article,
    AuditEntry,
    BulkAction,
    BulkActionItem,
    Delivery,
    Endpoint,
    FrontVersion,
    Notification,
    Release,
)
from articles.publishing import advance_bulk_action
from articles.task_types import BULK_ACTION, PUBLISH, PURGE
from headline.backup import past_due
from headline.backup.archive import Manifest
from scheduling.database import read_database_clock
from scheduling.models import TaskInfo, TaskInfoLog
from scheduling.services import add_task, add_tasks
from tests.articles.factories import EARLY, make_article, make_editor, make_front, make_release, soon
from tests.articles.webhooks.receivers import drain, make_endpoint, receiving

pytestmark = pytest.mark.django_db(transaction=True)

Status = Article.Status
Restore = Callable[[PastDue], list[str]]


@pytest.fixture
def restore(monkeypatch: pytest.MonkeyPatch) -> Restore:
    """Treat the present rows as just loaded from a backup made two hours ago; returns the report's lines."""
    monkeypatch.setattr(events, "_subscribers", {})

    def run(choice: PastDue) -> list[str]:
        manifest = Manifest("0.1.0", soon(hours=-2).isoformat(), [], {}, [])
        held = past_due.hold(apps, manifest)
        return [str(line).partition(":")[0] for line in past_due.apply(held, choice)]

    return run


def due_release(*members: Article) -> Release:
    """A release that became due an hour ago."""
    release = make_release(*members, by=make_editor())
    QuerySet(Release).filter(pk=release.pk).update(status=Release.Status.SCHEDULED, publish_at=soon(hours=-1))
    return release


def due_article(title: str = "Since", **values: object) -> Article:
    values = {"cleared_at": EARLY, **values}
    return make_article(title, status=Status.APPROVED, publish_at=soon(hours=-1), **values)


def test_a_published_release_notifies_of_nothing_beside_earlier_notifications(restore: Restore) -> None:
    chief = make_editor("bob")
    earlier = {
        Notification.objects.create(user=chief, kind="assigned", article_title="Earlier", at=soon(hours=-3)).pk
        for _number in range(8)
    }
    due_release(make_article("Member", status=Status.APPROVED))
    restore(PastDue.PUBLISH)
    assert Release.objects.get().status == Release.Status.PUBLISHED
    assert set(Notification.objects.values_list("pk", flat=True)) == earlier


def test_a_release_that_cannot_be_published_is_reported_as_failed(restore: Restore) -> None:
    release = due_release(make_article("Not approved"))
    assert restore(PastDue.PUBLISH) == [f"failed release {release.pk}"]
    assert Release.objects.get().status == Release.Status.FAILED
    assert not Notification.objects.exists()


@pytest.mark.parametrize("choice", list(PastDue))
def test_an_article_whose_time_to_be_unpublished_is_past_is_held(restore: Restore, choice: PastDue) -> None:
    article = due_article(unpublish_at=soon(minutes=-30))
    assert restore(choice) == [f"held article {article.pk}"]
    article.refresh_from_db()
    assert (article.status, article.publish_at) == (Status.APPROVED, None)
    assert not TaskInfo.objects.exists()


@pytest.mark.parametrize("choice", list(PastDue))
def test_fronts_and_alerts_that_were_to_come_since_the_backup_are_held(restore: Restore, choice: PastDue) -> None:
    story = make_article("Live", status=Status.PUBLISHED, publish_at=soon(hours=-9))
    seen, since = (make_front(story, live_from=soon(hours=hours)) for hours in (-3, -1))
    now = read_database_clock()
    make_front(story, live_from=now.replace(second=0, microsecond=0) + timedelta(minutes=1))
    alert = Alert.objects.create(article=story, text="Breaking", starts_at=soon(minutes=-5))
    verb = {PastDue.HOLD: "held", PastDue.PUBLISH: "published", PastDue.RESCHEDULE: "rescheduled"}[choice]
    assert restore(choice) == [f"{verb} front {since.pk}", f"{verb} alert {alert.pk}"]
    live = since if choice == PastDue.PUBLISH else seen
    assert FrontVersion.objects.live(now).get() == live  # not at present, as the minute may have ended
    assert Alert.objects.shown(now).exists() == (choice == PastDue.PUBLISH)


@pytest.mark.cases(1)
@pytest.mark.parametrize("choice", list(PastDue))
def test_a_rule_goes_on_after_a_restore_and_begins_with_its_next_time(restore: Restore, choice: PastDue) -> None:
    """What readers had recurs also while there was no site; what they had not, and does not recur again, is held."""
    story, now = make_article("Live", status=Status.PUBLISHED, publish_at=soon(hours=-9)), read_database_clock()
    rule = Recurrence(days=tuple(range(7)), wall=time(0), zone="UTC", starts=now.date() - timedelta(days=30))

    def recurring(hours: float, **values: Any) -> FrontVersion:
        first = now + timedelta(hours=hours)
        changed = replace(rule, wall=first.time(), **values)
        version = make_front(story, live_from=first)
        fronts.store_occurrences(version, fronts.occurrences_of(version, changed, now, since=first))
        FrontVersion.objects.filter(pk=version.pk).update(repeats=changed.as_json())
        return version

    had = recurring(-24 * 9 - 0.5)
    new = recurring(-1)
    over = recurring(-1.5, until=(now - timedelta(hours=1.5)).date())
    lines = restore(choice)
    verb = {PastDue.HOLD: "held", PastDue.PUBLISH: "published", PastDue.RESCHEDULE: "rescheduled"}[choice]
    assert lines == [f"{verb} front {over.pk}", f"rescheduled front {new.pk}"]
    for version in (had, new, over):
        version.refresh_from_db()
    day = timedelta(days=1)
    assert new.live_from == now - timedelta(hours=1) + day
    assert FrontVersion.objects.live(now).get() == had
    assert FrontVersion.objects.live(now + day - timedelta(minutes=50)).get() == new
    assert FrontVersion.objects.live(now + day).get() == had
    assert over.repeats is None and not over.series.exists()


def newest_entry() -> int:
    return AuditEntry.objects.latest("pk").pk


def test_what_the_clock_had_done_before_the_backup_is_stored_with_its_instants(restore: Restore) -> None:
    hours = {number: soon(hours=-number) for number in range(1, 10)}
    waiting = {"status": Status.APPROVED, "publish_at": hours[9], "cleared_at": EARLY}
    expected = {
        make_article("On time", **waiting): [("published", hours[9])],
        make_article("Embargoed", **waiting, embargo_until=hours[5]): [("published", hours[5])],
        make_article("Approved late", **waiting | {"cleared_at": hours[4]}): [("published", hours[4])],
        make_article("Over", **waiting, unpublish_at=hours[3]): [("published", hours[9]), ("unpublished", hours[3])],
        make_article("Over without a worker", status=Status.PUBLISHED, publish_at=hours[9], unpublish_at=hours[6]): [
            ("unpublished", hours[6])
        ],
    }
    before = newest_entry()
    assert restore(PastDue.HOLD) == []
    for article, entries in expected.items():
        article.refresh_from_db()
        found = AuditEntry.objects.of(article).filter(pk__gt=before).order_by("pk")
        assert [(entry.action, entry.new_time) for entry in found] == entries
        assert found[0].old_status == (Status.APPROVED if entries[0][0] == "published" else Status.PUBLISHED)
        assert [entry.new_status for entry in found][-1] == article.status
        if entries[0][0] == "published":
            assert article.published_at == entries[0][1] == article.goes_live_at
            log = TaskInfoLog.objects.get(task_type=PUBLISH, key=str(article.pk))
            assert (log.status, log.worker) == (TaskInfoLog.Status.EXECUTED, "clock")


def test_what_was_approved_late_after_the_backup_or_after_its_end_is_held(restore: Restore) -> None:
    waiting = {"status": Status.APPROVED, "publish_at": soon(hours=-9)}
    since = make_article("Cleared since", **waiting, cleared_at=soon(hours=-1))
    unseen = make_article("Never seen", **waiting, unpublish_at=soon(hours=-5), cleared_at=soon(hours=-4))
    before = newest_entry()
    assert restore(PastDue.HOLD) == [f"held article {since.pk}", f"held article {unseen.pk}"]
    assert set(AuditEntry.objects.filter(pk__gt=before).values_list("action", flat=True)) == {"unschedule"}
    assert set(Article.objects.values_list("status", "published_at")) == {(Status.APPROVED, None)}


def test_times_are_counted_as_without_the_expired(restore: Restore) -> None:
    expired, other = due_article("Expired", unpublish_at=soon(seconds=1)), due_article("Other")
    next_minute = read_database_clock().replace(second=0, microsecond=0) + timedelta(minutes=1)
    assert sorted(restore(PastDue.RESCHEDULE)) == [f"held article {expired.pk}", f"rescheduled article {other.pk}"]
    other.refresh_from_db()
    assert other.publish_at is not None
    assert other.publish_at - next_minute in (timedelta(0), timedelta(minutes=1))  # the minute may have ended


def test_a_running_bulk_action_ends_where_it_was(restore: Restore) -> None:
    done, pending = make_article("Done"), make_article("Pending")
    now = soon(hours=-3)
    running = BulkAction.objects.create(user=make_editor(), transition="submit", created_at=now, started_at=now)
    states = BulkActionItem.State
    for article, state in ((done, states.DONE), (pending, states.PENDING)):
        BulkActionItem.objects.create(bulk_action=running, article_id=article.pk, title=article.title, state=state)
    add_task(BULK_ACTION, execute_time=now, parameters={"bulk_action_id": running.pk}, key=f"{running.pk}:1")
    restore(PastDue.PUBLISH)
    assert not advance_bulk_action(running.pk)
    assert running.counts() == {"total": 2, "done": 1, "refused": 1}
    pending.refresh_from_db()
    assert pending.status == Status.DRAFT


def test_more_tasks_than_a_statement_may_have_parameters(restore: Restore) -> None:
    connection.ensure_connection()
    if connection.vendor == "sqlite":
        connection.connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 200)
    past = {"execute_time": soon(hours=-1), "parameters": {}}
    add_tasks([{"task_type": name, **past} for name in (PURGE, "programs.past") for _number in range(300)])
    lines = restore(PastDue.HOLD)
    assert len(lines) == 300
    assert not TaskInfo.objects.exists()
    found = TaskInfoLog.objects.order_by().values_list("status").annotate(count=Count("pk"))
    assert dict(found) == {TaskInfoLog.Status.CANCELLED: 300, TaskInfoLog.Status.FAILED: 300}


@pytest.mark.cases(1)
@pytest.mark.parametrize("choice", PastDue)
def test_webhooks_of_a_restored_backup_are_paused_and_never_hear_of_the_past(
    restore: Restore, choice: PastDue, settings: Any
) -> None:
    with receiving(settings) as receiver:
        endpoint = make_endpoint(receiver.url)
        make_article("Before", status=Status.APPROVED, publish_at=soon(hours=-3), cleared_at=EARLY)
        receiver.answer = 500
        drain()
        due_article()
        restore(choice)
        endpoint.refresh_from_db()
        assert (endpoint.enabled, endpoint.paused_because) == (False, "restored")
        receiver.answer = 200
        Endpoint.objects.update(enabled=True)
        Delivery.objects.update(due_at=soon())
        receiver.requests.clear()
        drain()
        assert receiver.requests == []
        new = make_article("New", status=Status.APPROVED, publish_at=soon(seconds=-1))
        drain()
        assert [body["data"]["object"] for body in receiver.bodies] == [new.pk]
