"""Standing in line for articles that somebody holds, so that those who take turns with one starve nobody."""

from __future__ import annotations

from collections.abc import Collection

from django.db import OperationalError, connection, transaction

from articles.models import Article
from scheduling.services import lock_by_ids

_TURN = 0.25  # seconds that one waits for busy articles while one holds no others
_STATEMENT_TIMEOUT = 1969


def stand_in_line(article_ids: Collection[int]) -> bool:
    """Lock these articles, for `_TURN` at most; False if it took longer, or cannot be said to MySQL."""
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
