"""Ctrl-C and SIGTERM in commands that write much: they clean up, and say in a sentence what is left."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from django.db import DatabaseError, connection

from headline.backup.archive import BackupError


class _Interrupted(BaseException):
    """A signal, raised where the command is."""


@contextmanager
def interruptible(sentence: Callable[[], str]) -> Iterator[None]:
    """Raise `BackupError` with the sentence after a signal that ended the block; further signals are ignored."""
    received: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        if not received:
            received.append(number)
            raise _Interrupted

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    except BaseException as error:
        if received:
            with suppress(DatabaseError):  # the connection is unusable if a statement was running
                connection.close()
            raise BackupError(f"Interrupted. {sentence()}", returncode=128 + received[0]) from error
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
