"""Child process: stores approved articles with their tasks, as an import does: `{"first", "count", "seconds"}`.

Half of them become due one by one during these seconds, half in bursts. Prints when the first may be due, in epoch
seconds, and the id and time of each article, as JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime

import django

django.setup()

from django.contrib.auth.models import User  # noqa: E402 (models need a Django that is set up)
from django.db import transaction  # noqa: E402

from articles.models import Article, Channel  # noqa: E402
from articles.publishing.reconcile import sync_tasks  # noqa: E402
from scheduling.database import read_database_clock  # noqa: E402
from tests.chaos.newsroom import texts  # noqa: E402

BURST = 500  # articles of one instant
_BATCH = 2000  # articles of a transaction
_STORED_A_SECOND = 1000  # at least


def main() -> None:
    """Store them."""
    wanted = json.loads(sys.argv[1])
    author, channel = User.objects.get(username="author"), Channel.objects.get()
    begin = read_database_clock().timestamp() + 5 + wanted["count"] / _STORED_A_SECOND
    times, found = list(due_times(begin, wanted["count"], wanted["seconds"])), list[tuple[int, float]]()
    for start in range(0, len(times), _BATCH):
        articles = [
            Article(
                **texts(wanted["first"] + number, 1), status=Article.Status.APPROVED, author=author, channel=channel,
                slug="stored", publish_at=datetime.fromtimestamp(times[number], UTC),
            )
            for number in range(start, min(start + _BATCH, len(times)))
        ]  # fmt: skip
        with transaction.atomic():
            Article.objects.bulk_create(articles)
            sync_tasks([article.pk for article in articles])
        found += [(article.pk, article.publish_at.timestamp()) for article in articles if article.publish_at]
    assert read_database_clock().timestamp() < begin, "storing took too long"
    print(json.dumps({"begin": begin, "articles": found}))  # noqa: T201


def due_times(begin: float, count: int, seconds: float) -> Iterator[float]:
    """Epoch seconds: of each second article its own, of the others one for each burst."""
    for number in range(count):
        among = number if number % 2 else number // (2 * BURST) * 2 * BURST
        yield begin + seconds * among / count


if __name__ == "__main__":
    main()
