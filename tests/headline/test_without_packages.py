"""On SQLite, a newsroom runs without the packages that it does not need, such as one that could not be built.

Each run takes a second or two, in a process of its own, and yet is in `make test-fast`: `make run` depends on it.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.harness.schema import SQLITE
from tests.headline.packages import optional_modules, run_newsroom

OPTIONAL = optional_modules()


@pytest.fixture
def data(db: None, tmp_path: Path) -> Path:
    """A newsroom's directory, with the tables of the other tests if they are on SQLite: `migrate` is sooner done."""
    tables = Path(os.environ["TEST_DIRECTORY"]) / SQLITE
    if tables.exists():
        shutil.copyfile(tables, tmp_path / "headline.sqlite3")
    return tmp_path


def test_optional_packages_are_found_by_the_names_of_their_modules() -> None:
    named = {"MySQLdb", "boto3", "django_auth_ldap", "gunicorn", "hiredis", "honcho", "ldap", "lxml"}
    assert named | {"onelogin", "opentelemetry", "sentry_sdk", "storages", "xmlsec"} <= OPTIONAL


def test_a_newsroom_runs_without_all_optional_packages(data: Path) -> None:
    run_newsroom(data, lacking=OPTIONAL, watched=OPTIONAL, is_new=True)


@pytest.mark.thorough
def test_a_newsroom_runs_without_each_of_the_optional_packages(data: Path) -> None:
    """One that no import asks for makes no difference, so only the others need a run without them.

    Whatever a module that is there asks for, is asked for in a run without another one.
    """
    asked, tried = run_newsroom(data, lacking=OPTIONAL, watched=OPTIONAL, is_new=True), set[str]()
    while asked - tried:
        module = min(asked - tried)
        tried.add(module)
        asked |= run_newsroom(data, lacking=[module], watched=OPTIONAL, is_new=False)
    assert len(tried) > 1, "each is there in a run"
