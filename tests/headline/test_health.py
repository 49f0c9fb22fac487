"""Health probes: liveness, readiness and problems."""

from __future__ import annotations

import json
import os
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
import redis
from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.test import Client

from headline.accounts.address import uncounted_proxy
from headline.backup.storage import media_files
from headline.caches import caches
from headline.doctor.examine import examine
from headline.doctor.findings import Area, Level
from headline.doctor.probes import Probe, _cache, check_database
from headline.media_probe import media_is_writable
from scheduling.database import read_database_clock
from scheduling.models import TaskInfo, TaskInfoLog, WorkerHeartbeat
from scheduling.services import add_task, run_due
from tests.conftest import Site, StartManage
from tests.harness import PATIENCE, Process, Server, eventually, free_port, python, start_redis

pytestmark = pytest.mark.django_db(transaction=True)


def ready(client: Client, status: int = 200) -> dict[str, Any]:
    response = client.get("/readyz")
    assert response.status_code == status
    assert "no-store" in response["Cache-Control"]
    return dict(response.json())


def add(seconds: float, task_type: str = "probe.note") -> TaskInfo:
    due = read_database_clock() + timedelta(seconds=seconds)
    return add_task(task_type, execute_time=due, parameters={})


@pytest.fixture
def worker(transactional_db: None) -> WorkerHeartbeat:
    """A worker with a recent heartbeat."""
    now = read_database_clock()
    queue = "redis" if connection.vendor == "mysql" else "database"
    return WorkerHeartbeat.objects.create(name="w", task_types=["other"], started_at=now, seen_at=now, queue=queue)


@pytest.fixture
def own_redis(tmp_path: Path, settings: Any) -> Iterator[Server]:
    """A Redis that the test may stop."""
    server = start_redis(tmp_path)
    settings.SCHEDULING_REDIS_URL = server.url
    yield server
    server.kill()


@pytest.fixture(autouse=True)
def _no_proxy_was_seen() -> Iterator[None]:
    """Reset state from requests of other tests."""
    uncounted_proxy.clear()
    yield
    uncounted_proxy.clear()


def test_healthz_responds_without_querying_the_database(client: Client, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        response = client.get("/healthz")
    assert (response.status_code, response.content) == (200, b"ok\n")


@pytest.mark.parametrize("address", ["/healthz", "/readyz", "/metrics"])
def test_a_probe_may_use_any_host(client: Client, address: str) -> None:
    elsewhere = client.get(address, headers={"host": "10.1.2.3:8000"})
    assert elsewhere.status_code == client.get(address).status_code
    assert elsewhere["X-Content-Type-Options"] == "nosniff"
    assert client.post(address).status_code == 405


def test_all_is_well(client: Client, worker: WorkerHeartbeat) -> None:
    add(0)
    run_due(10)
    report = ready(client)
    assert (report["status"], report["problems"]) == ("ready", [])
    assert report["database"] == "ok"
    assert report["redis"] == ("ok" if connection.vendor == "mysql" else "unused")
    assert (report["workers"], report["overdue"], report["failed"]) == (1, 0, 0)
    assert 0 <= report["heartbeat_age_seconds"] < 60
    assert report["lateness_ms"]["count"] == 1
    assert report["lateness_ms"]["p50"] == report["lateness_ms"]["p99"] == report["lateness_ms"]["max"] >= 0


def test_a_directory_that_cannot_be_written_is_seen(
    client: Client, worker: WorkerHeartbeat, settings: Any, tmp_path: Path
) -> None:
    """Such as on a disk that the kernel has made read-only."""
    assert (ready(client)["media"], list(media_files())) == ("ok", [])
    (tmp_path / "file").touch()
    settings.MEDIA_ROOT = tmp_path / "file" / "media"
    media_is_writable.forget()
    report = ready(client)
    assert (report["status"], report["media"], report["problems"]) == ("degraded", "unwritable", ["media_unwritable"])
    findings = [finding for finding in examine(outward=False) if finding.area is Area.DISK]
    assert [finding.level for finding in findings] == [Level.FAILURE]


def test_a_web_server_without_a_worker_still_serves_readers(client: Client, worker: WorkerHeartbeat) -> None:
    WorkerHeartbeat.objects.update(seen_at=worker.seen_at - timedelta(minutes=1))
    report = ready(client)
    assert (report["status"], report["problems"], report["workers"]) == ("degraded", ["no_worker"], 0)
    assert report["heartbeat_age_seconds"] >= 60


def test_without_redis_it_is_degraded_and_gets_traffic(
    client: Client, worker: WorkerHeartbeat, own_redis: Server
) -> None:
    WorkerHeartbeat.objects.update(queue="redis")
    assert ready(client)["status"] == "ready"
    own_redis.kill()
    report = ready(client)
    assert (report["status"], report["problems"]) == ("degraded", ["redis_unreachable"])
    own_redis.start()
    WorkerHeartbeat.objects.update(queue="database")
    assert ready(client)["problems"] == ["worker_without_redis"]


def test_a_cache_that_is_away_and_comes_back_is_seen_at_once(
    client: Client, worker: WorkerHeartbeat, own_redis: Server, settings: Any
) -> None:
    settings.REDIS_CACHE_URL, settings.CACHES = own_redis.url, caches(own_redis.url)
    assert ready(client)["cache"] == "ok"
    own_redis.kill()
    assert (_cache.start().result(PATIENCE), ready(client)["cache"]) == ("unreachable", "unreachable")
    own_redis.start()
    assert eventually(lambda: ready(client)["cache"] == "ok")


@pytest.mark.parametrize("credentials", ["", ":wrong@"])
def test_a_redis_that_refuses_the_password_is_not_called_unreachable(
    client: Client, worker: WorkerHeartbeat, own_redis: Server, settings: Any, credentials: str
) -> None:
    with redis.Redis.from_url(own_redis.url) as store:
        store.config_set("requirepass", "right")
    url = own_redis.url.replace("://", f"://{credentials}")
    settings.SCHEDULING_REDIS_URL = settings.REDIS_CACHE_URL = url
    settings.CACHES = caches(url)
    report = ready(client)
    assert (report["redis"], report["cache"]) == ("refused", "refused")
    assert {"redis_refused", "cache_refused"} <= set(report["problems"])


def test_the_clock_of_each_worker_is_shown(client: Client, worker: WorkerHeartbeat) -> None:
    """Without their names, since it asks for no log-in."""
    now = read_database_clock()
    WorkerHeartbeat.objects.create(
        name="ahead", task_types=[], started_at=now, seen_at=now, queue=worker.queue, clock_offset_ms=5000
    )
    report = ready(client)
    assert report["worker_clock_offsets_seconds"] == [-5.0, 0.0]
    assert (report["status"], report["problems"]) == ("degraded", ["worker_clock_off"])


def test_many_failed_tasks_are_counted_by_the_database(
    worker: WorkerHeartbeat, monkeypatch: pytest.MonkeyPatch, django_assert_max_num_queries: Any
) -> None:
    rows: list[Any] = []

    class CountingCursor(CursorWrapper):
        def fetchmany(self, size: int) -> Any:
            found = self.cursor.fetchmany(size)
            rows.extend(found)
            return found

    for number in range(200):
        add(-60 - number)
    TaskInfoLog.objects.update(status=TaskInfoLog.Status.FAILED)
    TaskInfo.objects.all().delete()
    monkeypatch.setattr(connection, "make_cursor", lambda cursor: CountingCursor(cursor, connection))
    with django_assert_max_num_queries(14):
        report = check_database()
    assert report["failed"] == 200
    assert len(rows) < 20


def test_overdue_tasks_are_counted_by_who_should_run_them(client: Client, worker: WorkerHeartbeat) -> None:
    for task_type in ("probe.note", "other", "nobody.asks", "nobody.asks"):
        add(-60, task_type)
    add(-1)
    leased = add(-60)
    TaskInfo.objects.filter(pk=leased.pk).update(
        leased_until=read_database_clock() + timedelta(minutes=1), lease_token="held"
    )
    report = ready(client)
    assert (report["overdue"], report["overdue_unclaimed"]) == (2, 2)
    assert (report["status"], report["problems"]) == ("degraded", ["overdue", "overdue_unclaimed"])


def test_failed_tasks_are_counted(client: Client, worker: WorkerHeartbeat) -> None:
    add(60)
    TaskInfoLog.objects.update(status=TaskInfoLog.Status.FAILED)
    assert ready(client)["failed"] == 1


def test_the_response_contains_no_secrets(client: Client, settings: Any, worker: WorkerHeartbeat) -> None:
    settings.SCHEDULING_REDIS_URL = f"redis://:hunter2@127.0.0.1:{free_port()}"
    add(-60, "secret.type")
    text = json.dumps(ready(client))
    for secret in (
        "hunter2",
        "127.0.0.1",
        "secret.type",
        worker.name + '"',
        str(settings.DATABASES["default"]["NAME"]),
    ):
        assert secret not in text


@pytest.mark.parametrize("fault", ["DROP", "HANG"])
def test_an_unusable_database_gets_no_traffic(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, fault: str
) -> None:
    released = threading.Event()

    def ask() -> Any:
        if fault == "HANG":
            released.wait(10 * PATIENCE)
        with connection.cursor() as cursor:
            cursor.execute("SELECT * FROM a_table_that_was_never_migrated")

    monkeypatch.setattr("headline.doctor.probes._database", Probe(ask))
    monkeypatch.setattr("headline.doctor.probes.WAIT_TIMEOUT", 0.2)
    report = ready(client, 503)
    released.set()
    assert (report["status"], report["database"]) == ("unusable", "unusable")
    assert report["problems"][0] == "database_unusable"
    assert not [record for record in caplog.records if record.name == "django.request"]


def test_a_server_that_hangs_costs_one_thread_however_often_it_is_probed() -> None:
    released = threading.Event()
    probe = Probe(lambda: released.wait(10 * PATIENCE))
    before = set(threading.enumerate())
    responses = {id(probe.start()) for _ in range(20)}
    assert len(responses) == 1
    assert len(set(threading.enumerate()) - before) == 1
    response = probe.start()
    released.set()
    assert response.result(PATIENCE) is True
    assert probe.start() is not response


def test_a_probe_works_again_after_a_thread_that_could_not_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    probe = Probe(lambda: True)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError):
            probe.start().result(10)
    assert probe.start().result(10) is True


def test_a_probe_is_read_only(client: Client) -> None:
    assert [client.post(path).status_code for path in ("/healthz", "/readyz")] == [405, 405]


def fetch(url: str) -> tuple[int, dict[str, Any]]:
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_a_site_with_a_worker_is_ready(site: Site, start_manage: StartManage) -> None:
    assert fetch(f"{site.url}/readyz")[1]["problems"] == ["no_worker"]
    start_manage("poll", "--forever")
    eventually(lambda: fetch(f"{site.url}/readyz")[1]["status"] == "ready")


def test_a_site_whose_database_never_responds_reports_it_in_time() -> None:
    port = free_port()
    command = [python, "-m", "gunicorn", "headline.wsgi", "--bind", f"127.0.0.1:{port}", "--threads", "4"]
    with socket.create_server(("127.0.0.1", 0)) as black_hole:
        address = f"mysql://headline@127.0.0.1:{black_hole.getsockname()[1]}/headline"
        with Process(command, env={**os.environ, "DATABASE_URL": address}) as site:
            site.wait_for("Booting worker")
            status, report = fetch(f"http://127.0.0.1:{port}/readyz")
            assert (status, report["status"]) == (503, "unusable")
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=PATIENCE) as response:
                assert response.status == 200


def test_only_operators_see_figures(client: Client, settings: Any) -> None:
    settings.METRICS_TOKEN, settings.METRICS_NETWORKS = "operators", [ip_network("10.0.0.0/8")]
    stranger: dict[str, Any] = {"REMOTE_ADDR": "192.0.2.1"}
    for more in ({}, {"headers": {"Authorization": "Bearer wrong"}}, {"HTTP_X_FORWARDED_FOR": "10.0.0.1"}):
        assert client.get("/readyz", **stranger, **more).json().keys() == {"status", "problems"}
    behind_a_proxy = client.get("/readyz", HTTP_X_FORWARDED_FOR="192.0.2.1")
    assert behind_a_proxy.json().keys() == {"status", "problems"}
    for operator in ({}, {**stranger, "headers": {"Authorization": "Bearer operators"}}, {"REMOTE_ADDR": "10.0.0.1"}):
        report = client.get("/readyz", **operator).json()
        assert {"database", "redis", "workers", "overdue", "lateness_ms"} <= report.keys()


def test_a_wrong_clock_is_reported(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    ahead = read_database_clock() + timedelta(hours=1)
    monkeypatch.setattr("scheduling.problems.clock_offset", lambda: (ahead - read_database_clock()).total_seconds())
    report = client.get("/readyz").json()
    assert "clock_off" in report["problems"]
    assert 3500 < report["clock_offset_seconds"] <= 3600


@pytest.mark.parametrize(
    ("address", "count", "is_named"),
    [("10.0.0.1", 0, True), ("", 0, True), ("8.8.8.8", 0, False), ("10.0.0.1", 1, False)],
)
def test_a_proxy_that_is_not_counted_is_reported(
    client: Client, settings: Any, monkeypatch: pytest.MonkeyPatch, address: str, count: int, is_named: bool
) -> None:
    """A client cannot cause it with a header."""
    settings.PROXY_COUNT = count
    client.get("/healthz", REMOTE_ADDR=address, HTTP_X_FORWARDED_FOR="192.0.2.1")
    assert ("proxy_not_counted" in client.get("/readyz").json()["problems"]) == is_named
