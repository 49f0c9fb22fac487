"""Benchmark subprocess: stores approved articles that are due from an instant on; prints the id of the first.

`load_articles DUE COUNT:SECONDS...` spreads each COUNT over its SECONDS (0: one instant), one segment after the other
with a second between. Ids ascend in the order in which articles are due. Their author is notified of each.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import django

django.setup()

from django.contrib.auth import get_user_model  # noqa: E402 (models need a Django that is set up)
from django.db import transaction  # noqa: E402

from articles.models import Article, Channel  # noqa: E402
from articles.publishing import sync_tasks  # noqa: E402
from bench.texts import BODY  # noqa: E402

PAGE = 1000
PAUSE = 1.0  # seconds between two segments


def main() -> None:
    """Read the arguments, store, report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("due", type=float, help="epoch seconds of the first")
    parser.add_argument("segments", nargs="+", metavar="COUNT:SECONDS")
    parser.add_argument("--without-tasks", action="store_true", help="only the rows, for another scheduler")
    parser.add_argument("--channel", help="the slug of their channel")
    options = parser.parse_args()
    author, _ = get_user_model().objects.get_or_create(username="author", defaults={"email": "author@example.com"})
    channel = Channel.objects.filter(slug=options.channel).first()
    times = list(instants(options.due, options.segments))
    pages = [times[start : start + PAGE] for start in range(0, len(times), PAGE)]
    print(json.dumps(min(store(page, author, channel, with_tasks=not options.without_tasks) for page in pages)))


def instants(due: float, segments: Sequence[str]) -> list[datetime]:
    """The due times, random but the same in every run."""
    times, begin = list[datetime](), due
    for segment in segments:
        count, seconds = segment.split(":")
        spread = random.Random(count)
        offsets = sorted(spread.uniform(0, float(seconds)) for _ in range(int(count)))
        times += [datetime.fromtimestamp(begin + offset, UTC) for offset in offsets]
        begin += float(seconds) + PAUSE
    return times


@transaction.atomic
def store(times: Sequence[datetime], author: Any, channel: Channel | None, *, with_tasks: bool) -> int:
    """Insert an article for each time; returns the id of the first."""
    rows = [
        Article(
            title=f"Headline {number}", slug=f"headline-{number}", summary="In short.", body=BODY,
            status=Article.Status.APPROVED, publish_at=at, author=author, channel=channel,
        )
        for number, at in enumerate(times)
    ]  # fmt: skip
    Article.objects.bulk_create(rows)
    ids = list(Article.objects.order_by("-pk").values_list("pk", flat=True)[: len(rows)])
    if with_tasks:
        sync_tasks(ids)
    return min(ids)


if __name__ == "__main__":
    main()
