"""Taking turns at hashing passwords, which is slow on purpose: log-ins may not take the processor from readers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE = 10.0  #: seconds that somebody waits for a turn
_PLACES = 3  # of strangers in each process: one whose password is hashed, and who waits for that

_turn = threading.Lock()
_places = threading.BoundedSemaphore(_PLACES)


class NoTurn(Exception):
    """Too many passwords are being checked."""


@contextmanager
def turn(*, is_known: bool) -> Iterator[None]:
    """Hash one password in this block, alone in this process. Raises `NoTurn`.

    Strangers have a few places to wait, so that most threads stay free for readers; who `is_known` always waits.
    """
    if not is_known and not _places.acquire(blocking=False):
        raise NoTurn
    try:
        if not _turn.acquire(timeout=PATIENCE):
            raise NoTurn
        try:
            yield
        finally:
            _turn.release()
    finally:
        if not is_known:
            _places.release()
