"""Queueing for locked articles, so that editors who take turns with one cannot starve a worker."""

from __future__ import annotations

from collections.abc import Collection

from django.db import connection

from articles.models import Article
from scheduling.database import lock_by_ids

_TURN = 0.25  # seconds to wait for locked articles while holding no others


def wait_for_rows(article_ids: Collection[int]) -> bool:
    """Lock these articles, for about `_TURN` at most; False if it took longer. SQLite has no row locks."""
    lock_within = getattr(connection, "lock_within", None)
    if lock_within is None:
        return True
    select, parameters = lock_by_ids(Article, article_ids).values_list("pk").query.sql_with_params()
    return bool(lock_within(_TURN, select, parameters))
