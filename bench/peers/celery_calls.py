"""Calls of Celery a second, as JSON: `python -m bench.peers.celery_calls ONES MANY`; no worker runs."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime, timedelta

from bench.peers.celery_app import app, publish
from bench.rates import rate


def main(ones: int, many: int) -> None:
    """Measure and print."""
    later = datetime.now(UTC) + timedelta(hours=1)
    publish.apply_async((1,), eta=later)  # connects
    ids: list[str] = []

    def add_many() -> None:
        with app.producer_or_acquire() as producer:
            ids.extend(publish.apply_async((1,), eta=later, producer=producer).id for _ in range(many))

    values = {
        "add one": rate(ones, lambda: [publish.apply_async((1,), eta=later) for _ in range(ones)]),
        "add many": rate(many, add_many),
        "cancel many": rate(many, lambda: app.control.revoke(ids)),
    }
    print(json.dumps(values))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
