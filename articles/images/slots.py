"""Slots for decoding images, over all processes of a host: one image may need 800 MB and seconds of a processor.

A slot is a locked file, which the system unlocks when its process ends, however it ends.
"""

from __future__ import annotations

import fcntl
import logging
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from django.conf import settings

from articles.exceptions import DecodingBusy, NotStored

logger = logging.getLogger(__name__)

SLOT_TIMEOUT = 2.0  # seconds for a slot; a longer wait would occupy a thread of readers
_PAUSE = 0.02  # seconds between two attempts


@contextmanager
def decoding_slot() -> Iterator[None]:
    """Holds one of `IMAGES_AT_ONCE` slots. Raises `DecodingBusy`, and `NotStored` if no slot's file can be opened."""
    end = time.monotonic() + SLOT_TIMEOUT
    while (file := _free()) is None:
        if time.monotonic() >= end:
            raise DecodingBusy
        time.sleep(_PAUSE)
    with file:
        yield


def _free() -> IO[Any] | None:
    """The locked file of a free slot. Raises `NotStored`."""
    directory = settings.DATA_DIR / "locks"
    errors: list[OSError] = []
    for number in range(settings.IMAGES_AT_ONCE):
        try:
            # Hosts may share the directory, but not their memory.
            return _locked(directory / f"decoding-{socket.gethostname()}-{number}")
        except BlockingIOError:
            continue
        except OSError as error:
            errors.append(error)
    if len(errors) == settings.IMAGES_AT_ONCE:
        logger.error("no slot for decoding images can be opened in %s", directory, exc_info=errors[-1])
        raise NotStored from errors[-1]
    return None


def _locked(path: Path) -> IO[Any]:
    """The file, locked. Raises `OSError`, which is `BlockingIOError` if another process has locked it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Only read: the file may be another user's, such as root's who has imported images.
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_CREAT, 0o644), "rb")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise
    return file
