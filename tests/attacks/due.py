"""Child process: schedules articles, so many a second for some seconds from now on; prints their numbers, as JSON."""

from __future__ import annotations

import json
import sys
from datetime import timedelta

import django

django.setup()

from django.contrib.auth.models import User  # noqa: E402 (models need a Django that is set up)

from articles.models import Article  # noqa: E402
from scheduling.database import read_database_clock  # noqa: E402
from tests.articles.factories import make_article, soon  # noqa: E402


def main() -> None:
    """Schedule them."""
    seconds, each_second = map(int, sys.argv[1:])
    count = seconds * each_second
    author, later = User.objects.get(username="editor"), soon(hours=1)  # storing them takes time
    made = [
        make_article(f"Due {number}", author=author, status=Article.Status.APPROVED, publish_at=later)
        for number in range(count)
    ]
    begin = read_database_clock() + timedelta(seconds=5 + count * 0.02)
    for number, article in enumerate(made):
        article.publish_at = begin + timedelta(seconds=number / each_second * 0.75)
        article.save()
    print(json.dumps([article.pk for article in made]))  # noqa: T201


if __name__ == "__main__":
    main()
