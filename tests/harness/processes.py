"""Child processes that end with their parent, also if it ends by `kill -9`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO

from tests.harness.copies import Copy
from tests.harness.waiting import PATIENCE, eventually

base_dir = Path(__file__).resolve().parent.parent.parent
python = sys.executable

# The kernel sends the signal when the *thread* that started the process ends: start servers in the main thread.
DIE_WITH_PARENT = ("setpriv", "--pdeathsig", "KILL", "--")


class Process:
    """A running program whose output (stdout and stderr together) can be waited for.

    Use it as a context manager, or call `kill()`; its own session keeps Ctrl-C of the tests away from it.
    """

    def __init__(self, command: Sequence[str], env: Mapping[str, str] | None = None, cwd: Path = base_dir) -> None:
        self.command = list(command)
        self.popen = self._start(env, cwd)
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _start(self, env: Mapping[str, str] | None, cwd: Path) -> subprocess.Popen[str] | Copy:
        return subprocess.Popen(
            [*DIE_WITH_PARENT, *self.command],
            env=env,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )

    def _read(self) -> None:
        assert self.popen.stdout is not None
        with self.popen.stdout as stdout:
            for line in stdout:
                self.lines.append(line)

    @property
    def output(self) -> str:
        """Everything printed so far."""
        return "".join(self.lines)

    @property
    def pid(self) -> int:
        return self.popen.pid

    def alive(self) -> bool:
        return self.popen.poll() is None

    def wait_for(self, text: str, timeout: float = PATIENCE) -> None:
        """Wait until `text` was printed. AssertionError, with the output, when it ends or the time is over before."""
        eventually(lambda: text in self.output or not self.alive(), timeout, lambda: f"no {text!r} in:\n{self.output}")
        if text not in self.output:
            self._reader.join(timeout)
        assert text in self.output, f"{self.command} ended with {self.popen.poll()} before {text!r}:\n{self.output}"

    def send_signal(self, number: int) -> None:
        self.popen.send_signal(number)

    def wait(self, timeout: float = PATIENCE) -> int:
        """Wait for its end and return the exit code (minus the signal's number when one ended it).

        AssertionError if its output does not end with it: another process, such as a child of it, has kept that.
        """
        code = self.popen.wait(timeout)
        self._reader.join(timeout)
        assert not self._reader.is_alive(), f"{self.command} has ended, but not its output:\n{self.output}"
        return code

    def stop(self, timeout: float = PATIENCE) -> int:
        """Ask it to stop (SIGTERM) and return its exit code."""
        self.send_signal(signal.SIGTERM)
        return self.wait(timeout)

    def kill(self) -> None:
        """Kill it; harmless if it has ended. Children of it may live on for a moment."""
        self.popen.kill()
        self.popen.wait()

    def children(self) -> set[int]:
        """Its child processes."""
        return set(children(self.pid))

    def kill_children(self) -> None:
        """Kill its child processes, and return when they are gone."""
        killed = self.children()
        for child in killed:
            os.kill(child, signal.SIGKILL)
        eventually(lambda: not killed & self.children(), message=f"{killed} live on")

    def __enter__(self) -> Process:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)  # a killed supervisor's children would live on for a second


class PythonProcess(Process):
    """A Python program, `command` without the interpreter, in a process that need not import the libraries."""

    def _start(self, env: Mapping[str, str] | None, cwd: Path) -> Copy:
        reader, writer = os.pipe()
        with open(writer, "wb") as output:
            return Copy(self.command, env, output, output, stdout=open(reader, encoding="utf-8", errors="replace"))


def run_python(
    *command: str, env: Mapping[str, str] | None = None, timeout: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a Python program as `PythonProcess` does, to its end; TimeoutExpired if it takes longer."""
    with tempfile.TemporaryFile("w+b") as output, tempfile.TemporaryFile("w+b") as errors:
        copy = Copy(command, env, output, errors)
        try:
            status = copy.wait(timeout)
        except BaseException:
            copy.kill()
            raise
        return subprocess.CompletedProcess(command, status, _text(output), _text(errors))


def children(pid: int) -> list[int]:
    """The processes that `pid` has started."""
    found: list[int] = []
    with suppress(OSError):  # it has ended
        for thread in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (thread / "children").read_text().split())
    return found


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")
