"""Benchmark subprocess: costs of the newsroom's pages with many articles of one instant, as JSON.

`python -m bench.one_instant_pages ARTICLES REPETITIONS`: milliseconds of each page before the instant, and after it
while no worker runs; its SQL statements, rows and bytes go to standard error.
"""

from __future__ import annotations

import gc
import json
import logging
import sys
import time
from datetime import datetime, timedelta

import django

django.setup()

from django.contrib.auth.models import User  # noqa: E402 (models need a Django that is set up)
from django.core.cache import cache  # noqa: E402
from django.db import connection  # noqa: E402
from django.test import Client  # noqa: E402
from django.test.utils import CaptureQueriesContext  # noqa: E402

from articles.models import Article, Channel  # noqa: E402
from articles.publishing import schedule_many  # noqa: E402
from bench.texts import BODY  # noqa: E402
from scheduling.database import read_database_clock  # noqa: E402

CHANNELS = 8
AHEAD = timedelta(minutes=30)
LATE = timedelta(minutes=5)


def main(size: int, repetitions: int) -> None:
    """Measure and print."""
    logging.disable(logging.WARNING)
    if not Article.objects.exists():
        load(size)
    client, now = Client(headers={"host": "127.0.0.1"}), read_database_clock()
    client.force_login(User.objects.get())
    gc.freeze()  # as headline.wsgi does
    found: dict[str, list[float]] = {}
    for when, at in (("before", now + AHEAD), ("after", now - LATE)):
        move(at)
        found |= costs(when, client, at, repetitions)
    print(json.dumps(found))


def load(size: int) -> None:
    """Schedule so many approved articles for one instant."""
    user = User.objects.create_superuser("bench")
    channels = [Channel.objects.create(name=f"Channel {number}") for number in range(CHANNELS)]
    articles = (
        Article(
            title=f"No. {number}: a headline of the usual length, about the harbour",
            body=BODY,
            author=user,
            status=Article.Status.APPROVED,
            channel=channels[number % CHANNELS],
        )
        for number in range(size)
    )
    Article.objects.bulk_create(articles, batch_size=1000)
    assert schedule_many(Article.objects.only("pk"), publish_at=read_database_clock() + AHEAD, by=user) == size


def move(at: datetime) -> None:
    """Move the instant of all, as if they had been approved long before."""
    with connection.cursor() as cursor:
        cursor.execute("UPDATE articles_article SET publish_at = %s, cleared_at = %s", [at, at - AHEAD])
        cursor.execute("UPDATE taskinfo SET execute_time = %s, promised_at = %s", [at, at - AHEAD])
        cursor.execute("UPDATE taskinfo_logs SET execute_time = %s, promised_at = %s", [at, at - AHEAD])


def addresses(at: datetime) -> dict[str, str]:
    """The pages by name."""
    calendar = f"/admin/calendar/?date={at:%Y-%m-%d}&view="
    return {
        "dashboard": "/admin/",
        "articles": "/admin/articles/article/",
        "scheduled articles": "/admin/articles/article/?stage=scheduled",
        "published articles": "/admin/articles/article/?stage=published",
        "overdue articles": "/admin/articles/article/?concern=overdue",
        **{f"calendar, {view}": calendar + view for view in ("month", "week", "day")},
        "board": "/admin/desk/monitoring/content/",
        "notifications": "/admin/articles/notification/",
        "pending tasks": "/admin/scheduling/taskinfo/",
        "readyz": "/readyz",
    }


def costs(when: str, client: Client, at: datetime, repetitions: int) -> dict[str, list[float]]:
    """The milliseconds of each page, of all repetitions."""
    found: dict[str, list[float]] = {}
    for name, address in addresses(at).items():
        print(f"{when}: {name}: {work(client, address)}", file=sys.stderr)
        found[f"{name}, {when}"] = [cost(client, address) for _ in range(repetitions)]
    return found


def work(client: Client, address: str) -> str:
    """What a page asks for and sends."""
    cache.clear()
    rows = rows_sent()
    with CaptureQueriesContext(connection) as queries:
        size = len(client.get(address).content)
    return f"{len(queries)} statements, {rows_sent() - rows - 1} rows, {size} bytes"


def rows_sent() -> int:
    """Rows that MariaDB sent to this connection, which has two for each question about them."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW SESSION STATUS LIKE 'Rows_sent'")
        return int(cursor.fetchone()[1])


def cost(client: Client, address: str) -> float:
    """Milliseconds to render a page, without a network."""
    cache.clear()
    began = time.perf_counter()
    response = client.get(address)
    taken = (time.perf_counter() - began) * 1000
    if response.status_code != 200:
        raise SystemExit(f"{address} answered {response.status_code}")
    return taken


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
