"""Child process: stores tasks of the kinds that it gets as JSON, `[{"task_type", "count", "due", ...}, ...]`.

`due` is in epoch seconds and `over` the seconds over which they spread; "articles.publish" stands for real articles.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import django

django.setup()

from articles.models import Article  # noqa: E402 (models need a Django that is set up)
from scheduling.services import add_tasks  # noqa: E402


def main() -> None:
    """Store each kind."""
    for kind in json.loads(sys.argv[1]):
        if kind["task_type"] == "articles.publish":
            for due in times(kind):
                Article(title="News", status=Article.Status.APPROVED, publish_at=due).save()
        else:
            add_tasks(
                {"task_type": kind["task_type"], "execute_time": due, "parameters": kind.get("parameters", {})}
                for due in times(kind)
            )
    print("null")  # noqa: T201


def times(kind: dict[str, Any]) -> Iterator[datetime]:
    """Evenly spread."""
    for number in range(kind["count"]):
        yield datetime.fromtimestamp(kind["due"] + kind.get("over", 0) * number / kind["count"], UTC)


if __name__ == "__main__":
    main()
