"""Benchmark subprocess: calls of Headline a second, as JSON: `python -m bench.calls ONES MANY`."""

from __future__ import annotations

import gc
import json
import logging
import sys
from datetime import timedelta
from typing import Any

import django

django.setup()

from django.contrib.auth.models import User  # noqa: E402 (models need a Django that is set up)
from django.db import connection  # noqa: E402
from django.test.utils import CaptureQueriesContext  # noqa: E402

from articles.models import Article  # noqa: E402
from articles.publishing import reschedule_many, schedule_many  # noqa: E402
from bench.rates import rate  # noqa: E402
from bench.texts import BODY  # noqa: E402
from scheduling.database import read_database_clock  # noqa: E402
from scheduling.services import add_task, add_tasks, cancel_tasks  # noqa: E402

TYPE = "bench.call"
HOUR = timedelta(hours=1)


def main(ones: int, many: int) -> None:
    """Measure and print."""
    logging.disable(logging.INFO)
    gc.freeze()  # as headline.wsgi does
    later = read_database_clock() + HOUR
    task: dict[str, Any] = {"task_type": TYPE, "execute_time": later, "parameters": {"number": 1}}
    values = {"add one": rate(ones, lambda: [add_task(**task) for _ in range(ones)])}
    added: list[Any] = []
    values["add many"] = rate(many, lambda: added.extend(add_tasks([task] * many)))
    values["cancel many"] = rate(many, lambda: cancel_tasks([one.task_id for one in added]))
    values |= scheduling(many)
    values["statements"] = statements()
    print(json.dumps(values))


def scheduling(many: int) -> dict[str, float]:
    """Schedule and reschedule articles."""
    articles, editor = approved(many), scheduler()
    values = {
        "schedule many": rate(many, lambda: schedule(articles)),
        "reschedule many": rate(many, lambda: reschedule_many(articles, shift=HOUR, by=editor)),
    }
    ids = [article.pk for article in articles]
    Article.objects.filter(pk__in=ids).update(status=Article.Status.DRAFT)
    return values


def approved(many: int) -> list[Article]:
    """As many approved articles without a time."""
    rows = [Article(title=f"No. {number}", body=BODY, status=Article.Status.APPROVED) for number in range(many)]
    Article.objects.bulk_create(rows, batch_size=1000)
    return list(Article.objects.order_by("-pk").only("pk")[:many])


def schedule(articles: list[Article]) -> None:
    """Schedule them by an editor, in an hour."""
    schedule_many(articles, publish_at=read_database_clock() + HOUR, by=scheduler())


def scheduler() -> User:
    """The editor who schedules."""
    user, _ = User.objects.get_or_create(username="editor", is_superuser=True, is_staff=True)
    return user


def statements() -> int:
    """SQL statements of a save that gives an approved article another time."""
    article = Article.objects.create(title="News", body=BODY, status=Article.Status.APPROVED)
    article.publish_at = read_database_clock() + HOUR
    article.save()
    article.publish_at += HOUR
    with CaptureQueriesContext(connection) as queries:
        article.save()
    Article.objects.filter(pk=article.pk).update(status=Article.Status.DRAFT)
    return len(queries)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
