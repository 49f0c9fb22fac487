"""Queueing for locked articles, so that editors who take turns with one cannot starve a worker."""

from __future__ import annotations

from collections.abc import Collection

from django.db import OperationalError, connection, transaction

from articles.models import Article
from scheduling.services import lock_by_ids

_TURN = 0.25  # seconds to wait for locked articles while holding no others
_STATEMENT_TIMEOUT = 1969


def wait_for_rows(article_ids: Collection[int]) -> bool:
    """Lock these articles, for `_TURN` at most; False if it took longer. Only MariaDB can do that."""
    if connection.vendor != "mysql" or not connection.mysql_is_mariadb:  # type: ignore[attr-defined]
        return True
    select, parameters = lock_by_ids(Article, article_ids).values_list("pk").query.sql_with_params()
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET STATEMENT max_statement_time = {_TURN} FOR {select}", parameters)
    except OperationalError as error:
        if error.args[0] != _STATEMENT_TIMEOUT:
            raise
        return False
    return True
