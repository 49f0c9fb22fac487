"""Whether images can be stored: writes and removes a small file, in the directory or the bucket."""

from __future__ import annotations

import logging
import secrets
import time

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from scheduling.incidents import incidents

logger = logging.getLogger(__name__)

PREFIX = "probe-"
"""Files that begin with it, outside all directories, are none of the newsroom's."""

_INTERVAL = 30.0  # seconds for which an answer holds: a bucket bills each file


class MediaProbe:
    """The last answer of this process, or a new one."""

    def __init__(self) -> None:
        self._tried_at = float("-inf")
        self._is_writable = False

    def __call__(self) -> bool:
        if time.monotonic() - self._tried_at > _INTERVAL:
            self._is_writable = _write()
            self._tried_at = time.monotonic()
        return self._is_writable

    def forget(self) -> None:
        """Try again the next time."""
        self._tried_at = float("-inf")


def _write() -> bool:
    try:
        default_storage.delete(default_storage.save(f"{PREFIX}{secrets.token_hex(8)}", ContentFile(b"ok")))
    except Exception as error:  # error classes differ by storage
        incidents.failed(logger, "media", f"images cannot be stored: {error}", level=logging.WARNING)
        return False
    incidents.succeeded("media")
    return True


media_is_writable = MediaProbe()
