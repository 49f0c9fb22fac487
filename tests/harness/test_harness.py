"""Tests of the test harness."""

from __future__ import annotations

import os
import runpy
import signal
import subprocess
import urllib.request
import warnings
from collections.abc import Mapping
from pathlib import Path
from tempfile import mkdtemp

import pytest
import redis
from django.conf import settings
from django.contrib.auth.models import Group, Permission, User
from django.core.cache import cache
from django.db import DatabaseError, connection
from django.utils.deprecation import RemovedAfterNextVersionWarning
from playwright.sync_api import Page

from articles.models import AuditEntry
from articles.roles import ROLES, Role
from headline import env
from tests.articles.factories import make_article, make_editor
from tests.conftest import Manage, Site, StartManage
from tests.harness import Process, base_dir, eventually, python, schema, start_redis
from tests.harness.variables import clear_variables, read_variables

INNER_TEST = """
import os
from pathlib import Path

from tests.harness import connect, eventually


def test_it_waits_to_be_killed():
    connection = connect(os.environ["DATABASE_URL"]) if "DATABASE_URL" in os.environ else None
    Path(os.environ["INNER_REPORT"]).write_text(os.environ["TEST_DIRECTORY"])
    eventually(lambda: False, timeout=120)
"""


def test_what_a_later_django_removes_is_an_error() -> None:
    """Python ignores this category unless told otherwise."""
    with pytest.raises(RemovedAfterNextVersionWarning):
        warnings.warn("removed later", RemovedAfterNextVersionWarning, stacklevel=1)


def test_the_test_database_is_the_one_that_was_asked_for(db: None) -> None:
    wanted = "sqlite" if os.environ.get("TEST_DATABASE") == "sqlite" else "mysql"
    assert connection.vendor == wanted
    assert bool(settings.SCHEDULING_REDIS_URL) == (wanted == "mysql")


def test_files_of_a_test_run_stay_in_its_own_directory() -> None:
    assert os.environ["TEST_DIRECTORY"] in str(settings.MEDIA_ROOT)


class Asked(dict[str, str]):
    """An environment that notes what is asked for."""

    def __init__(self, values: Mapping[str, str]) -> None:
        super().__init__(values)
        self.names: set[str] = set()

    def get(self, name: str, default: str = "") -> str:  # type: ignore[override]
        """As that of a dictionary."""
        self.names.add(name)
        return super().get(name, default)


def test_no_variable_that_the_settings_ask_for_is_the_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked(env._environment)
    monkeypatch.setattr(env, "_environment", asked)
    runpy.run_path(str(base_dir / "headline" / "settings.py"))
    assert {"DJANGO_ALLOWED_HOSTS", "SITE_URL"} <= asked.names
    environment = dict.fromkeys([*asked.names, "ENV_FILE", "PATH", "TEST_DATABASE"], "…")
    clear_variables(environment)
    assert environment.keys() == {"PATH", "TEST_DATABASE"}


def test_the_callers_variables_change_no_test() -> None:
    """Each of them is invalid, or would have Headline elsewhere."""
    test = f"{Path(__file__)}::{test_files_of_a_test_run_stay_in_its_own_directory.__name__}"
    environment = {**_outside_pytest(), **dict.fromkeys(read_variables(), "…")}
    command = [python, "-m", "pytest", "-p", "no:cacheprovider", test]
    done = subprocess.run(command, cwd=base_dir, env=environment, capture_output=True, text=True, check=False)
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_the_cases_that_make_test_leaves_out_are_those_of_make_thorough() -> None:
    in_short, others, all_cases = _collected("--in-short"), _collected("-m", "thorough"), _collected()
    assert (len(in_short), in_short & others, in_short | others) == (12, set(), all_cases)


def _collected(*options: str) -> set[str]:
    """The cases of a test that has the marker `cases(12)`."""
    command = [python, "-m", "pytest", "-p", "no:cacheprovider", "--collect-only", "--quiet", *options]
    environment = {**_outside_pytest(), "TEST_DATABASE": "sqlite"}
    test = "tests/headline/test_api_unknown.py::test_an_unknown_url_gets_a_json_response"
    done = subprocess.run([*command, test], cwd=base_dir, env=environment, capture_output=True, text=True, check=True)
    return {line for line in done.stdout.splitlines() if line.startswith(test)}


def _outside_pytest() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if "PYTEST" not in name}


def test_later_runs_get_finished_tables_of_the_same_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "models.py").write_text("A = 0")
    monkeypatch.setattr(schema, "SOURCES", (source,))
    monkeypatch.setattr(schema, "KEPT", tmp_path / "kept")

    def run(content: str = "") -> str:
        """What a run's database begins with; the run finishes it with this content, or is interrupted."""
        directory = Path(mkdtemp(dir=tmp_path))
        monkeypatch.setenv("TEST_DIRECTORY", str(directory))
        database = directory / "test.sqlite3"
        with schema.shared_schema({"ENGINE": "django.db.backends.sqlite3"}, str(database)) as share:
            found = database.read_text() if database.exists() else ""
            database.write_text(content or "half made")
            if content:
                share()
        return found

    assert [run(), run("tables"), run(), run("tables")] == ["", "", "tables", "tables"]
    (source / "models.py").write_text("A = 1")
    assert [run("more tables"), run("more tables")] == ["", "more tables"]


@pytest.mark.parametrize("turn", [1, 2])
def test_each_test_finds_the_variables_of_the_run(turn: int) -> None:
    assert "OF_A_TEST" not in env.given()
    env._used["OF_A_TEST"] = "1"


@pytest.mark.parametrize("turn", [1, 2])
def test_each_test_finds_empty_stores(turn: int, queue_redis: redis.Redis | None) -> None:
    assert cache.get("left-over") is None
    cache.set("left-over", turn)
    if queue_redis is not None:
        assert queue_redis.dbsize() == 0
        queue_redis.set("left-over", turn)


@pytest.mark.parametrize("turn", [1, 2])
def test_each_test_finds_a_new_database(turn: int, transactional_db: None) -> None:
    assert not User.objects.exists()
    assert not AuditEntry.objects.exists()
    assert set(Group.objects.values_list("name", flat=True)) == set(ROLES)
    assert Permission.objects.filter(codename="retract_article", group__name=Role.CHIEF).exists()
    make_article()
    make_editor()
    assert AuditEntry.objects.exists()
    with connection.cursor() as cursor, pytest.raises(DatabaseError, match="never changed or deleted"):
        cursor.execute("DELETE FROM articles_auditentry")
    Group.objects.get(name=Role.CHIEF).delete()
    Permission.objects.get(codename="retract_article").delete()


def test_manage_works_on_the_test_database(manage: Manage) -> None:
    User.objects.create_user("alice")
    done = manage("shell", "-c", "from django.contrib.auth.models import User; print(User.objects.get().username)")
    assert done.returncode == 0, done.stderr
    assert "alice" in done.stdout


@pytest.mark.thorough
def test_each_command_has_its_own_settings_however_often_it_ran(manage: Manage) -> None:
    """Timeouts of the database depend on the command."""
    ask = "from django.conf import settings; print('read_timeout' in settings.DATABASES['default']['OPTIONS'])"
    answers = {manage("shell", "--verbosity", "0", "-c", ask).stdout.strip() for _ in range(4)}
    assert answers == {"False"}


@pytest.mark.thorough
def test_the_output_of_a_command_ends_with_it_however_often_it_ran(start_manage: StartManage) -> None:
    for _ in range(3):
        assert start_manage("shell", "--verbosity", "0", "-c", "print('here')").wait() == 0


def test_a_started_command_is_seen_while_it_runs_and_stopped(start_manage: StartManage) -> None:
    process = start_manage("shell", "-c", "import signal; print('here'); signal.pause()")
    process.wait_for("here")
    assert process.stop() == -signal.SIGTERM


@pytest.mark.thorough
def test_waiting_for_a_command_that_ends_shows_its_output(start_manage: StartManage) -> None:
    process = start_manage("no_such_command")
    with pytest.raises(AssertionError, match="Unknown command"):
        process.wait_for("here")


def test_the_site_answers(site: Site) -> None:
    with urllib.request.urlopen(f"{site.url}/admin/login/") as response:
        assert response.status == 200


def test_the_browser_shows_a_page_of_the_site(page: Page) -> None:
    page.goto("/admin/login/")
    assert page.locator("input[name=username]").is_visible()


def test_a_redis_can_be_stopped_and_started_again(tmp_path: Path) -> None:
    server = start_redis(tmp_path, "--appendonly", "yes", "--appendfsync", "always")
    try:
        with redis.Redis.from_url(server.url) as client:
            client.set("key", "yes")
        server.kill()
        server.start()
        with redis.Redis.from_url(server.url) as client:
            assert client.get("key") == b"yes"
    finally:
        server.kill()


def test_a_killed_test_run_leaves_neither_servers_nor_files(tmp_path: Path) -> None:
    (tmp_path / "test_inner.py").write_text(INNER_TEST)
    report = tmp_path / "report"
    command = [python, "-m", "pytest", "-p", "no:cacheprovider", "-c", str(base_dir / "pyproject.toml")]
    with Process([*command, str(tmp_path)], env={**_outside_pytest(), "INNER_REPORT": str(report)}) as run:
        eventually(lambda: report.exists() and report.read_text() or not run.alive(), timeout=90)
        assert run.alive(), run.output
        directory = report.read_text()
        assert Path(directory).exists()
        if connection.vendor == "mysql":
            assert _processes_naming(directory)
    eventually(lambda: not Path(directory).exists() and not _processes_naming(directory))


def _processes_naming(text: str) -> str:
    return subprocess.run(["pgrep", "-f", text], capture_output=True, text=True, check=False).stdout
