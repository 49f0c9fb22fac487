"""Enqueues a task of django-tasks-db for each article, in one transaction: `enqueue FIRST COUNT`."""

from __future__ import annotations

import sys

import django

django.setup()

from django.db import transaction  # noqa: E402 (models need a Django that is set up)

from bench.peers.plain.tasks import publish  # noqa: E402
from bench.peers.rows import waiting  # noqa: E402


@transaction.atomic
def send(first: int, count: int) -> None:
    """Enqueue them."""
    for pk, due in waiting(first, count):
        publish.using(run_after=due).enqueue(pk)


if __name__ == "__main__":
    send(int(sys.argv[1]), int(sys.argv[2]))
