"""Calls of django-tasks-db a second, as JSON: `django_tasks_calls ONES MANY`; it cannot cancel."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime, timedelta

import django

django.setup()

from django.db import transaction  # noqa: E402 (models need a Django that is set up)

from bench.peers.plain.tasks import publish  # noqa: E402
from bench.rates import rate  # noqa: E402


def main(ones: int, many: int) -> None:
    """Measure and print."""
    later = publish.using(run_after=datetime.now(UTC) + timedelta(hours=1))
    later.enqueue(1)  # connects
    values = {"add one": rate(ones, lambda: [later.enqueue(1) for _ in range(ones)])}
    with transaction.atomic():
        values["add many"] = rate(many, lambda: [later.enqueue(1) for _ in range(many)])
    print(json.dumps(values))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
