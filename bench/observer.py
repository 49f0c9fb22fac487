"""Benchmark subprocess: polls the database for live articles, and prints when they went live.

It shares nothing with what it watches but MariaDB, so it sees a publication only once that is committed. What it
notes is the time *after* the answer arrived: an upper bound, by a millisecond or two.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from datetime import datetime
from typing import Any

from tests.harness import connect, rows

PUBLISHED = 9
_EPOCH = datetime(1970, 1, 1)  # MySQLdb gives naive times; they are UTC
_AHEAD = 200  # articles asked for at once by default; they are due one after the other


def main() -> None:
    """Watch `count` articles from `first` on; print what was seen as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--last", action="store_true", help="only note when the last one was out")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds after the last one is due")
    parser.add_argument(
        "--ahead", type=int, default=_AHEAD, help="articles looked for at once; all, if some may be lost"
    )
    options = parser.parse_args()
    connection = connect(os.environ["DATABASE_URL"])
    due = due_times(connection, options.first, options.count)
    deadline = max(due.values()) + options.timeout
    seen = (
        watch_last(connection, due, deadline) if options.last else watch_each(connection, due, deadline, options.ahead)
    )
    print(json.dumps(seen))


def due_times(connection: Any, first: int, count: int) -> dict[int, float]:
    """Id to due time in epoch seconds, in the order of the ids."""
    sql = "SELECT id, publish_at FROM articles_article WHERE id >= %s AND id < %s ORDER BY id"
    return {pk: (at - _EPOCH).total_seconds() for pk, at in rows(connection, sql, first, first + count)}


def watch_each(connection: Any, due: dict[int, float], deadline: float, ahead: int) -> list[float | None]:
    """Milliseconds from due to visible for each article, None for those that are not out at the deadline."""
    late: dict[int, float | None] = dict.fromkeys(due)
    waiting = dict(due)
    while waiting and time.time() < deadline:
        low = next(iter(waiting))
        sql = "SELECT id FROM articles_article WHERE id >= %s AND id < %s AND status = %s"
        out = rows(connection, sql, low, low + ahead, PUBLISHED)
        now = time.time()
        late |= {pk: (now - waiting.pop(pk)) * 1000 for (pk,) in out if pk in waiting}
        time.sleep(0.001)
    return list(late.values())


def watch_last(connection: Any, due: dict[int, float], deadline: float) -> list[float | None]:
    """Milliseconds from the one due time to when all were visible, None if they are not out at the deadline."""
    low, last, began = min(due), max(due), max(due.values())
    time.sleep(max(0.0, began - time.time()))
    sql = "SELECT id FROM articles_article WHERE id >= %s AND id <= %s AND status <> %s ORDER BY id LIMIT 1"
    while time.time() < deadline:
        waiting = rows(connection, sql, low, last, PUBLISHED)
        now = time.time()
        if not waiting:
            return [(now - began) * 1000]
        low = waiting[0][0]
        time.sleep(0.005)
    return [None]


if __name__ == "__main__":
    main()
