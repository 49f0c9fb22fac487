"""Fixtures for the tests of the response cache."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def midnight_in(settings: Any) -> Callable[[int], None]:
    """Has the site's midnight so many hours away, and what is left of the present one: all responses end then.

    It is twelve hours away unless a test calls this.
    """

    def put(hours: int) -> None:
        offset = (23 - hours - datetime.now(UTC).hour + 11) % 24 - 11
        settings.TIME_ZONE = f"Etc/GMT{-offset:+d}"

    put(12)
    return put
