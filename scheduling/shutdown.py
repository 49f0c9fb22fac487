"""Stopping politely: the first signal lets the work in hand finish, the second one does not."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import FrameType


@contextmanager
def stop_on_signals(*, within: float | None = None) -> Iterator[threading.Event]:
    """An event that SIGTERM or SIGINT sets; a second signal raises SystemExit(1). Old handlers come back after.

    A process that is still in the block `within` seconds after the first signal is ended with exit code 1.
    """
    stopping = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:
        if stopping.is_set():
            raise SystemExit(1)
        stopping.set()
        os.write(2, b"Stopping after the work in hand; a second signal stops at once.\n")

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        with nullcontext() if within is None else _ending(within):
            yield stopping
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _ending(within: float) -> Iterator[None]:
    """End the process `within` seconds after a signal, also while its main thread hangs in a call to a server.

    Python runs handlers of signals in the main thread and between two of its instructions only; the byte that it
    writes to the wake-up descriptor is there at once.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    left = threading.Event()

    def end() -> None:
        with open(reader, "rb", buffering=0) as signals:
            if signals.read(1) and not left.wait(within):
                os.write(2, b"The work in hand takes too long; it is rolled back and run again by others.\n")
                os._exit(1)

    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    threading.Thread(target=end, name="end", daemon=True).start()
    try:
        yield
    finally:
        left.set()
        signal.set_wakeup_fd(before)
        os.close(writer)
