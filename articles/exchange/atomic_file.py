"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TextIO


@contextmanager
def replacing(path: Path) -> Iterator[TextIO]:
    """A text file (UTF-8) that takes the place of `path` once all is in it and on the disk; on an error nothing does.

    Only its owner may read it. What is no file, such as a pipe or a device, is written to. Raises `OSError`.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        with path.open("w", encoding="utf-8", newline="") as stream:
            yield stream
        return
    prefix = f".{path.name[:80]}."
    with NamedTemporaryFile("w", encoding="utf-8", newline="", dir=path.parent, prefix=prefix, delete=False) as stream:
        try:
            yield stream  # type: ignore[misc]  # it is as good as a TextIO
            stream.flush()
            os.fsync(stream.fileno())
            os.replace(stream.name, path)
        except BaseException:
            os.unlink(stream.name)
            raise
