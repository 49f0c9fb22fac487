"""Benchmark subprocess: stores webhooks in place of those before, which hear of what happens from now on.

`python -m bench.endpoints URL COUNT`
"""

from __future__ import annotations

import json
import sys

import django

django.setup()

from articles.distribution import catch_up  # noqa: E402 (models need a Django that is set up)
from articles.models import Endpoint, Event, PendingChange  # noqa: E402
from articles.webhooks import new_secret  # noqa: E402


def main(url: str, count: int) -> None:
    """Store them, and print how many there are; quickly, as articles become due soon."""
    Endpoint.objects.all().delete()  # with their deliveries
    PendingChange.objects.all().delete()
    Event.objects.unnumbered().delete()
    position = catch_up().sequence
    made = [Endpoint.objects.create(url=url, secret=new_secret(), position=position) for _ in range(count)]
    print(json.dumps(len(made)))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
