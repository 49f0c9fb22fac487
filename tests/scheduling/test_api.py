"""The engine's REST API: operations, errors and permissions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from rest_framework.test import APIClient

from scheduling import registry
from scheduling.database import read_database_clock
from scheduling.models import TaskInfo, TaskInfoLog
from scheduling.services import add_task

URL = "/api/v1/tasks/"
TYPE = "mail.send"
NOON = "2100-01-01T12:00:00+00:00"
Status = TaskInfoLog.Status

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def program() -> APIClient:
    """A client whose user may operate tasks and nothing else."""
    user = User.objects.create_user("robot", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="operate_tasks"))
    client = APIClient()
    client.force_authenticate(user)
    client.credentials(HTTP_AUTHORIZATION="Bearer of-a-program")  # without one, bodies are smaller
    return client


def add(**values: Any) -> TaskInfo:
    """A task that is due now."""
    usual: dict[str, Any] = {"task_type": TYPE, "execute_time": read_database_clock(), "parameters": {"to": "desk"}}
    return add_task(**usual | values)


def leased(program: APIClient, **values: Any) -> dict[str, Any]:
    """The first task that a poll returns."""
    (task,) = program.post(f"{URL}poll/", {"task_type": TYPE} | values).json()
    return dict(task)


def test_a_program_adds_a_task(program: APIClient) -> None:
    """R1.21"""
    body = {"task_type": TYPE, "execute_time": NOON, "parameters": {"n": [1, "二"]}, "priority": 3, "key": "7"}
    response = program.post(URL, body)
    task = response.json()
    assert response.status_code == 201
    assert isinstance(task["task_id"], str)
    assert (task["task_type"], task["parameters"], task["priority"], task["key"]) == (TYPE, {"n": [1, "二"]}, 3, "7")
    assert (task["execute_time"], task["status"], task["version"]) == ("2100-01-01T12:00:00Z", Status.SCHEDULED, 1)
    assert TaskInfo.objects.get().task_id == int(task["task_id"])


def test_a_time_with_another_offset_is_the_same_instant(program: APIClient) -> None:
    body = {"task_type": TYPE, "execute_time": "2100-01-01T20:00:00.123456+08:00"}
    assert program.post(URL, body).json()["execute_time"] == "2100-01-01T12:00:00.123456Z"


def test_adding_a_pending_key_reschedules_its_task_with_status_200(program: APIClient) -> None:
    first = program.post(URL, {"task_type": TYPE, "execute_time": NOON, "key": "7"})
    again = program.post(URL, {"task_type": TYPE, "execute_time": "2101-01-01T00:00:00Z", "key": "7"})
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json()["task_id"] == first.json()["task_id"]
    assert (again.json()["version"], TaskInfo.objects.count()) == (2, 1)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"execute_time": "2100-01-01T12:00:00"}, "naive_time"),
        ({"execute_time": "0001-01-01T00:00:00+14:00"}, "time_out_of_range"),
        ({"execute_time": "9999-12-31T23:59:59-14:00"}, "time_out_of_range"),
        ({"execute_time": "tomorrow"}, "invalid"),
        ({"execute_time": "2100-01-01"}, "naive_time"),
        ({"execute_time": 4102488000}, "invalid"),
        ({"execute_time": None}, "null"),
        ({"task_type": ""}, "blank"),
        ({"task_type": "x" * 65}, "max_length"),
        ({"task_type": " x"}, "invalid_task"),
        ({"task_type": "a\0b"}, "null_characters_not_allowed"),
        ({"task_type": ["x"]}, "invalid"),
        ({"key": "k" * 192}, "max_length"),
        ({"priority": 40_000}, "max_value"),
        ({"priority": "soon"}, "invalid"),
        ({"parameters": "x" * 70_000}, "invalid_task"),
    ],
)
def test_a_task_that_cannot_be_stored_is_refused_with_a_code(
    program: APIClient, change: dict[str, Any], code: str
) -> None:
    response = program.post(URL, {"task_type": TYPE, "execute_time": NOON} | change)
    assert (response.status_code, response.json()["code"]) == (400, code)
    assert not TaskInfo.objects.exists()


@pytest.mark.parametrize(
    ("body", "content_type", "status", "code"),
    [
        (b"{", "application/json", 400, "parse_error"),
        (b"\xff\xfe", "application/json", 400, "parse_error"),
        (b"[" * 100_000, "application/json", 400, "parse_error"),
        (b'{"task_type": NaN}', "application/json", 400, "parse_error"),
        (b"[1, 2]", "application/json", 400, "invalid"),
        (b'{"parameters": 1e999}', "application/json", 400, "parse_error"),
        (b'{"parameters": "\\ud800"}', "application/json", 400, "parse_error"),
        (b"task_type=x", "application/x-www-form-urlencoded", 415, "unsupported_media_type"),
        (b'"' + b"x" * 17_000_000 + b'"', "application/json", 413, "too_large"),
    ],
)
def test_a_malformed_body_is_refused_with_a_code(
    program: APIClient, body: bytes, content_type: str, status: int, code: str
) -> None:
    response = program.post(URL, body, content_type=content_type)
    assert (response.status_code, response.json()["code"]) == (status, code)


def test_only_users_with_the_permission_may_operate_tasks() -> None:
    client = APIClient()
    assert client.get(URL).status_code == 401
    client.force_authenticate(User.objects.create_user("reporter", is_staff=True))
    response = client.get(URL)
    assert (response.status_code, response.json()["code"]) == (403, "permission_denied")


def test_the_list_shows_pending_tasks_and_filters_them(program: APIClient) -> None:
    mail, note = add(key="7"), add(task_type="note", key="7")
    done = leased(program)
    program.post(f"{URL}{done['task_id']}/complete/", {"lease_token": done["lease_token"]})

    def ids(**query: Any) -> list[int]:
        return [int(task["task_id"]) for task in program.get(URL, query).json()["results"]]

    assert ids() == [note.task_id]
    assert ids(status=Status.EXECUTED) == ids(status="executed") == ids(status="EXECUTED") == [mail.task_id]
    assert ids(task_type="note", key="7") == [note.task_id]
    assert ids(task_type="Note") == []
    for wrong in ("9", "done"):
        assert program.get(URL, {"status": wrong}).json()["code"] == "invalid_choice"


def test_the_list_comes_in_pages_with_a_fixed_number_of_queries(
    program: APIClient, django_assert_num_queries: Any
) -> None:
    tasks = [add() for _ in range(5)]
    with django_assert_num_queries(3):  # the permission, twice (own and of groups), and the page
        first = program.get(URL, {"page_size": 2}).json()
    second = program.get(first["next"]).json()
    third = program.get(second["next"]).json()
    pages = [first, second, third]
    found = [int(task["task_id"]) for page in pages for task in page["results"]]
    assert found == [task.task_id for task in tasks]
    assert (first["previous"], third["next"]) == (None, None)
    assert program.get(third["previous"]).json()["results"] == second["results"]


def test_a_closed_task_can_still_be_read(program: APIClient) -> None:
    task = add()
    assert program.get(f"{URL}{task.task_id}/").json()["status"] == Status.SCHEDULED
    program.delete(f"{URL}{task.task_id}/")
    shown = program.get(f"{URL}{task.task_id}/").json()
    assert (shown["status"], shown["status_name"]) == (Status.CANCELLED, "cancelled")


def test_a_pending_task_is_rescheduled(program: APIClient) -> None:
    task = add()
    response = program.patch(f"{URL}{task.task_id}/", {"execute_time": NOON})
    assert (response.status_code, response.json()["execute_time"]) == (200, "2100-01-01T12:00:00Z")
    assert TaskInfo.objects.get().execute_time == datetime(2100, 1, 1, 12, tzinfo=UTC)


def test_the_response_to_cancelling_is_definite(program: APIClient) -> None:
    """R1.21, R1.17"""
    address = f"{URL}{add().task_id}/"
    assert program.delete(address).status_code == 204
    again = program.delete(address)
    assert (again.status_code, again.json()["code"]) == (409, "task_not_pending")
    assert program.patch(address, {"execute_time": NOON}).status_code == 409


@pytest.mark.parametrize("unknown", ["42", "9" * 30, "9" * 5000, "-1", "x"])
def test_an_unknown_task_is_not_found(program: APIClient, unknown: str) -> None:
    address = f"{URL}{unknown}/"
    assert program.get(address).status_code == 404
    assert program.delete(address).status_code == 404
    assert program.patch(address, {"execute_time": NOON}).status_code == 404
    assert program.post(f"{address}complete/", {"lease_token": "x"}).status_code == 404


def test_polling_leases_the_oldest_due_task_of_the_topic(program: APIClient) -> None:
    """R1.21, R1.12, R1.14"""
    now = read_database_clock()
    newer, older = add(execute_time=now - timedelta(hours=1)), add(execute_time=now - timedelta(hours=2))
    add(priority=1, execute_time=now - timedelta(hours=3))
    add(execute_time=now + timedelta(hours=1))
    tasks = program.post(f"{URL}poll/", {"task_type": TYPE, "limit": 10, "lease": 90}).json()
    assert [int(task["task_id"]) for task in tasks] == [older.task_id, newer.task_id]
    left = datetime.fromisoformat(tasks[0]["leased_until"]) - now
    assert timedelta(seconds=89) < left < timedelta(seconds=120)
    assert program.post(f"{URL}poll/", {"task_type": TYPE}).json() == []


def test_an_empty_queue_gives_an_empty_list(program: APIClient) -> None:
    """R1.13"""
    response = program.post(f"{URL}poll/", {"task_type": "nothing.here"})
    assert (response.status_code, response.json()) == (200, [])


@pytest.mark.parametrize(
    "change", [{"limit": 0}, {"limit": 10**6}, {"lease": 0}, {"lease": 10**9}, {"lease": "nan"}, {"priority": []}]
)
def test_a_poll_out_of_bounds_is_refused(program: APIClient, change: dict[str, Any]) -> None:
    add()
    assert program.post(f"{URL}poll/", {"task_type": TYPE} | change).status_code == 400
    assert TaskInfo.objects.get().lease_token == ""


def test_a_leased_task_is_completed_once(program: APIClient) -> None:
    """R1.21"""
    add()
    task = leased(program)
    address, token = f"{URL}{task['task_id']}/complete/", {"lease_token": task["lease_token"]}
    assert program.post(address, token).json()["status"] == Status.EXECUTED
    again = program.post(address, token)
    assert (again.status_code, again.json()["code"]) == (409, "lease_lost")


def test_a_failed_task_is_retried_until_its_attempts_are_used_up(program: APIClient, settings: Any) -> None:
    """R1.21"""
    settings.SCHEDULING_MAX_ATTEMPTS = 2
    settings.SCHEDULING_BACKOFF = settings.SCHEDULING_MAX_BACKOFF = 1e-6
    add()
    responses = []
    for _ in range(2):
        task = leased(program)
        report = {"lease_token": task["lease_token"], "error": "the mail server said no"}
        responses.append(program.post(f"{URL}{task['task_id']}/fail/", report).json())
    assert responses == [{"retried": True}, {"retried": False}]
    closed = program.get(f"{URL}{task['task_id']}/").json()
    assert (closed["status"], closed["attempts"]) == (Status.FAILED, 2)
    assert "the mail server said no" in closed["error"]


@pytest.mark.parametrize("token", ["0" * 32, "", "ü", None, ["x"]])
def test_a_wrong_token_ends_nothing(program: APIClient, token: Any) -> None:
    add()
    task = leased(program)
    for step in ({"error": "x"}, {}):
        address = f"{URL}{task['task_id']}/{'fail' if step else 'complete'}/"
        assert program.post(address, {"lease_token": token} | step).status_code in {400, 409}
    assert TaskInfo.objects.get().lease_token == task["lease_token"]


def test_programs_cannot_change_tasks_with_a_handler(program: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that polled them could complete them without their effect."""
    task = add()
    token = leased(program)["lease_token"]
    monkeypatch.setattr(registry, "_handlers", {})
    registry.handler(TYPE)(lambda tasks: None)
    address = f"{URL}{task.task_id}/"
    refused = [
        program.post(URL, {"task_type": TYPE, "execute_time": NOON}),
        program.post(f"{URL}poll/", {"task_type": TYPE}),
        program.patch(address, {"execute_time": NOON}),
        program.delete(address),
        program.post(f"{address}complete/", {"lease_token": token}),
        program.post(f"{address}fail/", {"lease_token": token, "error": "x"}),
    ]
    assert {(response.status_code, response.json()["code"]) for response in refused} == {(403, "handled_here")}
    assert program.get(address).json()["status"] == Status.SCHEDULED


def test_programs_cannot_add_more_topics_than_the_limit(program: APIClient, settings: Any) -> None:
    """Workers, probes and the admin query each topic: with ten thousand, a sweep took half a minute."""
    settings.SCHEDULING_MAX_TOPICS = 2
    begun = [program.post(URL, {"task_type": TYPE, "execute_time": NOON, "priority": number}) for number in range(3)]
    assert [response.status_code for response in begun] == [201, 201, 400]
    assert begun[2].json()["code"] == "invalid_task"
    assert "2 types and priorities" in begun[2].json()["detail"]
    assert program.post(URL, {"task_type": "x", "execute_time": NOON}).status_code == 400
    assert program.post(URL, {"task_type": TYPE, "execute_time": NOON, "priority": 1}).status_code == 201


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("2100-01-01T12:00:00.123456789Z", "2100-01-01T12:00:00.123457Z"),
        ("2100-01-01T12:00:00.123456000Z", "2100-01-01T12:00:00.123456Z"),
        ("9999-12-31T23:59:59.9999999Z", None),
    ],
)
def test_a_time_with_nanoseconds_is_rounded_up(program: APIClient, given: str, stored: str | None) -> None:
    """Cut to microseconds, the task would run early."""
    response = program.post(URL, {"task_type": "mail.send", "execute_time": given})
    assert (response.status_code, response.json().get("execute_time")) == (201 if stored else 400, stored)


def test_a_task_is_changed_only_in_the_version_that_was_read(program: APIClient) -> None:
    later = read_database_clock() + timedelta(hours=1)
    address = f"{URL}{add_task('mail.send', execute_time=later, parameters={}).task_id}/"
    read = program.get(address)
    assert program.get(address, headers={"If-None-Match": read["ETag"]}).status_code == 304
    changed = program.patch(address, {"execute_time": NOON}, headers={"If-Match": read["ETag"]})
    assert (changed.status_code, changed["ETag"]) == (200, program.get(address)["ETag"])
    stale = program.delete(address, headers={"If-Match": read["ETag"]})
    assert (stale.status_code, stale.json()["current"]["version"]) == (412, 2)
    ignored = program.post(f"{address}retry/", headers={"If-Match": read["ETag"]})
    assert (ignored.status_code, ignored.json()["code"]) == (400, "no_versions")
    assert program.delete(address, headers={"If-Match": changed["ETag"]}).status_code == 204
