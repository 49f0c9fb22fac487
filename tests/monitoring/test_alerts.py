"""Alert rules and dashboard in a real Prometheus: each alert is fired by its fault and resolved by the repair."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import yaml

from bench.figures import table
from tests.harness import HOST, Process, Server, Stand, base_dir, eventually, free_port, python

pytestmark = [pytest.mark.alerts, pytest.mark.django_db(transaction=True)]

RULES = base_dir / "deploy" / "prometheus" / "alerts.yml"
DASHBOARD = base_dir / "deploy" / "grafana" / "headline.json"
GUNICORN = """\
import time
from gunicorn.app.wsgiapp import run
read = time.time
time.time = lambda: read() + {}
run()
"""
ARTICLE = """\
from datetime import timedelta
from django.utils.timezone import now
from articles.models import Article
Article.objects.create(title="News", status=Article.Status.APPROVED, publish_at=now() + timedelta(minutes=9))
"""
TOKEN = "a-token-for-prometheus"
FASTER = 30
"""Times in the rules are divided by this."""
PROXY = free_port()
SETTINGS = {
    "SCHEDULING_REFRESH_INTERVAL": 1,
    "SCHEDULING_HEARTBEAT_INTERVAL": 1,
    "SCHEDULING_OVERDUE_ALARM": 3,
    "METRICS_COUNT_INTERVAL": 1,
    "CDN_PURGE_URLS": [f"http://{HOST}:{PROXY}/"],
}


class Monitored:
    """Headline with a worker, a web server and a Prometheus that evaluates its rules each second."""

    def __init__(self, stand: Stand, directory: Path) -> None:
        self.stand = stand
        self.bind = f"{HOST}:{free_port()}"
        self.site = f"http://{self.bind}"
        self.env = {"METRICS_TOKEN": TOKEN, "SITE_URL": self.site, "TEST_SETTINGS": json.dumps(SETTINGS)}
        self.prometheus = _prometheus(directory, self.bind)
        self.start_web()
        self.start_worker()

    def start_worker(self, **settings: Any) -> None:
        """Start a worker, with further settings."""
        env = {**self.env, "TEST_SETTINGS": json.dumps({**SETTINGS, **settings})}
        self.worker = self.stand.start("manage.py", "poll", "--forever", env=env)
        self.worker.wait_for(" runs ")

    def start_web(self, clock_ahead: float = 0) -> None:
        """Start the web server, with a machine's clock that is some seconds ahead."""
        options = ["headline.wsgi", "--bind", self.bind, "--threads", "4"]
        command = [python, "-u", "-c", GUNICORN.format(clock_ahead), *options]
        self.web = Process(command, env={**self.stand.environment, **self.env})
        self.web.wait_for("Booting worker")

    def close(self) -> None:
        """Stop what it started."""
        for process in (self.worker, self.web):
            process.kill()
        self.prometheus.kill()

    def add(self, task_type: str, lead: float = 0, parameters: dict[str, Any] | None = None) -> None:
        """Store a task that is due in `lead` seconds."""
        task = {"task_type": task_type, "count": 1, "lead": lead, "parameters": parameters or {}}
        self.stand.run("tests.chaos.load", json.dumps([task]), env=self.env)

    def firing(self) -> set[str]:
        """The names of the alerts that fire."""
        alerts = self._ask("alerts")["alerts"]
        return {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}

    def fires(self, name: str) -> bool:
        """Whether this alert fires."""
        return name in self.firing()

    def query(self, expression: str) -> list[Any]:
        """The series that an expression has now."""
        found: list[Any] = self._ask("query", query=expression)["result"]
        return found

    def has_data(self, expression: str) -> bool:
        """Whether an expression has series; the front page is visited first."""
        with urllib.request.urlopen(self.site, timeout=10):
            return bool(self.query(expression))

    def read_until(self, over: threading.Event) -> None:
        """Visit the front page again and again."""
        while not over.wait(0.2):
            urllib.request.urlopen(self.site, timeout=10).close()

    def _ask(self, name: str, **parameters: str) -> dict[str, Any]:
        with urllib.request.urlopen(
            f"{self.prometheus.url}/api/v1/{name}?{urlencode(parameters)}", timeout=10
        ) as reply:
            data: dict[str, Any] = json.load(reply)["data"]
        return data


def _prometheus(directory: Path, target: str) -> Server:
    rules = re.sub(r"\b(\d+)(m|s)\b", lambda found: f"{_seconds(found) // FASTER or 1}s", RULES.read_text())
    rules = re.sub(r"> 300\b", f"> {300 // FASTER}", rules)
    # A cache that is away is tried every few seconds, which is not faster here: so much fewer errors are in a range.
    rules = re.sub(r"(?<=headline_cache_errors_total\[10s\]\)\)) > 5", f" > {5 // FASTER}", rules)
    (directory / "alerts.yml").write_text(rules)
    scraped = {
        "job_name": "headline",
        "authorization": {"credentials": TOKEN},
        "static_configs": [{"targets": [target]}],
    }
    every_second = {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}
    config = {"global": every_second, "rule_files": ["alerts.yml"], "scrape_configs": [scraped]}
    (directory / "prometheus.yml").write_text(yaml.safe_dump(config))
    port = free_port()
    command = ["prometheus", "--config.file=prometheus.yml", f"--storage.tsdb.path={directory / 'data'}"]
    return Server(
        [*command, f"--web.listen-address={HOST}:{port}"], port=port, url=f"http://{HOST}:{port}", cwd=directory
    ).start()


def _seconds(found: re.Match[str]) -> int:
    """Of a duration; ranges of a query have to hold several scrapes."""
    return int(found[1]) * (60 if found[2] == "m" else 1)


@pytest.fixture(scope="module")
def monitored(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Monitored]:
    with Stand(settings="tests.settings") as stand:
        running = Monitored(stand, tmp_path_factory.mktemp("prometheus"))
        yield running
        running.close()


@contextmanager
def stopped_worker(monitored: Monitored) -> Iterator[None]:
    monitored.worker.stop()
    yield
    monitored.start_worker()


@contextmanager
def overdue_task(monitored: Monitored) -> Iterator[None]:
    """A worker that runs another type only, so that this one is not run."""
    with stopped_worker(monitored):
        monitored.add("probe.note")
        yield


@contextmanager
def late_task(monitored: Monitored) -> Iterator[None]:
    """One whose handler takes seconds."""
    monitored.add("probe.slow", parameters={"seconds": 3})
    yield


@contextmanager
def stopped_web_server(monitored: Monitored) -> Iterator[None]:
    monitored.web.stop()
    yield
    monitored.start_web()


@contextmanager
def frozen_database(monitored: Monitored) -> Iterator[None]:
    process = monitored.stand.mariadb.process
    assert process is not None
    process.send_signal(signal.SIGSTOP)
    yield
    process.send_signal(signal.SIGCONT)


@contextmanager
def dead_task(monitored: Monitored) -> Iterator[None]:
    monitored.add("probe.broken", parameters={"seconds": 0.1})
    yield
    connection = monitored.stand.connect()
    connection.cursor().execute("UPDATE taskinfo_logs SET status = 2 WHERE status = 3")
    connection.close()


@contextmanager
def refused_task(monitored: Monitored) -> Iterator[None]:
    monitored.add("probe.refused")
    yield
    connection = monitored.stand.connect()
    connection.cursor().execute("DELETE FROM taskinfo WHERE task_type = 'probe.refused'")
    connection.close()


@contextmanager
def stopped_redis(monitored: Monitored) -> Iterator[None]:
    monitored.stand.redis.kill()
    yield
    monitored.stand.redis.start()


@contextmanager
def readers_without_cache(monitored: Monitored) -> Iterator[None]:
    with stopped_redis(monitored), ThreadPoolExecutor() as executor:
        over = threading.Event()
        reading = executor.submit(monitored.read_until, over)
        yield
        over.set()
        reading.result()


@contextmanager
def lost_hints(monitored: Monitored) -> Iterator[None]:
    """Only the hints, so that no refresh starts at once and loads them again."""
    monitored.worker.stop()
    monitored.start_worker(SCHEDULING_REFRESH_INTERVAL=3600)
    monitored.add("probe.note", lead=3)
    queue = monitored.stand.queue()
    assert queue.delete(*queue.keys("sched:future:*"))
    yield
    monitored.worker.stop()
    monitored.start_worker()


@contextmanager
def no_refresh(monitored: Monitored) -> Iterator[None]:
    """A worker that has refreshed when it started, and does so never again."""
    monitored.worker.stop()
    monitored.start_worker(SCHEDULING_REFRESH_INTERVAL=3600)
    yield
    monitored.worker.stop()
    monitored.start_worker()


@contextmanager
def unscheduled_article(monitored: Monitored) -> Iterator[None]:
    """Its task is gone, and the worker refreshes only when it starts."""
    with no_refresh(monitored):
        monitored.stand.call("manage.py", "shell", "-c", ARTICLE, env=monitored.env)
        connection = monitored.stand.connect()
        connection.cursor().execute("DELETE FROM taskinfo WHERE task_type = 'articles.publish'")
        connection.close()
        yield


@contextmanager
def lost_events(monitored: Monitored) -> Iterator[None]:
    """As `articles.webhooks.retention` notes it."""
    connection = monitored.stand.connect()
    connection.cursor().execute(
        "INSERT INTO articles_feedhead (id, sequence, looked_at, lost, lost_at)"
        " VALUES (1, 0, UTC_TIMESTAMP(6), 3, UTC_TIMESTAMP(6))"
        " ON DUPLICATE KEY UPDATE lost = 3, lost_at = UTC_TIMESTAMP(6)"
    )
    yield
    connection.cursor().execute("UPDATE articles_feedhead SET lost = 0")
    connection.close()


@contextmanager
def wrong_clock(monitored: Monitored) -> Iterator[None]:
    monitored.web.stop()
    monitored.start_web(clock_ahead=5)
    yield
    monitored.web.stop()
    monitored.start_web()


@contextmanager
def refused_purges(monitored: Monitored) -> Iterator[None]:
    """Nothing listens where the purges go."""
    for _ in range(4):
        monitored.add("articles.publish")
    yield


FAULTS: dict[str, Callable[[Monitored], Any]] = {
    "HeadlineUnreachable": stopped_web_server,
    "DatabaseUnusable": frozen_database,
    "NoWorker": stopped_worker,
    "TasksOverdue": overdue_task,
    "WorkRefused": refused_task,
    "TasksLate": late_task,
    "TasksDead": dead_task,
    "WorkersWithoutRedis": stopped_redis,
    "HintsLost": lost_hints,
    "RefreshStopped": no_refresh,
    "ArticlesUnscheduled": unscheduled_article,
    "EventsLost": lost_events,
    "ClockOff": wrong_clock,
    "CacheErrors": readers_without_cache,
    "PurgesFail": refused_purges,
}


def test_prometheus_accepts_the_rules() -> None:
    done = subprocess.run(["promtool", "check", "rules", str(RULES)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_alert_has_its_fault_and_its_runbook() -> None:
    (group,) = yaml.safe_load(RULES.read_text())["groups"]
    names = [rule["alert"] for rule in group["rules"]]
    assert sorted(names) == sorted(FAULTS)
    assert re.findall(r"^## (\w+)$", (base_dir / "docs" / "runbooks.md").read_text(), re.MULTILINE) == names


def test_each_alert_fires_by_its_fault_and_is_silent_without(monitored: Monitored) -> None:
    results = []
    eventually(lambda: monitored.query("headline_workers_alive > 0"))
    for name, fault in FAULTS.items():
        eventually(lambda: not monitored.firing(), message=f"before {name}: {monitored.firing()}")
        with fault(monitored):
            eventually(partial(monitored.fires, name), message=f"{name} does not fire")
            results.append((name, ", ".join(sorted(monitored.firing() - {name})) or "-"))
    eventually(lambda: not monitored.firing(), message="an alert does not end")
    print("\n" + table(results, ("alert", "others that fired")))  # noqa: T201


def test_no_alert_of_a_stopped_refresh_fires_when_the_only_worker_starts(monitored: Monitored) -> None:
    refreshed = "headline_worker_refreshed_timestamp_seconds"
    fired = 'ALERTS{alertname="RefreshStopped", alertstate="firing"}'
    eventually(lambda: not monitored.firing())
    began = time.monotonic()
    monitored.worker.kill()
    eventually(lambda: not monitored.query(refreshed))
    monitored.start_worker(SCHEDULING_HEARTBEAT_INTERVAL=2)  # so that the one before the first refresh is scraped
    eventually(lambda: monitored.query(refreshed))
    assert not monitored.query(f"last_over_time({fired}[{int(time.monotonic() - began)}s])")


def test_each_panel_of_the_dashboard_has_data(monitored: Monitored) -> None:
    monitored.add("probe.note")
    targets = [
        (panel["title"], target["expr"])
        for panel in json.loads(DASHBOARD.read_text())["panels"]
        for target in panel["targets"]
    ]
    for title, expression in targets:
        eventually(partial(monitored.has_data, expression), message=f"{title} is empty: {expression}")
