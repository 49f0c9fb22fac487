"""Child process: adds tasks that it reads as JSON: `[{"task_type", "count", "lead", ...}, ...]`.

They become due `lead` seconds after they are stored, or spread `over` some seconds from then on; "articles.publish"
stands for real articles, "articles.release" for releases of two articles, "articles.update" for updates of live ones
with a correction. Prints when the first is due, in epoch seconds.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import django

django.setup()

from django.contrib.auth.models import User  # noqa: E402 (models need a Django that is set up)
from django.db import transaction  # noqa: E402

from articles import publishing, releases  # noqa: E402
from articles.models import Article  # noqa: E402
from articles.publishing.reconcile import sync_tasks  # noqa: E402
from scheduling.database import read_database_clock  # noqa: E402
from scheduling.services import add_tasks  # noqa: E402
from tests.articles.factories import approve, make_article, make_release  # noqa: E402


def main() -> None:
    """Store the tasks of each kind."""
    kinds, now = json.loads(sys.argv[1]), time.time()
    for kind in kinds:
        if store := STORES.get(kind["task_type"]):
            store(times(kind, now))
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


def store_releases(dues: Iterable[datetime]) -> None:
    """Each of two approved articles."""
    for due in dues:
        members = [make_article("Member", status=Article.Status.APPROVED) for _ in range(2)]
        releases.schedule_release(make_release(*members, by=chief()), publish_at=due, by=chief())


def store_updates(dues: Iterable[datetime]) -> None:
    """Each of an article that was published an hour ago."""
    for due in dues:
        before = read_database_clock() - timedelta(hours=1)
        article = make_article("Old", status=Article.Status.PUBLISHED, publish_at=before, published_at=before)
        publishing.edit(article, by=chief(), changes={"title": "New"}, correction="It was wrong.")
        publishing.submit(article, by=chief())
        approve(article)
        publishing.schedule_update(article, publish_at=due, by=chief())


def chief() -> User:
    """A user who may do everything."""
    user, _ = User.objects.get_or_create(username="root", is_staff=True, is_superuser=True)
    return user


STORES = {
    "articles.publish": store_articles,
    "articles.release": store_releases,
    "articles.update": store_updates,
}


def times(kind: dict[str, Any], now: float) -> Iterator[datetime]:
    """Evenly spread."""
    begin = now + kind.get("lead", 0)
    for number in range(kind["count"]):
        yield datetime.fromtimestamp(begin + kind.get("over", 0) * number / kind["count"], UTC)


if __name__ == "__main__":
    main()
