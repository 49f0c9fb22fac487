"""Graceful shutdown: the first signal lets current work finish, the second one exits at once."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import FrameType


@contextmanager
def stop_on_signals(*, within: float | None = None) -> Iterator[threading.Event]:
    """An event that SIGTERM or SIGINT sets; a second signal raises SystemExit(1). Restores the old handlers.

    A process that is still in the block `within` seconds after the first signal exits with code 1.
    """
    stopping = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:
        if stopping.is_set():
            raise SystemExit(1)
        stopping.set()
        # Not the logger, whose lock the interrupted code may hold.
        os.write(2, b"Stopping after the current work; a second signal stops at once.\n")

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        with nullcontext() if within is None else _exit_after(within):
            yield stopping
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _exit_after(within: float) -> Iterator[None]:
    """Exit `within` seconds after a signal, even if the main thread hangs in a call to a server.

    Python runs signal handlers in the main thread, between two bytecode instructions; the wake-up descriptor gets its
    byte at once.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    finished = threading.Event()

    def exit_late() -> None:
        with open(reader, "rb", buffering=0) as signals:
            if signals.read(1) and not finished.wait(within):
                os.write(2, b"The current work takes too long; it is rolled back, and other workers run it.\n")
                # The main thread hangs in a call of the driver, which no exception reaches; the database rolls back.
                os._exit(1)

    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    threading.Thread(target=exit_late, name="exit", daemon=True).start()
    try:
        yield
    finally:
        finished.set()
        signal.set_wakeup_fd(before)
        os.close(writer)
