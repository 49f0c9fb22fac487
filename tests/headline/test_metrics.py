"""Prometheus metrics, and access to them."""

from __future__ import annotations

import re
import threading
import urllib.request
from collections.abc import Callable
from datetime import timedelta
from ipaddress import ip_network
from typing import Any

import pytest
from django.test import Client
from prometheus_client import REGISTRY, CollectorRegistry, Histogram
from prometheus_client.parser import text_string_to_metric_families

from articles.cache import request_metrics
from headline.doctor.probes import Probe
from scheduling import problems
from scheduling.database import read_database_clock
from scheduling.metrics import refreshed
from scheduling.models import TaskInfo, TaskInfoLog, WorkerHeartbeat
from scheduling.services import add_task, refresh
from scheduling.workers.maintenance import Maintenance
from scheduling.workers.worker import Worker
from tests.articles.factories import APPROVED, make_article, soon
from tests.conftest import serving
from tests.harness import PATIENCE, base_dir, eventually

pytestmark = pytest.mark.django_db(transaction=True)

TOKEN = "a-token-for-prometheus"
Figures = Callable[[str], list[tuple[dict[str, str], float]]]


@pytest.fixture
def figures(client: Client, settings: Any) -> Figures:
    """`figures("tasks_due")` is what /metrics says of it: labels and value of each sample."""
    settings.METRICS_TOKEN = TOKEN
    return lambda name: [(labels, value) for found, labels, value in samples(client) if found == f"headline_{name}"]


def samples(client: Client) -> list[tuple[str, dict[str, str], float]]:
    """Name, labels and value of all that /metrics says."""
    response = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert response.status_code == 200
    families = text_string_to_metric_families(response.content.decode())
    return [(sample.name, sample.labels, sample.value) for family in families for sample in family.samples]


def add(seconds: float, task_type: str = "probe.note") -> None:
    add_task(task_type, execute_time=read_database_clock() + timedelta(seconds=seconds), parameters={})


def test_tasks_are_counted_by_topic(figures: Figures) -> None:
    for seconds in (60, 70, 86_400):
        add(seconds)
    add(-60, "outside")
    inside = {"task_type": "probe.note", "priority": "0", "handled": "yes"}
    outside = {"task_type": "outside", "priority": "0", "handled": "no"}
    assert sorted(figures("tasks_due"), key=str) == sorted([(inside, 2), (outside, 1)], key=str)
    assert figures("tasks_overdue") == [(outside, 1)]


def test_failed_tasks_are_labelled_by_type(figures: Figures) -> None:
    add(60, "other")
    TaskInfoLog.objects.filter(task_type="other").update(status=TaskInfoLog.Status.FAILED)
    assert figures("tasks_failed") == [({"task_type": "other"}, 1)]


def test_heartbeats_carry_the_metrics_of_workers(
    client: Client, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lateness, failed attempts, requeued tasks and the last refresh, each with the worker's name."""
    wanted = {
        "task_lateness_seconds_bucket": {"task_type": "probe.note", "le": "60.0"},
        "task_lateness_seconds_count": {"task_type": "probe.note"},
        "task_failures_total": {"task_type": "probe.fail", "outcome": "retried"},
        "tasks_requeued_total": {},
        "refreshed_timestamp_seconds": {},
    }

    def values() -> list[float]:
        """Of a new heartbeat, read at once: on a busy machine it would be old after some readings."""
        beating.beat()
        found = samples(client)
        return [counted(found, f"headline_worker_{name}", **labels) for name, labels in wanted.items()]

    def counted(found: list[tuple[str, dict[str, str], float]], name: str, **labels: str) -> float:
        labels["worker"] = "w"  # workers of other tests may be known still
        values = [value for one, given, value in found if one == name and {**given, **labels} == given]
        return values[0] if values else 0.0

    settings.METRICS_TOKEN = TOKEN
    settings.SCHEDULING_BACKOFF = 600.0  # no second attempt on a busy machine
    worker = Worker()
    beating = Maintenance("w", [], worker.queue)
    *before, _refreshed = values()
    add(0)
    add(0, "probe.fail")
    worker.drain()
    monkeypatch.setattr("scheduling.workers.maintenance.sweep", lambda queue: 3)
    beating.sweep()
    beating.refresh()
    *after, refreshed_at = values()
    assert [now - then for now, then in zip(after, before, strict=True)] == [1, 1, 1, 3]
    assert abs(refreshed_at - read_database_clock().timestamp()) < 60


@pytest.mark.thorough
def test_workers_and_their_queue_are_measured(figures: Figures, settings: Any) -> None:
    settings.SCHEDULING_REDIS_URL = "redis://localhost"
    assert (figures("workers_alive"), figures("queue_degraded")) == ([({}, 0)], [({}, 0)])
    now = read_database_clock()
    for name, queue in (("a", "redis"), ("b", "database")):
        WorkerHeartbeat.objects.create(name=name, started_at=now, seen_at=now, queue=queue)
    assert (figures("workers_alive"), figures("queue_degraded")) == ([({}, 2)], [({}, 1)])


def test_a_worker_sends_no_time_of_a_refresh_before_its_first_one(
    figures: Figures, monkeypatch: pytest.MonkeyPatch
) -> None:
    """0 would mean that none has been completed for decades, which fires an alert at each start."""
    monkeypatch.setattr(refreshed, "_at", None)
    beating = Maintenance("w", [], Worker().queue)
    beating.beat()
    assert figures("worker_refreshed_timestamp_seconds") == []
    beating.refresh()
    beating.beat()
    assert len(figures("worker_refreshed_timestamp_seconds")) == 1


@pytest.mark.thorough
def test_unscheduled_articles_are_counted_at_intervals(figures: Figures, settings: Any) -> None:
    settings.METRICS_COUNT_INTERVAL = 0
    assert figures("articles_unscheduled") == [({}, 0)]
    make_article(status=APPROVED, publish_at=soon(minutes=1))
    TaskInfo.objects.all().delete()
    assert figures("articles_unscheduled") == [({}, 1)]
    settings.METRICS_COUNT_INTERVAL = 3600
    refresh()
    assert figures("articles_unscheduled") == [({}, 1)]
    settings.METRICS_COUNT_INTERVAL = 0
    assert figures("articles_unscheduled") == [({}, 0)]


def test_without_the_database_only_database_up_is_reported(figures: Figures, monkeypatch: pytest.MonkeyPatch) -> None:
    assert figures("database_up") == [({}, 1)]
    monkeypatch.setattr("headline.doctor.metrics._figures", Probe(lambda: 1 / 0))
    assert figures("database_up") == [({}, 0)]
    assert figures("tasks_due") == []


def test_requests_are_measured_too(client: Client, figures: Figures, settings: Any) -> None:
    client.get("/healthz")
    figures("database_up")
    page = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).content.decode()
    assert "django_http_requests_latency_seconds_by_view_method" in page


@pytest.mark.parametrize(
    ("token", "networks", "header", "address", "status"),
    [
        ("", [], "", "127.0.0.1", 403),
        ("", [], "Bearer ", "127.0.0.1", 403),
        (TOKEN, [], f"Bearer {TOKEN}", "203.0.113.7", 200),
        (TOKEN, [], "", "127.0.0.1", 401),
        (TOKEN, [], "Bearer wrong", "127.0.0.1", 401),
        (TOKEN, [], "Bearer 头条", "127.0.0.1", 401),
        ("sekrét", [], "Bearer sekr\xc3\xa9t", "127.0.0.1", 200),  # as WSGI hands over what was sent as UTF-8
        ("", ["10.0.0.0/8", "::1/128"], "", "10.1.2.3", 200),
        ("", ["10.0.0.0/8", "::1/128"], "", "::1", 200),
        ("", ["10.0.0.0/8"], "", "203.0.113.7", 403),
        ("", ["10.0.0.0/8"], "", "", 403),
        (TOKEN, ["10.0.0.0/8"], "", "10.1.2.3", 200),
        (TOKEN, ["10.0.0.0/8"], f"Bearer {TOKEN}", "203.0.113.7", 200),
    ],
)
def test_only_the_token_or_a_listed_network_gives_access(
    client: Client, settings: Any, token: str, networks: list[str], header: str, address: str, status: int
) -> None:
    settings.METRICS_TOKEN, settings.METRICS_NETWORKS = token, [ip_network(network) for network in networks]
    headers = {"Authorization": header, "X-Forwarded-For": "10.1.2.3"}
    response = client.get("/metrics", headers=headers, REMOTE_ADDR=address)
    assert response.status_code == status
    assert (b"headline_" in response.content) == (status == 200)


def test_the_clock_offset_is_measured(figures: Figures, monkeypatch: pytest.MonkeyPatch) -> None:
    ahead = read_database_clock() + timedelta(hours=1)
    monkeypatch.setattr("scheduling.problems.read_database_clock", lambda: ahead)
    ((_labels, offset),) = figures("clock_offset_seconds")
    assert 3500 < offset < 3700


def test_the_alert_rules_read_the_problems_that_probes_and_screens_name(figures: Figures) -> None:
    shown = {labels["code"]: value for labels, value in figures("problem")}
    assert (shown["no_worker"], shown["overdue"]) == (1, 0)
    rules = (base_dir / "deploy" / "prometheus" / "alerts.yml").read_text()
    read = {code for codes in re.findall(r"headline_problem{code=~?\"([\w|]+)\"}", rules) for code in codes.split("|")}
    assert len(read) == 4 and read <= shown.keys()
    for problem in problems.PROBLEMS:
        if problem.code in ("no_worker", "worker_without_redis"):
            assert f"summary: {problem.text}" in rules


def test_metrics_of_several_processes_add_up() -> None:
    """A counter served by another process is not reset."""
    counter = re.compile(r"^django_http_requests_before_middlewares_total (\S+)$", re.MULTILINE)
    with serving("--workers", "2", env={"METRICS_TOKEN": TOKEN}) as site:
        asked = urllib.request.Request(f"{site.url}/metrics", headers={"Authorization": f"Bearer {TOKEN}"})  # noqa: S310
        counts = []
        for _ in range(20):
            with urllib.request.urlopen(asked, timeout=PATIENCE) as response:  # noqa: S310
                counts.append(float(counter.findall(response.read().decode())[0]))
    assert counts == [float(number) for number in range(1, 21)]


def test_requests_counted_together_are_those_counted_one_by_one() -> None:
    registry = CollectorRegistry()
    alone, together = (Histogram(name, "Seconds", buckets=(0.1, 1, 5), registry=registry) for name in ("a", "b"))
    values = [0.0, 0.05, 0.1, 0.11, 5.0, 7.0, 7.5]
    for value in values:
        alone.observe(value)
    request_metrics._observe(together, values)
    found = [
        [(sample.name[1:], sample.labels, sample.value) for sample in metric.samples if "created" not in sample.name]
        for metric in registry.collect()
    ]
    assert found[0] == found[1]


def test_requests_are_in_the_metrics_of_other_processes_without_being_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_metrics, "_INTERVAL", 0.01)
    values = {"view": "probe", "method": "GET", "scheme": "http", "status": 200, "charset": "utf-8", "size": 5}
    request_metrics.RequestMetrics(**values).count(0.5)  # type: ignore[arg-type]
    labels = {"view": "probe", "transport": "http", "method": "GET"}
    name = "django_http_requests_total_by_view_transport_method_total"
    assert eventually(lambda: REGISTRY.get_sample_value(name, labels)) == 1


def test_a_request_is_counted_at_once_if_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    values = {"view": "alone", "method": "GET", "scheme": "http", "status": 200, "charset": "utf-8", "size": 5}
    metrics = request_metrics.RequestMetrics(**values)  # type: ignore[arg-type]
    request_metrics.write_request_metrics()
    monkeypatch.setattr(threading.Thread, "start", refuse)
    metrics.count(0.5)
    labels = {"view": "alone", "transport": "http", "method": "GET"}
    name = "django_http_requests_total_by_view_transport_method_total"
    assert REGISTRY.get_sample_value(name, labels) == 1
