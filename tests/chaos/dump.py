"""The dump of the database at the end of a proof."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from tests.chaos.marks import MARK
from tests.harness import Stand

_QUERIES = {
    "articles": (
        "SELECT a.id, a.title, a.status, a.publish_at, a.unpublish_at, r.title AS update_title"
        " FROM articles_article a LEFT JOIN articles_update u ON u.article_id = a.id"
        " LEFT JOIN articles_revision r ON r.id = u.approved_id"
    ),
    "entries": (
        "SELECT id, at, action, source, user_name, article_id, article_title, release_id, old_status, new_status,"
        " old_time, new_time FROM articles_auditentry ORDER BY id"
    ),
    "releases": (
        "SELECT r.id, r.name, r.status, r.publish_at, r.published_at,"
        " (SELECT COUNT(*) FROM articles_releasemember m WHERE m.release_id = r.id) AS members FROM articles_release r"
    ),
    "notifications": (
        "SELECT n.id, n.kind, n.article_id, n.at, n.mailed_at, n.user_id = COALESCE(a.author_id, 0) AS is_author,"
        " u.email <> '' AND JSON_CONTAINS(COALESCE(p.mail, '[]'), JSON_QUOTE(n.kind)) AS is_wanted_by_mail"
        " FROM articles_notification n JOIN auth_user u ON u.id = n.user_id"
        " LEFT JOIN articles_notificationpreference p ON p.user_id = n.user_id"
        " LEFT JOIN articles_article a ON a.id = n.article_id"
    ),
    "tasks": "SELECT task_id, task_type, `key`, execute_time, attempts, leased_until FROM taskinfo",
    "logs": "SELECT task_id, task_type, `key`, execute_time, promised_at, status, executed_at FROM taskinfo_logs",
    "events": "SELECT id, kind, object_id, seq FROM articles_event ORDER BY id",
    "effects": "SELECT task_id, at FROM probe_effect",
}
_SHOWN = (4, 8, 9)


def dump(stand: Stand) -> dict[str, list[dict[str, Any]]]:
    """All rows that the checker reads; times are seconds since 1970."""
    connection = stand.connect()
    try:
        with connection.cursor() as cursor:
            found = {name: _rows(cursor, sql) for name, sql in _QUERIES.items()}
    finally:
        connection.close()
    for article in found["articles"]:
        article |= _marks(article)
    return found


def _rows(cursor: Any, sql: str) -> list[dict[str, Any]]:
    cursor.execute(sql)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, map(_plain, row), strict=True)) for row in cursor.fetchall()]


def _plain(value: Any) -> Any:
    return value.replace(tzinfo=UTC).timestamp() if isinstance(value, datetime) else value


def _marks(article: Mapping[str, Any]) -> dict[str, Any]:
    found: Sequence[Any] = [MARK.search(article[name] or "") for name in ("title", "update_title")]
    text, update = (int(mark[2]) if mark else None for mark in found)
    return {"text": text, "update": update, "is_shown": article["status"] in _SHOWN}
