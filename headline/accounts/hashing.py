"""Limits concurrent password hashing, which is slow on purpose, so that log-ins leave the CPU to readers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

WAIT_TIMEOUT = 10.0  #: seconds to wait for a turn
_MAX_UNKNOWN = 3  # clients without a device cookie in each process, hashing or waiting

_turn = threading.Lock()
_unknown_slots = threading.BoundedSemaphore(_MAX_UNKNOWN)


class NoTurn(Exception):
    """Too many passwords are being checked."""


@contextmanager
def turn(*, is_known: bool) -> Iterator[None]:
    """Hash one password in this block, alone in this process. Raises `NoTurn`.

    Unknown clients have few slots, so that most threads stay free for readers; known ones always wait.
    """
    if not is_known and not _unknown_slots.acquire(blocking=False):
        raise NoTurn
    try:
        if not _turn.acquire(timeout=WAIT_TIMEOUT):
            raise NoTurn
        try:
            yield
        finally:
            _turn.release()
    finally:
        if not is_known:
            _unknown_slots.release()
