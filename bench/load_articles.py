"""Child of the benchmarks: stores articles that are due from an instant on; prints the first id and how long it took.

With tasks it goes the ways an editor's work takes: `Article.save()` for different times, `schedule_many` for one.
Without, for another scheduler, only the rows are written. Ids ascend in the order in which articles are due.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from datetime import UTC, datetime
from typing import Any

import django

django.setup()

from django.contrib.auth import get_user_model  # noqa: E402 (models need a Django that is set up)

from articles.models import Article  # noqa: E402
from articles.publishing import schedule_many  # noqa: E402

BODY = "<p>" + "All the news that is fit to be measured. " * 50 + "</p>"


def main() -> None:
    """Read the arguments, store, report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--due", type=float, required=True, help="epoch seconds of the first")
    parser.add_argument("--over", type=float, default=0.0, help="seconds over which they spread; 0: one instant")
    parser.add_argument("--without-tasks", action="store_true")
    options = parser.parse_args()
    author = get_user_model().objects.create_superuser(f"author-{time.time_ns()}")
    articles = make(options.count, options.due, options.over, author)
    began = time.monotonic()
    if options.without_tasks:
        Article.objects.bulk_create(articles, batch_size=1000)
    elif options.over:
        for article in articles:
            article.save()
    else:
        schedule_at_once(articles, author)
    took = time.monotonic() - began
    first = Article.objects.filter(publish_at__gte=moment(options.due)).order_by("pk")[0].pk
    print(json.dumps({"first_id": first, "seconds": round(took, 2)}))  # noqa: T201


def make(count: int, due: float, over: float, author: Any) -> list[Article]:
    """Approved articles of one author, who is notified of each; times are random but the same in every run."""
    spread = random.Random(count)  # noqa: S311 (a benchmark wants no secrets)
    times = sorted(due + spread.uniform(0, over) for _ in range(count))
    return [
        Article(
            title=f"Headline {number}", slug=f"headline-{number}", summary="In short.", body=BODY,
            status=Article.Status.APPROVED, publish_at=moment(at), author=author,
        )
        for number, at in enumerate(times)
    ]  # fmt: skip


def schedule_at_once(articles: list[Article], editor: Any) -> None:
    """Store them without a time, then give all of them the same one."""
    publish_at = articles[0].publish_at
    assert publish_at is not None
    for article in articles:
        article.publish_at = None
    Article.objects.bulk_create(articles, batch_size=1000)
    waiting = Article.objects.filter(publish_at=None, status=Article.Status.APPROVED)
    schedule_many(waiting.only("pk"), publish_at=publish_at, by=editor)


def moment(timestamp: float) -> datetime:
    """An aware datetime in UTC."""
    return datetime.fromtimestamp(timestamp, UTC)


if __name__ == "__main__":
    main()
