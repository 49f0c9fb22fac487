"""The engine's admin: read-only rows, actions through the services, constant query counts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from scheduling import registry
from scheduling.database import read_database_clock
from scheduling.models import TaskInfo, TaskInfoLog, WorkerHeartbeat
from scheduling.services import cancel_task, run_due
from tests.scheduling.conftest import TYPE, Add, Notes

pytestmark = pytest.mark.django_db(transaction=True)

Status = TaskInfoLog.Status
TASKS, RECORDS, WORKERS = (f"/admin/scheduling/{name}/" for name in ("taskinfo", "taskinfolog", "workerheartbeat"))
WORKER_ID = 7


def user(name: str, *permissions: str) -> Client:
    """A client logged in as a staff user with these permissions."""
    user = User.objects.create_user(name, is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def operator(transactional_db: None) -> Client:
    return user("alice", "operate_tasks")


def rows(client: Client, url: str, **query: str | int) -> list[int]:
    """Ids in the list, in its order."""
    response = client.get(url, query)
    assert response.status_code == 200
    return [row.pk for row in response.context["cl"].result_list]


def act(client: Client, url: str, action: str, *ids: int) -> str:
    """Run an admin action on the rows; returns the messages."""
    response = client.post(url, {"action": action, "_selected_action": ids}, follow=True)
    assert response.status_code == 200
    return " ".join(str(message) for message in response.context["messages"])


def test_pending_tasks_are_listed_soonest_first_with_their_last_error(operator: Client, add: Add, notes: Notes) -> None:
    def refuse(batch: Sequence[TaskInfo]) -> None:
        raise ValueError("the printing press is on fire")

    later, sooner = add(600, key="later"), add(300, key="sooner")
    notes.fault = refuse
    failing = add(key="failing")
    run_due(10)
    assert rows(operator, TASKS) == [failing.pk, sooner.pk, later.pk]
    page = operator.get(TASKS).content.decode()
    assert "ValueError: the printing press is on fire" in page
    assert f"{sooner.execute_time:%Y-%m-%d %H:%M:%S}.{sooner.execute_time.microsecond // 1000:03} UTC" in page


def test_times_name_their_distance_from_utc_which_no_two_zones_share(operator: Client, add: Add, settings: Any) -> None:
    settings.TIME_ZONE = "Asia/Shanghai"
    add(600)
    page = operator.get(TASKS).content.decode()
    assert "UTC+08:00" in page and "CST" not in page


def test_the_list_filters_overdue_tasks(operator: Client, add: Add) -> None:
    overdue, leased, fresh = add(-60), add(-60), add(0)
    TaskInfo.objects.filter(pk=leased.pk).update(
        leased_until=read_database_clock() + timedelta(seconds=60), lease_token="held"
    )
    assert rows(operator, TASKS, overdue="yes") == [overdue.pk]
    assert len(re.findall(r">\s*overdue\s*<", operator.get(TASKS).text)) == 1
    cancel_task(overdue.pk)
    assert rows(operator, TASKS, overdue="yes") == []
    assert set(rows(operator, TASKS)) == {leased.pk, fresh.pk}


@pytest.mark.parametrize("url", [TASKS, RECORDS])
def test_tasks_are_found_by_type_key_and_number(operator: Client, add: Add, url: str) -> None:
    article, other = add(60, key="头条-1"), add(60, task_type="other", key="7")
    assert rows(operator, url, type="other") == [other.pk]
    assert rows(operator, url, q="头条") == [article.pk]
    assert rows(operator, url, q=article.pk) == [article.pk]
    assert rows(operator, url, q="7") == [other.pk]
    assert rows(operator, url, q="条") == rows(operator, url, q="9" * 40) == []


def test_records_show_the_lateness_and_are_found_by_status(operator: Client, add: Add, notes: Notes) -> None:
    executed = add()
    run_due(10)
    waiting = add(60)
    TaskInfoLog.objects.filter(pk=executed.pk).update(lateness=timedelta(milliseconds=12.3))
    assert rows(operator, RECORDS) == [waiting.pk, executed.pk]
    assert rows(operator, RECORDS, status__exact=Status.EXECUTED) == [executed.pk]
    assert ">12.3<" in re.sub(r"\s", "", operator.get(RECORDS).content.decode())


def test_cancelling_reports_how_many_were_pending(operator: Client, add: Add, notes: Notes) -> None:
    pending, executed = add(60, task_type="outside"), add()
    run_due(10)
    message = act(operator, TASKS, "cancel", pending.pk, executed.pk)
    assert message == "1 task is cancelled. 1 task was no longer pending."
    record = TaskInfoLog.objects.get(pk=pending.pk)
    assert (record.status, record.error) == (Status.CANCELLED, "Cancelled by alice.")
    assert TaskInfoLog.objects.get(pk=executed.pk).status == Status.EXECUTED


def test_cancelling_warns_about_tasks_that_will_be_added_again(operator: Client, add: Add, notes: Notes) -> None:
    assert f"Tasks of {TYPE} are added again" in act(operator, TASKS, "cancel", add(60).pk)


def test_retrying_reports_which_tasks_could_not_be_retried_and_why(
    operator: Client, add: Add, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(batch: Sequence[TaskInfo]) -> None:
        raise ValueError

    monkeypatch.setitem(registry._handlers, TYPE, registry.Handler(refuse, max_attempts=1))
    failed = add()
    run_due(10)
    waiting = add(60)
    message = act(operator, RECORDS, "retry", failed.pk, waiting.pk)
    assert f"{waiting.pk}: Only a task that failed" in message
    assert "1 task is pending again." in message
    assert set(TaskInfo.objects.values_list("pk", flat=True)) == {failed.pk, waiting.pk}
    assert LogEntry.objects.get().object_id == str(failed.pk)


@pytest.mark.cases(1)
@pytest.mark.parametrize("url", [TASKS, RECORDS, WORKERS])
def test_rows_are_read_only_in_the_admin(admin_client: Client, add: Add, url: str) -> None:
    task = add(60)
    WorkerHeartbeat.objects.create(name=str(WORKER_ID), started_at=task.created_at, seen_at=task.created_at)
    row = WORKER_ID if url == WORKERS else task.pk
    assert admin_client.get(f"{url}add/").status_code == 403
    assert admin_client.get(f"{url}{row}/change/").status_code == 200
    assert admin_client.post(f"{url}{row}/change/", {"key": "other"}).status_code == 403
    assert admin_client.post(f"{url}{row}/delete/", {"post": "yes"}).status_code == 403
    act(admin_client, url, "delete_selected", row)
    assert (TaskInfo.objects.count(), TaskInfoLog.objects.count(), WorkerHeartbeat.objects.count()) == (1, 1, 1)


def test_a_viewer_cannot_cancel_or_retry(add: Add) -> None:
    task, viewer = add(60), user("bob", "view_taskinfo", "view_taskinfolog")
    assert rows(viewer, TASKS) == [task.pk]
    act(viewer, TASKS, "cancel", task.pk)
    act(viewer, RECORDS, "retry", task.pk)
    assert TaskInfo.objects.get().version == 1
    assert user("charlie").get(TASKS).status_code == 403


def test_a_lease_token_is_never_shown(admin_client: Client, add: Add) -> None:
    task = add()
    TaskInfo.objects.update(lease_token="0123456789abcdef")
    for url in (TASKS, f"{TASKS}{task.pk}/change/"):
        assert "0123456789abcdef" not in admin_client.get(url).content.decode()


def test_workers_are_listed_alive_or_not(operator: Client) -> None:
    now = read_database_clock()
    for name, age in (("alive", 1), ("dead", 60)):
        WorkerHeartbeat.objects.create(name=name, started_at=now, seen_at=now - timedelta(seconds=age))
    WorkerHeartbeat.objects.create(name="stopped", started_at=now, seen_at=now, stopped_at=now)
    response = operator.get(WORKERS)
    assert [row.pk for row in response.context["cl"].result_list] == ["stopped", "alive", "dead"]
    screen = response.context["cl"].model_admin
    assert [screen.is_alive(row) for row in response.context["cl"].result_list] == [False, True, False]


@pytest.mark.parametrize("url", [TASKS, RECORDS])
def test_a_list_caps_its_count(operator: Client, add: Add, url: str, monkeypatch: Any) -> None:
    for _ in range(3):
        add(60)
    monkeypatch.setattr("scheduling.database.counting.COUNT_LIMIT", 2)
    with CaptureQueriesContext(connection) as queries:
        response = operator.get(url)
    assert response.context["cl"].result_count == 2
    counts = [query["sql"] for query in queries if "COUNT(" in query["sql"] and "taskinfo" in query["sql"]]
    assert counts
    assert all("LIMIT 2" in sql for sql in counts)
    assert len(queries) < 20


@pytest.mark.parametrize("url", [TASKS, RECORDS])
def test_the_number_of_queries_does_not_grow_with_the_rows(operator: Client, add: Add, url: str) -> None:
    def count() -> int:
        with CaptureQueriesContext(connection) as queries:
            operator.get(url)
        return len(queries)

    add(60)
    count()  # the first page of a process reads more, which it keeps
    few = count()
    for _ in range(10):
        add(60)
    assert count() == few


def test_tasks_are_named_as_their_application_names_them(
    operator: Client, add: Add, monkeypatch: pytest.MonkeyPatch
) -> None:
    handler = registry.Handler(print, label="Publication", namer=lambda keys, to: {"7": "Harbour bridge"})
    monkeypatch.setitem(registry._handlers, TYPE, handler)
    task = add(600, key="7")
    for address in (TASKS, RECORDS, f"{TASKS}{task.pk}/change/", f"{RECORDS}{task.pk}/change/"):
        shown = operator.get(address).text
        assert "Publication" in shown
        assert "Harbour bridge" in shown
        assert f"{TYPE}: 7" not in shown
        assert "/history/" not in shown, "Django's own history knows nothing of tasks"
    assert "Publication: Harbour bridge" in operator.get(f"{TASKS}{task.pk}/change/").text
