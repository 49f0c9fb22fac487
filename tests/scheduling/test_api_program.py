"""A program in another language (curl) works on tasks of a real server."""

from __future__ import annotations

import json
import subprocess
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import Permission, User

from headline.api.tokens import issue
from scheduling.database import read_database_clock
from scheduling.models import TaskInfo, TaskInfoLog
from tests.conftest import Site
from tests.harness import PATIENCE

TYPE = "video.encode"
Status = TaskInfoLog.Status


class Curl:
    """`curl` with a program's token; each call returns the HTTP status and the JSON response."""

    def __init__(self, site: Site) -> None:
        user = User.objects.create_user("encoder", is_staff=True)
        user.user_permissions.add(Permission.objects.get(codename="operate_tasks"))
        self.address = f"{site.url}/api/v1/tasks/"
        self.token = issue(user, by=user, name="encoder")[1]

    def __call__(self, method: str, path: str = "", body: Any = None, *headers: str) -> tuple[int, Any]:
        command = ["curl", "--silent", "--show-error", "--request", method, "--write-out", "\n%{http_code}"]
        for header in (f"Authorization: Token {self.token}", "Content-Type: application/json", *headers):
            command += ["--header", header]
        if body is not None:
            command += ["--data", json.dumps(body)]
        command += [self.address + path]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
        content, _, status = done.stdout.rpartition("\n")
        return int(status), json.loads(content) if content else None

    def add(self, **values: Any) -> str:
        """Add a task that was due a second ago; returns its id."""
        due = read_database_clock() - timedelta(seconds=1)
        status, task = self("POST", "", {"task_type": TYPE, "execute_time": due.isoformat()} | values)
        assert status == 201, task
        return str(task["task_id"])

    def lease(self) -> tuple[str, str]:
        """Poll one task; returns its id and lease token."""
        status, tasks = self("POST", "poll/", {"task_type": TYPE, "lease": 30})
        assert (status, len(tasks)) == (200, 1), tasks
        return tasks[0]["task_id"], tasks[0]["lease_token"]


def test_a_program_in_another_language_adds_leases_completes_fails_and_cancels(site: Site) -> None:
    """R1.21"""
    curl = Curl(site)
    cancelled = curl.add(execute_time="2100-01-01T12:00:00+08:00")
    assert curl("DELETE", f"{cancelled}/") == (204, None)
    assert curl("DELETE", f"{cancelled}/")[0] == 409

    done = curl.add(parameters={"file": "晨报.mp4"})
    task_id, token = curl.lease()
    assert task_id == done
    assert curl("POST", "poll/", {"task_type": TYPE}) == (200, [])
    assert curl("POST", f"{done}/complete/", {"lease_token": "stale"})[0] == 409
    assert curl("POST", f"{done}/complete/", {"lease_token": token})[0] == 200

    failed = curl.add()
    task_id, token = curl.lease()
    report = {"lease_token": token, "error": "codec missing"}
    assert curl("POST", f"{task_id}/fail/", report) == (200, {"retried": True})

    assert curl("GET", f"{cancelled}/")[1]["status"] == Status.CANCELLED
    assert curl("GET", f"{done}/")[1]["status"] == Status.EXECUTED
    assert curl("GET", f"{failed}/")[1]["attempts"] == 1
    assert [str(task.task_id) for task in TaskInfo.objects.all()] == [failed]


def test_a_request_that_is_sent_twice_adds_one_task(site: Site) -> None:
    """The response was lost, and the program sends the request again."""
    curl = Curl(site)
    body = {"task_type": TYPE, "execute_time": "2100-01-01T12:00:00Z"}
    first = curl("POST", "", body, "Idempotency-Key: 7c1f")
    assert first[0] == 201
    assert curl("POST", "", body, "Idempotency-Key: 7c1f") == first
    assert TaskInfo.objects.count() == 1
