"""The same job for Celery: a task per article with an `eta`, one UPDATE each on the same MariaDB.

It is given every advantage that keeps the comparison honest: no ORM, one open connection a process, no results.
Celery's other settings are its defaults (acknowledged early, visibility timeout of an hour).

`python -m bench.celery_publisher FIRST COUNT` sends the tasks; `celery -A bench.celery_publisher worker` runs them.
"""

from __future__ import annotations

import json
import os
import sys
import time
from datetime import UTC
from functools import cache
from typing import Any

from celery import Celery

from tests.harness import connect, rows

app = Celery("bench", broker=os.environ.get("CELERY_BROKER_URL"))
app.conf.update(
    enable_utc=True,
    timezone="UTC",
    task_ignore_result=True,
    worker_hijack_root_logger=False,
    worker_send_task_events=False,
)


@cache
def database(process: int) -> Any:
    """This process's connection; no connection crosses a fork."""
    return connect(os.environ["DATABASE_URL"])


@app.task(name="bench.publish")  # type: ignore[untyped-decorator]
def publish(article_id: int) -> None:
    """Publish one article."""
    with database(os.getpid()).cursor() as cursor:
        cursor.execute(
            "UPDATE articles_article SET status = 9, published_at = UTC_TIMESTAMP(6)"
            " WHERE id = %s AND status IN (4, 8)",
            [article_id],
        )


def send(first: int, count: int) -> None:
    """Queue a task for each article."""
    began = time.monotonic()
    sql = "SELECT id, publish_at FROM articles_article WHERE id >= %s AND id < %s ORDER BY id"
    for pk, due in rows(database(os.getpid()), sql, first, first + count):
        publish.apply_async((pk,), eta=due.replace(tzinfo=UTC))
    print(json.dumps({"seconds": round(time.monotonic() - began, 2)}))  # noqa: T201


if __name__ == "__main__":
    send(int(sys.argv[1]), int(sys.argv[2]))
