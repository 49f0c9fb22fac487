"""The diagnosis of an installation: `manage.py doctor` and the System screen."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections import namedtuple
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from articles.roles import Role
from headline import env
from headline.doctor import servers, surroundings
from headline.doctor.examine import examine
from headline.doctor.findings import Area, DoctorFinding, Level
from scheduling.database import read_database_clock
from scheduling.models import WorkerHeartbeat
from tests.articles.factories import make_member, make_user
from tests.conftest import Manage
from tests.harness import free_port

pytestmark = pytest.mark.django_db(transaction=True)

SECURE = {
    "DJANGO_DEBUG": "off",
    "DJANGO_SECRET_KEY": "key-hunter2-" + "0123456789abcdefghijklmnopqrstuvwxyz" * 2,
    "SITE_URL": "https://news.example.org",
    "PROXY_COUNT": "1",
    "EMAIL_URL": "smtp+tls://mailer:mail-hunter2@mail.example.org:587",
    "METRICS_TOKEN": "metrics-hunter2",
    "CDN_PURGE_HEADER": "Authorization: Bearer cdn-hunter2",
}


@pytest.fixture(autouse=True)
def worker(transactional_db: None) -> WorkerHeartbeat:
    """A worker with a recent heartbeat."""
    now, queue = read_database_clock(), "redis" if connection.vendor == "mysql" else "database"
    return WorkerHeartbeat.objects.create(name="w:1", task_types=[], started_at=now, seen_at=now, queue=queue)


@pytest.fixture(autouse=True)
def _no_cron_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another test may install jobs in this user's real crontab at the same time."""
    program = tmp_path / "programs" / "crontab"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")


def found(area: Area, *, outward: bool = False) -> list[DoctorFinding]:
    return [finding for finding in examine(outward=outward) if finding.area is area]


def only(area: Area, *, outward: bool = False) -> tuple[Level, str]:
    (finding,) = found(area, outward=outward)
    return finding.level, str(finding.text)


def test_a_sound_installation_is_described_and_without_warnings_exits_with_0(manage: Manage) -> None:
    """The tests' MariaDB and Redis are set up for speed, which is named."""
    done = manage("doctor", "--offline", env={**SECURE, "CDN_PURGE_HEADER": ""})
    warnings = [line for line in done.stdout.splitlines() if line.startswith(("WARNING", "FAILURE"))]
    if connection.vendor == "sqlite":
        assert (done.returncode, warnings) == (0, []), done.stdout
    else:
        assert done.returncode == 1, done.stdout + done.stderr
        assert "innodb_flush_log_at_trx_commit is 2" in warnings[0]
        assert "share the memory of one server" in warnings[1]
        assert "does not evict" in warnings[2]
        assert len(warnings) == 3
    assert [label for label in Area.labels if f"{label}:" not in done.stdout] == []


def test_without_a_database_the_rest_is_examined_and_no_secret_is_printed(manage: Manage) -> None:
    address = f"mysql://root:db-hunter2@127.0.0.1:{free_port()}/headline"
    purge = f"http://127.0.0.1:{free_port()}/key-hunter2"
    done = manage("doctor", "--json", env={**SECURE, "DATABASE_URL": address, "CDN_PURGE_URLS": purge})
    assert done.returncode == 2, done.stderr
    report = json.loads(done.stdout)
    levels = {row["area"]: row["level"] for row in report["findings"] if row["level"] == "failure"}
    assert report["status"] == "failure"
    assert set(levels) == {"database", "mail", "cdn"}
    assert "hunter2" not in done.stdout + done.stderr


def test_sentences_of_our_system_checks_are_in_the_language_of_the_page(settings: Any) -> None:
    settings.PROXY_COUNT, settings.SITE_URL, settings.SECRET_KEY = 0, "https://example.org", "short"
    languages = {finding.code: finding.language for finding in examine(outward=False)}
    assert languages["headline.W001"] == ""
    assert languages["security.W009"] == "en", "that is Django's"


@pytest.mark.parametrize(("seconds", "level"), [(0.02, Level.OK), (0.5, Level.WARNING), (-5, Level.FAILURE)])
def test_the_clock(monkeypatch: pytest.MonkeyPatch, seconds: float, level: Level) -> None:
    monkeypatch.setattr("scheduling.problems.clock_offset", lambda: seconds)
    assert only(Area.CLOCK)[0] == level


def test_the_clock_of_another_machine(worker: WorkerHeartbeat) -> None:
    WorkerHeartbeat.objects.update(clock_offset_ms=-5000)
    assert only(Area.CLOCK) == (
        Level.FAILURE,
        "The database's clock differs from that of the worker w:1 by -5.0 seconds.",
    )


@pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has no nodes")
def test_the_clock_of_a_database_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """One node answers, one is down, and the answer of one is made up."""
    here = str(connection.settings_dict["HOST"]), int(connection.settings_dict["PORT"])
    wrong, down = ("127.0.0.2", 3306), ("127.0.0.1", free_port())
    monkeypatch.setitem(connection.settings_dict["OPTIONS"], "servers", [here, down, here])
    assert only(Area.CLOCK)[0] is Level.OK
    true = surroundings._offset_of
    monkeypatch.setattr(surroundings, "_offset_of", lambda node: 600.0 if node == wrong else true(node))
    monkeypatch.setitem(connection.settings_dict["OPTIONS"], "servers", [here, down, wrong])
    text = "The clock of the database node 127.0.0.2 differs from the others' by +600.0 seconds."
    assert only(Area.CLOCK) == (Level.FAILURE, text)


def test_no_worker(worker: WorkerHeartbeat) -> None:
    worker.delete()
    assert [(one.code, one.level) for one in found(Area.WORKERS)] == [("no_worker", Level.FAILURE)]


def test_a_database_from_an_incomplete_dump(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = servers._tables() - {"taskinfo"}
    monkeypatch.setattr(servers, "_tables", lambda: tables)
    texts = [str(one.text) for one in found(Area.DATABASE) if one.level is Level.FAILURE]
    assert texts == ["The database lacks tables: taskinfo."]


def test_a_database_whose_user_may_only_read() -> None:
    """Real rights of a user of MariaDB; SQLite's connection is made read-only."""
    sentence = "The database refuses what its user writes (INSERT, UPDATE, DELETE): the user may only read."
    with reading_only():
        texts = [str(one.text) for one in examine(outward=False) if one.level is Level.FAILURE]
    assert [text for text in texts if "database" in text] == [sentence]
    assert sentence not in [str(one.text) for one in found(Area.DATABASE)]


@contextmanager
def reading_only() -> Iterator[None]:
    if connection.vendor == "sqlite":
        connection.cursor().execute("PRAGMA query_only = ON")
        yield
        connection.cursor().execute("PRAGMA query_only = OFF")
        return
    settings = connection.settings_dict
    name, user, password = settings["NAME"], settings["USER"], settings["PASSWORD"]
    reader = f"r_{name}"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE USER {reader} IDENTIFIED BY 'reads'")
        cursor.execute(f"GRANT SELECT, TRIGGER ON {name}.* TO {reader}")
    connection.close()
    settings.update(USER=reader, PASSWORD="reads")
    yield
    connection.close()
    settings.update(USER=user, PASSWORD=password)
    with connection.cursor() as cursor:
        cursor.execute(f"DROP USER {reader}")


def test_migrations_that_are_not_applied() -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE django_migrations SET app = 'elsewhere' WHERE app = 'headline_api'")
        texts = [str(one.text) for one in found(Area.DATABASE)]
        cursor.execute("UPDATE django_migrations SET app = 'headline_api' WHERE app = 'elsewhere'")
    assert "Migrations that are not applied: 6." in texts
    assert not any("lacks" in text for text in texts)


def test_reads_from_another_server_than_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "_rows", lambda query: [(connection.in_atomic_block,)])
    assert [one.level for one in servers._check_primary()] == [Level.FAILURE]


def test_misspelt_variables_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("METRICS_NETWORK", "SCHEDULING_MAX_TOPIC", "DJANGO_SETTINGS_MODULE", "EDITOR", "METRICS_TOKEN"):
        monkeypatch.setitem(env._environment, name, "1")
    for name in ("PROXY_CUONT", "PYTHONPATH", "SITE_URL"):
        monkeypatch.setitem(env._stored, name, "1")
    named = {str(finding.text).split()[-1]: str(finding.advice) for finding in surroundings.check_variables()}
    assert named == {
        "METRICS_NETWORK.": "Did you mean METRICS_NETWORKS? Correct or remove it.",
        "PROXY_CUONT.": "Did you mean PROXY_COUNT? Correct or remove it.",
        "SCHEDULING_MAX_TOPIC.": "Settings of this name stand in headline/settings.py; remove the variable.",
    }
    assert {finding.level for finding in found(Area.SETTINGS)} == {Level.WARNING}


@pytest.mark.parametrize(("free", "level"), [(10**9, Level.WARNING), (10**7, Level.FAILURE)])
def test_a_full_disk(monkeypatch: pytest.MonkeyPatch, free: int, level: Level) -> None:
    usage = namedtuple("usage", ["total", "used", "free"])
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**12, 10**12 - free, free))
    assert only(Area.DISK)[0] == level


def test_cron_jobs_that_do_not_run(settings: Any, tmp_path: Path) -> None:
    program = tmp_path / "crontab"
    program.write_text("#!/bin/sh\necho '* * * * * true # django-cronjobs for headline'\n")
    program.chmod(0o755)
    settings.CRONTAB_EXECUTABLE, settings.CRON_LOG = str(program), tmp_path / "cron.log"
    assert only(Area.CRON)[0] == Level.WARNING
    settings.CRON_LOG.touch()
    assert only(Area.CRON)[0] == Level.OK


def test_secrets_that_others_may_read(settings: Any, tmp_path: Path) -> None:
    settings.CRON_COPY = tmp_path / "cron.env"
    settings.CRON_COPY.touch(mode=0o640)
    assert f"may read the secrets in {settings.CRON_COPY}" in " ".join(str(one.text) for one in found(Area.KEYS))


class Refusing(BaseHTTPRequestHandler):
    """Refuses purges."""

    def do_PURGE(self) -> None:
        self.send_error(403)

    def log_message(self, *values: object) -> None:
        """Print nothing."""


@pytest.fixture
def proxy() -> Iterator[str]:
    """The address of a proxy that refuses purges."""
    with HTTPServer(("127.0.0.1", 0), Refusing) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def test_mail_and_purges_are_tried_on_request(settings: Any, proxy: str) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", free_port()
    settings.CDN_PURGE_URLS = [proxy]
    assert only(Area.MAIL)[0] == Level.OK
    level, text = only(Area.MAIL, outward=True)
    assert (level, "127.0.0.1 refuses" in text) == (Level.FAILURE, True)
    texts = [str(one.text) for one in found(Area.CDN, outward=True) if one.level is Level.FAILURE]
    assert texts == ["127.0.0.1 refuses a purge: HTTP Error 403: Forbidden"]


def test_the_screen_is_for_operators(client: Client, settings: Any, proxy: str) -> None:
    client.force_login(make_user("ann", "view_article"))
    assert client.get("/admin/desk/system/").status_code == 403
    assert "System status" not in client.get("/admin/").text
    client.force_login(make_member(Role.OPERATOR))
    settings.CDN_PURGE_URLS = [proxy]
    assert "/admin/desk/system/" in client.get("/admin/").text
    page = client.get("/admin/desk/system/")
    assert "Workers are running" in page.text
    assert "refuses a purge" not in page.text
    assert "refuses a purge" in client.post("/admin/desk/system/").text
