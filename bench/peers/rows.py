"""The effect of every peer's task: publish one article by one statement on an open connection."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from typing import Any

from tests.harness import connect, rows


@cache
def connection(process: int, thread: int) -> Any:
    """The connection of this thread of this process; none crosses a fork."""
    return connect(os.environ["DATABASE_URL"])


def publish_article(article_id: int) -> None:
    """Publish one article."""
    with connection(os.getpid(), threading.get_ident()).cursor() as cursor:
        cursor.execute(
            "UPDATE articles_article SET status = 9, published_at = UTC_TIMESTAMP(6)"
            " WHERE id = %s AND status IN (4, 8)",
            [article_id],
        )


def waiting(first: int, count: int) -> Iterator[tuple[int, datetime]]:
    """Ids and due times of the articles from `first` on."""
    sql = "SELECT id, publish_at FROM articles_article WHERE id >= %s AND id < %s ORDER BY id"
    for pk, due in rows(connection(os.getpid(), threading.get_ident()), sql, first, first + count):
        yield pk, due.replace(tzinfo=UTC)
