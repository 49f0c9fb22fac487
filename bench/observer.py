"""Child of the benchmarks: polls the database for live articles, and records when they went live.

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
_AHEAD = 100  # articles asked for at once; they are due one after the other


def main() -> None:
    """Watch `count` articles from `first` on; print what was seen as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--last", action="store_true", help="only note when the last one was out")
    parser.add_argument("--timeout", type=float, default=120.0)
    options = parser.parse_args()
    connection = connect(os.environ["DATABASE_URL"])
    watch = watch_last if options.last else watch_each
    seen = watch(connection, options.first, options.count, time.monotonic() + options.timeout)
    print(json.dumps(seen))  # noqa: T201


def watch_each(connection: Any, first: int, count: int, deadline: float) -> list[float]:
    """Milliseconds from due to visible for each article."""
    sql = "SELECT id, publish_at FROM articles_article WHERE id >= %s AND id < %s"
    due: dict[int, float] = {
        pk: (at - _EPOCH).total_seconds() for pk, at in rows(connection, sql, first, first + count)
    }
    late: list[float] = []
    low = first
    while due and time.monotonic() < deadline:
        sql = "SELECT id FROM articles_article WHERE id >= %s AND id < %s AND status = %s"
        out = rows(connection, sql, low, low + _AHEAD, PUBLISHED)
        now = time.time()
        late += [(now - due.pop(pk)) * 1000 for (pk,) in out if pk in due]
        low = min(due, default=low)
        time.sleep(0.001)
    return late


def watch_last(connection: Any, first: int, count: int, deadline: float) -> list[float]:
    """Milliseconds from the one due time to when the first and when all were visible."""
    ((due_at,),) = rows(connection, "SELECT publish_at FROM articles_article WHERE id = %s", first)
    due = (due_at - _EPOCH).total_seconds()
    time.sleep(max(0.0, due - time.time() - 0.1))
    sql = "SELECT COUNT(*) FROM articles_article WHERE status = %s AND publish_at = %s"
    first_out = None
    while time.monotonic() < deadline:
        ((out,),) = rows(connection, sql, PUBLISHED, due_at)
        now = time.time()
        if out and first_out is None:
            first_out = now
        if out == count:
            return [((first_out or now) - due) * 1000, (now - due) * 1000]
        time.sleep(0.005)
    return []


if __name__ == "__main__":
    main()
