"""Child process: adds tasks that it reads as JSON: `[{"task_type", "count", "lead", ...}, ...]`.

They become due `lead` seconds after they are stored, or spread `over` some seconds from then on; "articles.publish"
stands for real articles. Prints when the first is due, in epoch seconds.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

import django

django.setup()

from django.db import transaction  # noqa: E402 (models need a Django that is set up)

from articles.models import Article  # noqa: E402
from articles.publishing.reconcile import sync_tasks  # noqa: E402
from scheduling.services import add_tasks  # noqa: E402


def main() -> None:
    """Store the tasks of each kind."""
    kinds, now = json.loads(sys.argv[1]), time.time()
    for kind in kinds:
        if kind["task_type"] == "articles.publish":
            store_articles(times(kind, now))
        else:
            add_tasks(
                {"task_type": kind["task_type"], "execute_time": due, "parameters": kind.get("parameters", {})}
                for due in times(kind, now)
            )
    print(now + min(kind.get("lead", 0) for kind in kinds))  # noqa: T201


def store_articles(dues: Iterable[datetime]) -> None:
    """Store articles and their tasks in bulk."""
    approved = Article.Status.APPROVED
    with transaction.atomic():
        stored = Article.objects.bulk_create(Article(title="News", status=approved, publish_at=due) for due in dues)
        sync_tasks([article.pk for article in stored])


def times(kind: dict[str, Any], now: float) -> Iterator[datetime]:
    """Evenly spread."""
    begin = now + kind.get("lead", 0)
    for number in range(kind["count"]):
        yield datetime.fromtimestamp(begin + kind.get("over", 0) * number / kind["count"], UTC)


if __name__ == "__main__":
    main()
