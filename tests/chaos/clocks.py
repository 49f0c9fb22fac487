"""Clocks of machines that tests set, by a library that is preloaded into the processes of a machine."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.chaos.history import ahead
from tests.harness import Server

_SOURCE = Path(__file__).with_name("clock.c")


class Clocks:
    """One clock for each machine; all show the time of the history until they are set."""

    def __init__(self, directory: Path, *machines: str) -> None:
        self._directory = directory
        command = ["cc", "-O2", "-shared", "-fPIC", "-o", str(self._library), str(_SOURCE), "-ldl"]
        subprocess.run(command, check=True)
        for machine in machines:
            self._file(machine).write_bytes(bytes(8))
            self.set(machine, 0)

    @property
    def _library(self) -> Path:
        return self._directory / "clock.so"

    def _file(self, machine: str) -> Path:
        return self._directory / f"clock-{machine}"

    def set(self, machine: str, seconds: float) -> None:
        """Set the clock of a machine so much ahead of the history's."""
        with self._file(machine).open("r+b") as file:
            file.write(struct.pack("q", round((ahead() + seconds) * 1e9)))

    def environment(self, machine: str) -> Mapping[str, str]:
        """What a process of this machine is started with."""
        return {"LD_PRELOAD": str(self._library), "CLOCK_OFFSET": str(self._file(machine))}


@contextmanager
def environment_of(server: Server, environment: Mapping[str, str]) -> Iterator[None]:
    """A server runs with these variables while the block lasts; it is restarted before and after."""
    command = server.command
    server.command = ["env", *(f"{name}={value}" for name, value in environment.items()), *command]
    server.restart()
    try:
        yield
    finally:
        server.command = command
        server.restart()
