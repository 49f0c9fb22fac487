"""A newer MariaDB takes over what 10.6 holds, or a dump of it: refused in a sentence, repaired, and published from."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.databases.fetch import NotOffered, fetch
from tests.databases.test_versions import DATABASES
from tests.harness import Server, connect, rows, run_python, start_mariadb
from tests.harness.schema import client

pytestmark = pytest.mark.databases

OLD, NEWER = "mariadb-10.6", ("mariadb-11.4", "mariadb-11.8")
DESCRIBE = """\
import json
from tests.upgrades.databases import describe
print(json.dumps({name: sorted(map(str, rows)) for name, rows in describe().items()}))
"""


@pytest.fixture(params=NEWER)
def newer(request: pytest.FixtureRequest) -> Path:
    """The programs of a newer version."""
    return programs(request.param)


@pytest.fixture
def server(newer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """MariaDB 10.6 with the demo's newsroom."""
    use(monkeypatch, programs(OLD))
    started = start_mariadb(tmp_path / "mariadb")
    manage(started.url, "migrate", "--verbosity=0")
    manage(started.url, "demo")
    yield started
    started.kill()


def test_a_newer_server_on_the_same_files(
    newer: Path, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.stop()
    use(monkeypatch, newer)
    server.start()
    check_repaired(server.url, tmp_path)


def test_a_dump_that_is_loaded_into_a_newer_server(
    newer: Path, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dump = tmp_path / "dump.sql"
    with dump.open("wb") as file:
        options = ("--skip-lock-tables", "--skip-triggers", "headline")
        subprocess.run([*client("mariadb-dump", server.url), *options], stdout=file, check=True)
    use(monkeypatch, newer)
    other = start_mariadb(tmp_path / "newer")
    try:
        with dump.open("rb") as file:
            subprocess.run([*client("mariadb", other.url), "headline"], stdin=file, check=True)
        check_repaired(other.url, tmp_path)
    finally:
        other.kill()


def check_repaired(url: str, directory: Path) -> None:
    """`check` and `upgrade` refuse and name the command, after which all is as in a new database, and work goes on."""
    for command in (("check", "--database", "default"), ("upgrade", "--backup", str(directory))):
        assert "manage.py upgrade --repair" in manage(url, *command, fails=True)
    manage(url, "upgrade", "--repair", "--backup", str(directory))
    manage(url, "check", "--database", "default")
    new = f"{url}_new"
    execute(url, f"CREATE DATABASE headline_new COLLATE {collation_of(url)}")
    manage(new, "migrate", "--verbosity=0")
    assert described(url) == described(new)
    waiting = "status IN (4, 8) AND publish_at IS NOT NULL"
    times = "publish_at = UTC_TIMESTAMP(6), embargo_until = NULL, cleared_at = NULL"
    execute(url, f"UPDATE articles_article SET {times} WHERE {waiting}")
    execute(url, "UPDATE taskinfo SET execute_time = UTC_TIMESTAMP(6) WHERE task_type = 'articles.publish'")
    manage(url, "poll")
    assert rows(connect(url), f"SELECT id FROM articles_article WHERE {waiting}") == []


def described(url: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = json.loads(manage(url, "shell", "--verbosity=0", "--command", DESCRIBE))
    return found


def collation_of(url: str) -> str:
    ((name,),) = rows(connect(url), "SELECT @@collation_database")
    return str(name)


def execute(url: str, statement: str) -> None:
    rows(connect(url), statement)


def manage(url: str, *arguments: str, fails: bool = False) -> str:
    """The output of manage.py on this database; its errors if it fails, as it should then."""
    environment = {**os.environ, "DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "headline.settings"}
    done = run_python("manage.py", *arguments, env=environment)
    assert (done.returncode != 0) == fails, done.stderr
    return done.stderr if fails else done.stdout


def programs(server: str) -> Path:
    try:
        return fetch(server, DATABASES[server])
    except NotOffered as error:
        pytest.skip(f"{server}: {error}")


def use(monkeypatch: pytest.MonkeyPatch, directory: Path) -> None:
    """Its programs come first in PATH."""
    monkeypatch.setenv("PATH", f"{directory}:{os.environ['PATH']}")
