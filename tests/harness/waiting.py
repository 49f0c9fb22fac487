"""Waiting for a condition instead of sleeping."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def eventually(condition: Callable[[], T], timeout: float = 10.0, message: str = "") -> T:
    """Call `condition` until it is truthy and return its value; AssertionError after `timeout` seconds.

    The longer it takes, the less often it is called: most conditions are queries or requests.
    """
    began = time.monotonic()
    while True:
        value = condition()
        if value:
            return value
        waited = time.monotonic() - began
        if waited > timeout:
            raise AssertionError(message or f"still {value!r} after {timeout} s: {condition!r}")
        time.sleep(min(0.01 + waited / 50, 0.1))
