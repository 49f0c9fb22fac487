"""Dramatiq: a message for each article with a `delay`; its default settings, and a prefetch of all delayed messages.

`python -m bench.peers.dramatiq_app FIRST COUNT` sends the messages.
"""

from __future__ import annotations

import math
import os
import sys
import time

import dramatiq
from dramatiq.brokers.redis import RedisBroker

from bench.peers.rows import publish_article, waiting

dramatiq.set_broker(RedisBroker(url=os.environ["DRAMATIQ_BROKER_URL"]))


@dramatiq.actor
def publish(article_id: int) -> None:
    """Publish one article."""
    publish_article(article_id)


def send(first: int, count: int) -> None:
    """Queue a message for each article."""
    for pk, due in waiting(first, count):
        publish.send_with_options(args=(pk,), delay=max(math.ceil((due.timestamp() - time.time()) * 1000), 0))


if __name__ == "__main__":
    # The module that a worker imports has another name than this one; its messages are those of the actor's name.
    send(int(sys.argv[1]), int(sys.argv[2]))
