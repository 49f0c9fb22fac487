"""Child process: an outside observer, which polls MariaDB over a connection of its own for what becomes true.

Prints when each of the next `count` was still unseen for the last time and seen for the first time, by the server's
clock, as a list of `[name, unseen, seen]`. The commit was in between, whatever the machine has to do besides. A name is
the type and key of the task that makes it true, or "live" and an article's id for what readers' pages show.
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
_THINGS = (
    "(SELECT CONCAT('articles.publish ', id) AS name FROM articles_article WHERE status = 9 UNION ALL"
    " SELECT CONCAT('live ', id) FROM articles_article WHERE status IN (4, 8, 9) AND goes_live_at <= SYSDATE(6)"
    " UNION SELECT CONCAT('live ', article_id) FROM articles_releasemember JOIN articles_release AS due"
    " ON due.id = release_id WHERE action = 'publish' AND due.status = 'scheduled' AND due.publish_at <= SYSDATE(6)"
    " UNION ALL SELECT CONCAT('articles.release ', id) FROM articles_release WHERE status = 'published'"
    " UNION ALL SELECT CONCAT('articles.update ', article_id) FROM articles_correction) AS things"
)


def main() -> None:
    """Watch until all are there."""
    connection, count, end = connect(os.environ["DATABASE_URL"]), int(sys.argv[1]), time.monotonic() + PATIENCE
    connection.cursor().execute("SET time_zone = '+00:00'")
    found: dict[str, tuple[float, float]] = {}
    unseen = poll(connection, found, 0.0)
    old = set(found)
    print("watching", flush=True)  # noqa: T201
    while len(found) < count + len(old) and time.monotonic() < end:
        time.sleep(PAUSE)
        unseen = poll(connection, found, unseen)
    print(json.dumps([(name, *times) for name, times in found.items() if name not in old]))  # noqa: T201


def poll(connection: Any, found: dict[str, tuple[float, float]], unseen: float) -> float:
    """Add what became true since the last poll, which began at `unseen`; returns when this one began."""
    ((began,),) = rows(connection, _CLOCK)
    ((count,),) = rows(connection, f"SELECT COUNT(*) FROM {_THINGS}")  # noqa: S608 (no input)
    if count > len(found):
        out = rows(connection, f"SELECT name FROM {_THINGS}")  # noqa: S608 (no input)
        ((seen,),) = rows(connection, _CLOCK)
        found.update({name: (unseen, seen) for (name,) in out if name not in found})
    return float(began)


if __name__ == "__main__":
    main()
