"""Celery: a task for each article with an `eta`.

Settings as its documentation recommends for many short tasks with an eta: a visibility timeout beyond the latest eta, a
prefetch of 128, no results, no events, no rate limits; one open connection a process and no ORM.

`python -m bench.peers.celery_app FIRST COUNT` sends the tasks.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from celery import Celery
from celery.signals import worker_ready

from bench.peers.rows import publish_article, waiting

app = Celery("bench", broker=os.environ.get("CELERY_BROKER_URL"))
app.conf.update(
    broker_connection_retry_on_startup=True,
    broker_transport_options={"visibility_timeout": 12 * 3600},
    enable_utc=True,
    task_ignore_result=True,
    timezone="UTC",
    worker_disable_rate_limits=True,
    worker_hijack_root_logger=False,
    worker_prefetch_multiplier=128,
    worker_send_task_events=False,
)


@worker_ready.connect
def report_ready(**_options: Any) -> None:
    """Print that the worker consumes."""
    print("ready", flush=True)


@app.task(name="bench.publish")
def publish(article_id: int) -> None:
    """Publish one article."""
    publish_article(article_id)


def send(first: int, count: int) -> None:
    """Queue a task for each article."""
    with app.producer_or_acquire() as producer:
        for pk, due in waiting(first, count):
            publish.apply_async((pk,), eta=due, producer=producer)


if __name__ == "__main__":
    send(int(sys.argv[1]), int(sys.argv[2]))
