"""Child process: an outside observer, which polls MariaDB over a connection of its own for articles that are published.

Prints when each of the first `count` was still unseen for the last time and seen for the first time, by the server's
clock, as a list of `[article, unseen, seen]`. The commit was in between, whatever the machine has to do besides.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from tests.harness import connect, rows

PAUSE = 0.001  # seconds between two polls
PATIENCE = 60.0  # seconds
_CLOCK = "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6)) / 1000000e0"


def main() -> None:
    """Watch until all are published."""
    connection, count, end = connect(os.environ["DATABASE_URL"]), int(sys.argv[1]), time.monotonic() + PATIENCE
    connection.cursor().execute("SET time_zone = '+00:00'")
    found: dict[int, tuple[float, float]] = {}
    unseen = poll(connection, found, 0.0)
    print("watching", flush=True)  # noqa: T201
    while len(found) < count and time.monotonic() < end:
        time.sleep(PAUSE)
        unseen = poll(connection, found, unseen)
    print(json.dumps([(article, *times) for article, times in found.items()]))  # noqa: T201


def poll(connection: Any, found: dict[int, tuple[float, float]], unseen: float) -> float:
    """Add those that are published since the last poll, which began at `unseen`; returns when this one began."""
    ((began,),) = rows(connection, _CLOCK)
    ((count,),) = rows(connection, "SELECT COUNT(*) FROM articles_article WHERE status = 9")
    if count > len(found):
        out = rows(connection, "SELECT id FROM articles_article WHERE status = 9")
        ((seen,),) = rows(connection, _CLOCK)
        found.update({article: (unseen, seen) for (article,) in out if article not in found})
    return float(began)


if __name__ == "__main__":
    main()
