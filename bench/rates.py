"""Calls per second."""

from __future__ import annotations

import time
from collections.abc import Callable


def rate(count: int, call: Callable[[], object]) -> float:
    """`count` by the seconds that the call takes."""
    began = time.perf_counter()
    call()
    return count / (time.perf_counter() - began)
