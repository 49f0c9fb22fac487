"""Copies of a process that has imported the libraries (`tests.harness.warm_python`), used like `subprocess.Popen`."""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO

BASE_DIR = Path(__file__).resolve().parent.parent.parent


@cache
def _server() -> socket.socket:
    """The process that is copied; it ends with this one, whose end closes the socket."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        command = [sys.executable, "-m", "tests.harness.warm_python"]
        process = subprocess.Popen(command, cwd=BASE_DIR, stdin=theirs.fileno(), start_new_session=True)
    atexit.register(process.wait)
    atexit.register(ours.close)  # which comes first
    return ours


class Copy:
    """A Python program that runs in a session of its own."""

    def __init__(
        self,
        arguments: Sequence[str],
        env: Mapping[str, str] | None,
        output: IO[bytes],
        errors: IO[bytes],
        stdout: IO[str] | None = None,
    ) -> None:
        """`stdout` is where the caller reads the output, if `output` is a pipe."""
        self.stdout = stdout
        self.returncode: int | None = None
        self._lock = threading.Lock()
        ours, theirs = socket.socketpair()
        request = {"environment": dict(os.environ if env is None else env), "arguments": list(arguments)}
        with theirs:
            files = [output.fileno(), errors.fileno(), theirs.fileno()]
            socket.send_fds(_server(), [json.dumps(request).encode()], files)
        self._reports = ours.makefile("rb", buffering=0)  # whose reading `select` knows of
        ours.close()
        self.pid = int(self._reports.readline())

    def poll(self) -> int | None:
        """The exit status (minus the signal's number when one ended it), None while it runs."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end and return the exit status; TimeoutExpired if it takes longer."""
        with self._lock:
            if self.returncode is None:
                if not select.select([self._reports], [], [], timeout)[0]:
                    raise subprocess.TimeoutExpired("python", timeout or 0)
                with self._reports as reports:
                    self.returncode = int(reports.readline() or -signal.SIGKILL)
            return self.returncode

    def send_signal(self, number: int) -> None:
        """Harmless if it has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it ended just now
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it; harmless if it has ended."""
        self.send_signal(signal.SIGKILL)
