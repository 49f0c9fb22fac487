"""Atomic replacement of files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, Any, TextIO

_TEXT: dict[str, Any] = {"mode": "w", "encoding": "utf-8", "newline": ""}


@contextmanager
def replacing(path: Path) -> Iterator[TextIO]:
    """A text file (UTF-8) that replaces `path` when the block succeeds and the data is synced to disk.

    Only its owner can read it. A pipe or device is written to directly. Raises `OSError`.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        with path.open(**_TEXT) as stream:
            yield stream
        return
    with _replacing(path, **_TEXT) as file:
        yield file


@contextmanager
def replacing_binary(path: Path) -> Iterator[IO[bytes]]:
    """The same as a binary file."""
    with _replacing(path.resolve(), mode="w+b") as file:
        yield file


@contextmanager
def _replacing(path: Path, **options: Any) -> Iterator[Any]:
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name[:80]}.", delete=False, **options) as stream:
        try:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            os.replace(stream.name, path)
        except BaseException:
            with suppress(FileNotFoundError):  # a signal came after it got its name
                os.unlink(stream.name)
            raise
