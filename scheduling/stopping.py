"""Stopping politely: the first signal lets the batch in hand finish, the second one does not."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stop_on_signals() -> Iterator[threading.Event]:
    """An event that SIGTERM or SIGINT sets; a second signal raises SystemExit(1). Old handlers come back after."""
    stopping = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:
        if stopping.is_set():
            raise SystemExit(1)
        stopping.set()
        os.write(2, b"Stopping after the work in hand; a second signal stops at once.\n")

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stopping
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
