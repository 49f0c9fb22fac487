"""Starts the servers once per run, before Django reads its settings; loaded by `-p` in pyproject.toml.

The process you start (xdist calls it the controller) owns the servers and tells the workers where they are through
the environment. `TEST_DATABASE=sqlite` needs no server at all: SQLite and the database queue.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.harness.servers import start_mariadb, start_redis
from tests.harness.workspace import Workspace

_resources = ExitStack()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, None, None]:
    """A wrapper runs before pytest-django's own hook, which imports the settings."""
    options = early_config.known_args_namespace
    is_controller = "PYTEST_XDIST_WORKER" not in os.environ
    if is_controller and not (options.help or options.version):
        _start_servers()
    _configure_worker(os.environ.get("PYTEST_XDIST_WORKER", "main"))
    return (yield)


def pytest_unconfigure() -> None:
    _resources.close()


def _start_servers() -> None:
    directory = _resources.enter_context(Workspace()).path
    os.environ["TEST_DIRECTORY"] = str(directory)
    # The last one would have each of the hundreds of processes that tests start compile the project anew.
    for name in ("DATABASE_URL", "REDIS_URL", "REDIS_CACHE_URL", "TEST_REDIS_URL", "PYTHONDONTWRITEBYTECODE"):
        os.environ.pop(name, None)
    if os.environ.get("TEST_DATABASE") == "sqlite":
        return
    mariadb = start_mariadb(directory / "mariadb")
    _resources.callback(mariadb.kill)
    redis = start_redis(directory / "redis")
    _resources.callback(redis.kill)
    os.environ |= {"DATABASE_URL": mariadb.url, "TEST_REDIS_URL": redis.url}


def _configure_worker(worker: str) -> None:
    """Own files and two Redis databases (queue and cache) for each worker; Django adds the worker to its database."""
    os.environ |= {
        "DATA_DIR": str(Path(os.environ.get("TEST_DIRECTORY", "/nonexistent")) / worker),
        "DJANGO_DEBUG": "on",
        # Playwright's synchronous API keeps an event loop in this thread, which makes Django refuse the database.
        "DJANGO_ALLOW_ASYNC_UNSAFE": "true",
    }
    if redis_url := os.environ.get("TEST_REDIS_URL"):
        number = 0 if worker == "main" else 1 + int(worker.removeprefix("gw"))
        os.environ["REDIS_URL"] = f"{redis_url}/{2 * number}"
        os.environ["REDIS_CACHE_URL"] = f"{redis_url}/{2 * number + 1}"
