"""Benchmark subprocess: saves articles one by one, as an editor does; prints JSON: `python -m bench.saves COUNT`.

Approved ones that become due after the last save, and the newest live one again and again.
"""

from __future__ import annotations

import gc
import json
import logging
import sys
import time
from datetime import timedelta
from statistics import median

import django

django.setup()

from django.contrib.auth import get_user_model  # noqa: E402 (models need a Django that is set up)

from articles.models import Article  # noqa: E402
from bench.texts import BODY  # noqa: E402
from scheduling.database import read_database_clock  # noqa: E402

APART = 0.2  # seconds between two saves, and between two that are due
LEARNING = 10  # saves before that: the first ones find out that Redis is slow, in a new process
LEAD = 3.0  # seconds from the last save to the first that is due


def main(count: int) -> None:
    """Save and print: the id of the first article, and milliseconds of a save (median) of both kinds."""
    logging.disable(logging.WARNING)
    author, _ = get_user_model().objects.get_or_create(username="author", defaults={"email": "author@example.com"})
    gc.freeze()  # as headline.wsgi does
    due = read_database_clock() + timedelta(seconds=(count * 2 + LEARNING) * APART + LEAD)
    new = [
        Article(
            title=f"Headline {number}", slug=f"saved-{due:%H%M%S}-{number}", body=BODY, author=author,
            status=Article.Status.APPROVED, publish_at=due + timedelta(seconds=number * APART),
        )
        for number in range(count)
    ]  # fmt: skip
    live = Article.objects.filter(status=Article.Status.PUBLISHED).latest("pk")
    for number in range(LEARNING):
        timed(live, -number)
    save = median(timed(article) for article in new)
    live_save = median(timed(live, number) for number in range(count))
    print(json.dumps({"first": new[0].pk, "save": save, "live save": live_save}))


def timed(article: Article, number: int | None = None) -> float:
    """Milliseconds of a save, at the pace of an editor."""
    if number is not None:
        article.summary = f"Edited {number} times."
    began = time.perf_counter()
    article.save()
    taken = (time.perf_counter() - began) * 1000
    time.sleep(max(0.0, APART - taken / 1000))
    return taken


if __name__ == "__main__":
    main(int(sys.argv[1]))
