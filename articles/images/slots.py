"""Slots for decoding images, over all processes of a host: one image may need 400 MB and seconds of a processor.

A slot is a locked file, which the system unlocks when its process ends, however it ends.
"""

from __future__ import annotations

import fcntl
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from django.conf import settings

from articles.exceptions import DecodingBusy

WAITING = 2.0  # seconds for a slot; a longer wait would occupy a thread of readers
_PAUSE = 0.02  # seconds between two attempts


@contextmanager
def decoding_slot() -> Iterator[None]:
    """Holds one of `IMAGES_AT_ONCE` slots. Raises `DecodingBusy`."""
    end = time.monotonic() + WAITING
    while (file := _free()) is None:
        if time.monotonic() >= end:
            raise DecodingBusy
        time.sleep(_PAUSE)
    with file:
        yield


def _free() -> IO[Any] | None:
    """The locked file of a free slot."""
    directory = settings.DATA_DIR / "locks"
    directory.mkdir(parents=True, exist_ok=True)
    for number in range(settings.IMAGES_AT_ONCE):
        # Hosts may share the directory, but not their memory.
        file = (directory / f"decoding-{socket.gethostname()}-{number}").open("ab")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
        else:
            return file
    return None
