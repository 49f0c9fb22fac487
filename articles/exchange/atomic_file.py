"""Atomic replacement of files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TextIO


@contextmanager
def replacing(path: Path) -> Iterator[TextIO]:
    """A text file (UTF-8) that replaces `path` when the block succeeds and the data is synced to disk.

    Only its owner can read it. A pipe or device is written to directly. Raises `OSError`.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        with path.open("w", encoding="utf-8", newline="") as stream:
            yield stream
        return
    prefix = f".{path.name[:80]}."
    with NamedTemporaryFile("w", encoding="utf-8", newline="", dir=path.parent, prefix=prefix, delete=False) as stream:
        try:
            yield stream  # type: ignore[misc]  # behaves like a TextIO
            stream.flush()
            os.fsync(stream.fileno())
            os.replace(stream.name, path)
        except BaseException:
            os.unlink(stream.name)
            raise
