"""Hand-written SQL for the rows that Headline writes: article, record, task, audit entry, notification.

No check, no setting, no retry: the least that the database has to do. Started before tasks are due, it looks for them
every 5 ms until it is ended.
"""

from __future__ import annotations

import os
import time
from typing import Any

from tests.harness import connect

BATCH = 500

_CLAIM = (
    "SELECT task_id, `key` FROM taskinfo WHERE task_type = 'articles.publish' AND priority = 0"
    " AND execute_time <= UTC_TIMESTAMP(6) ORDER BY execute_time LIMIT {batch} FOR UPDATE SKIP LOCKED"
)
_STATEMENTS = (
    "INSERT INTO articles_auditentry (at, action, source, user_name, article_id, article_title, old_status, new_status,"
    " old_time, new_time, revision, reason, details)"
    " SELECT UTC_TIMESTAMP(6), 'published', 'worker', '', id, title, status, 9, publish_at, publish_at, revision, '',"
    " '{{}}' FROM articles_article WHERE id IN ({articles})",
    "INSERT INTO articles_notification (id, user_id, kind, article_id, article_title, reason, occasion, in_desk, at)"
    " SELECT UUID(), author_id, 'published', id, title, '', '', 1, UTC_TIMESTAMP(6)"
    " FROM articles_article WHERE id IN ({articles})",
    "UPDATE articles_article SET status = 9, published_at = UTC_TIMESTAMP(6) WHERE id IN ({articles})",
    "UPDATE taskinfo_logs SET status = 1, version = version + 1, executed_at = UTC_TIMESTAMP(6),"
    " updated_at = UTC_TIMESTAMP(6), worker = 'raw',"
    " lateness = TIMESTAMPDIFF(MICROSECOND, GREATEST(execute_time, promised_at), UTC_TIMESTAMP(6))"
    " WHERE task_id IN ({tasks})",
    "DELETE FROM taskinfo WHERE task_id IN ({tasks})",
)


def main() -> None:
    """Publish what is due, for ever."""
    connection = connect(os.environ["DATABASE_URL"])
    connection.autocommit(False)
    with connection.cursor() as cursor:
        cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
        print("ready", flush=True)
        while True:
            if not publish_batch(cursor):
                time.sleep(0.005)
            connection.commit()


def publish_batch(cursor: Any, batch: int = BATCH) -> int:
    """Publish up to `batch` due articles in the present transaction; returns their number."""
    cursor.execute(_CLAIM.format(batch=batch))
    if not (claimed := cursor.fetchall()):
        return 0
    tasks = ",".join(str(task_id) for task_id, _key in claimed)
    articles = ",".join(str(int(key)) for _task_id, key in claimed)
    for statement in _STATEMENTS:
        cursor.execute(statement.format(tasks=tasks, articles=articles))
    return len(claimed)


if __name__ == "__main__":
    main()
