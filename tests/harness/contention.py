"""How much longer everything takes because of other work on the machine, for limits of time."""

from __future__ import annotations

import statistics
import subprocess
import time
from types import TracebackType

from tests.harness.processes import DIE_WITH_PARENT, base_dir, python

_COUNTED, _PAUSE = 200_000, 0.05


class Contention:
    """A context manager; afterwards `factor` is how many times its processor time a process took at the median."""

    factor = 1.0

    def __enter__(self) -> Contention:
        command = [*DIE_WITH_PARENT, python, "-m", "tests.harness.contention"]
        self._child = subprocess.Popen(
            command, cwd=base_dir, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child.terminate()
        lines, _errors = self._child.communicate()
        self.factor = statistics.median([1.0, *map(float, lines.split())])


def main() -> None:
    """Measure until it is ended."""
    while True:
        began, processor = time.perf_counter(), time.process_time()
        sum(range(_COUNTED))
        print((time.perf_counter() - began) / (time.process_time() - processor), flush=True)  # noqa: T201
        time.sleep(_PAUSE)


if __name__ == "__main__":
    main()
