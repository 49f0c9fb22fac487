"""Fixtures of the chaos tests: servers that may be killed, and the table of results."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench.figures import table
from tests.harness import Stand

HEADINGS = ("fault", "tasks", "lost", "twice", "early", "late before", "during", "after", "batch in hand (ms at most)")
ROWS = pytest.StashKey[list[tuple[object, ...]]]()


@pytest.fixture(scope="module")
def stand() -> Iterator[Stand]:
    """MariaDB and Redis with the tables of Headline and of `tests.probe`."""
    with Stand(settings="tests.settings") as servers:
        yield servers


@pytest.fixture
def results(request: pytest.FixtureRequest) -> list[tuple[object, ...]]:
    """Rows of the table that is printed at the end."""
    return request.config.stash.setdefault(ROWS, [])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if rows := config.stash.get(ROWS, []):
        terminalreporter.write_line("\n" + table(rows, HEADINGS))
