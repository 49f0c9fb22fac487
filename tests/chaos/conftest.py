"""Fixtures of the chaos tests: servers that may be killed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.harness import Stand


@pytest.fixture(scope="session")
def stand(django_db_setup: None) -> Iterator[Stand]:
    """MariaDB and Redis with the tables of Headline and of `tests.probe`, which are copied from the test database."""
    with Stand(settings="tests.settings") as servers:
        yield servers
