"""Child process: stores tasks of the kinds that it gets as JSON, `[{"task_type", "count", "lead", ...}, ...]`.

They become due `lead` seconds after they are stored, or spread `over` some seconds from then on; "articles.publish"
stands for real articles. Prints when the first is due, in epoch seconds.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any

import django

django.setup()

from articles.models import Article  # noqa: E402 (models need a Django that is set up)
from scheduling.services import add_tasks  # noqa: E402


def main() -> None:
    """Store each kind."""
    kinds, now = json.loads(sys.argv[1]), time.time()
    for kind in kinds:
        if kind["task_type"] == "articles.publish":
            article = partial(Article, title="News", status=Article.Status.APPROVED)
            Article.objects.bulk_create(article(publish_at=due) for due in times(kind, now))
        else:
            add_tasks(
                {"task_type": kind["task_type"], "execute_time": due, "parameters": kind.get("parameters", {})}
                for due in times(kind, now)
            )
    print(now + min(kind.get("lead", 0) for kind in kinds))  # noqa: T201


def times(kind: dict[str, Any], now: float) -> Iterator[datetime]:
    """Evenly spread."""
    begin = now + kind.get("lead", 0)
    for number in range(kind["count"]):
        yield datetime.fromtimestamp(begin + kind.get("over", 0) * number / kind["count"], UTC)


if __name__ == "__main__":
    main()
