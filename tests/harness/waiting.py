"""Waiting for a condition instead of sleeping."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE = 120.0
"""Seconds after which a test hangs, also on a busy machine. No test measures by it that something is quick."""


def eventually(condition: Callable[[], T], timeout: float = PATIENCE, message: str | Callable[[], str] = "") -> T:
    """Call `condition` until it is truthy and return its value; AssertionError after `timeout` seconds.

    The longer it takes, the less often it is called: most conditions are queries or requests. A callable `message`
    says what there was at the end.
    """
    began = time.monotonic()
    while True:
        value = condition()
        if value:
            return value
        waited = time.monotonic() - began
        if waited > timeout:
            said = message() if callable(message) else message
            raise AssertionError(said or f"still {value!r} after {timeout} s: {condition!r}")
        time.sleep(min(0.01 + waited / 50, 0.1))
