"""A stand for the fault proof: these servers are nobody else's, so they may be killed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.harness import Stand


@pytest.fixture(scope="module")
def stand() -> Iterator[Stand]:
    """MariaDB and Redis with the tables of Headline and of `tests.probe`."""
    with Stand(settings="tests.settings") as servers:
        yield servers
