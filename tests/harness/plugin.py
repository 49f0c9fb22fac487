"""Starts the servers once per run, before Django reads its settings; loaded by `-p` in pyproject.toml.

The process you start (xdist calls it the controller) owns MariaDB and passes their addresses to the workers through the
environment; each worker has its own Redis. `TEST_DATABASE=sqlite` needs no server at all, but the database queue.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.harness.servers import start_mariadb, start_redis
from tests.harness.variables import clear_variables
from tests.harness.workspace import Workspace

_resources = ExitStack()
_GARBAGE = 50_000
"""New objects between two collections of garbage; Python's 700 would cost a tenth of the processor time."""


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, None, None]:
    """A wrapper runs before pytest-django's own hook, which imports the settings."""
    options = early_config.known_args_namespace
    is_controller = "PYTEST_XDIST_WORKER" not in os.environ
    if is_controller and not (options.help or options.version):
        _start_servers()
    _configure_worker(os.environ.get("PYTEST_XDIST_WORKER", "main"))
    gc.disable()  # what is imported and collected stays
    return (yield)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--in-short", action="store_true", help="leave out tests with the marker `thorough`")


def pytest_collection_finish() -> None:
    """Modules and collected tests need no scan by the collections of garbage during tests."""
    gc.freeze()
    gc.set_threshold(_GARBAGE)
    gc.enable()


def pytest_unconfigure() -> None:
    _resources.close()


def _start_servers() -> None:
    directory = _resources.enter_context(Workspace()).path
    os.environ["TEST_DIRECTORY"] = str(directory)
    clear_variables(os.environ)
    # It would make each of the hundreds of processes that tests start recompile the project.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if os.environ.get("TEST_DATABASE") == "sqlite":
        return
    # A commit waits for no disk: what a killed server has written is in the operating system's hands.
    mariadb = start_mariadb(directory / "mariadb", "--innodb-flush-log-at-trx-commit=2")
    _resources.callback(mariadb.kill)
    os.environ["DATABASE_URL"] = mariadb.url


def _configure_worker(worker: str) -> None:
    """Give each worker its own files and Redis, since wake-ups reach all databases of a server.

    Django adds the worker to the name of its database.
    """
    directory = Path(os.environ.get("TEST_DIRECTORY", "/nonexistent")) / worker
    os.environ |= {
        "DATA_DIR": str(directory),
        "DJANGO_DEBUG": "on",
        # Playwright's synchronous API keeps an event loop in this thread, which makes Django refuse the database.
        "DJANGO_ALLOW_ASYNC_UNSAFE": "true",
    }
    if "DATABASE_URL" in os.environ:
        redis = start_redis(directory / "redis")
        _resources.callback(redis.kill)
        os.environ |= {"REDIS_URL": f"{redis.url}/0", "REDIS_CACHE_URL": f"{redis.url}/1"}
