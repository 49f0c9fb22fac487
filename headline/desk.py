"""The sidebar of the newsroom's screens: the news first, then the engine, then the people."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

ORDER = ["articles", "scheduling", "auth"]
ICONS = {
    "Article": "article",
    "AuditEntry": "policy",
    "Channel": "category",
    "Tag": "sell",
    "QueuedArticle": "rate_review",
    "Word": "shield",
    "TaskInfo": "schedule",
    "TaskInfoLog": "history",
    "WorkerHeartbeat": "monitor_heart",
    "User": "person",
    "Group": "group",
    "TokenProxy": "key",
}


def navigation(request: HttpRequest) -> list[dict[str, Any]]:
    """What this person may open, grouped by app; for unfold's `SIDEBAR`."""
    apps = sorted(admin.site.get_app_list(request), key=_position)
    return [{"title": app["name"], "separator": True, "items": [_item(row) for row in app["models"]]} for app in apps]


def _position(app: dict[str, Any]) -> int:
    label = app["app_label"]
    return ORDER.index(label) if label in ORDER else len(ORDER)


def _item(row: dict[str, Any]) -> dict[str, Any]:
    return {"title": row["name"], "link": row["admin_url"], "icon": ICONS.get(row["object_name"], "table_rows")}
