"""Child process: asks for the health check and a cached front page in turn; prints milliseconds of both, as JSON."""

from __future__ import annotations

import json
import sys
import time

from tests.attacks.site import ask

PATHS = "/healthz", "/en/"
PAUSE = 0.05


def main() -> None:
    """For as many seconds as the second argument says, at the port of the first."""
    port, until = int(sys.argv[1]), time.monotonic() + float(sys.argv[2])
    took: dict[str, list[float]] = {path: [] for path in PATHS}
    while time.monotonic() < until:
        for path in PATHS:
            began = time.monotonic()
            answer = ask(port, path)
            took[path].append((time.monotonic() - began) * 1000)
            assert answer.status == 200, answer
        time.sleep(PAUSE)
    print(json.dumps(took))  # noqa: T201


if __name__ == "__main__":
    main()
