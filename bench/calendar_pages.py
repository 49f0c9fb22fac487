"""Benchmark subprocess: costs of calendar pages, as JSON."""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from datetime import UTC, date, datetime, timedelta

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "headline.settings")
django.setup()

from django.contrib.auth.models import User  # noqa: E402 (models need a Django that is set up)
from django.test import Client  # noqa: E402

from articles.models import Article, CalendarFeed, Channel  # noqa: E402

YEAR = datetime.now(UTC).year + 1
PERIODS = {
    "month": (datetime(YEAR, 1, 1, tzinfo=UTC), timedelta(days=31)),
    "week": (datetime(YEAR, 3, 8 - date(YEAR, 3, 8).isoweekday(), tzinfo=UTC), timedelta(days=7)),
    "day": (datetime(YEAR, 5, 1, tzinfo=UTC), timedelta(days=1)),
}
"""The period that each view shows: all of them have the same number of articles."""
STATUSES = [Article.Status.APPROVED, Article.Status.MANUALLY_APPROVED, Article.Status.MANUAL_REVIEW]


def main() -> None:
    """`calendar_pages ARTICLES REPETITIONS`."""
    size, repetitions = map(int, sys.argv[1:])
    if not Article.objects.exists():
        load(size)
    client, user = Client(headers={"host": "127.0.0.1"}), User.objects.get()
    client.force_login(user)
    feed = CalendarFeed.objects.renew(user)
    pages = {view: f"/admin/calendar/?view={view}&date={start:%Y-%m-%d}" for view, (start, _) in PERIODS.items()}
    gc.freeze()  # as headline.wsgi does
    pages["feed"] = f"/calendar/{feed.secret}.ics"
    print(json.dumps({name: [cost(client, page) for _ in range(repetitions)] for name, page in pages.items()}))


def load(size: int) -> None:
    """Store articles over each period and eight channels."""
    User.objects.create_superuser("bench")
    channels = [Channel.objects.create(name=f"Channel {number}") for number in range(8)]
    Article.objects.bulk_create(
        (
            Article(
                title=f"No. {number}: a headline of the usual length, about the harbour",
                status=STATUSES[number % len(STATUSES)],
                channel=channels[number % len(channels)],
                publish_at=start + number * length / size,
            )
            for start, length in PERIODS.values()
            for number in range(size)
        ),
        batch_size=1000,
    )


def cost(client: Client, page: str) -> float:
    """Milliseconds to render the page, without a network."""
    began = time.perf_counter()
    answer = client.get(page)
    taken = (time.perf_counter() - began) * 1000
    if answer.status_code != 200:
        raise SystemExit(f"{page} answered {answer.status_code}")
    return taken


if __name__ == "__main__":
    main()
