"""A temporary directory that is removed even if its owner ends by `kill -9`."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from types import TracebackType

# Reads until its owner closes the pipe, which the kernel does for a killed one too. Servers that are just dying
# may still write a file, hence the repetition.
_REAPER = 'cat > /dev/null; until rm -rf -- "$1"; do sleep 0.1; done'


class Workspace:
    """A directory for servers and files of one run; a context manager."""

    def __init__(self, parent: Path | None = None) -> None:
        """In `parent`, or where temporary files are."""
        self.path = Path(tempfile.mkdtemp(prefix="headline-tests-", dir=parent))
        self._reaper = subprocess.Popen(
            ["sh", "-c", _REAPER, "sh", str(self.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def remove(self) -> None:
        """Remove the directory; whatever runs in it must have been stopped."""
        self._reaper.communicate()

    def __enter__(self) -> Workspace:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()
