"""The sidebar of the newsroom's screens: the news first, then the engine, then the people."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from articles.desk.calendar.screens import may_look
from articles.desk.notices import unread_count

ORDER = ["articles", "scheduling", "auth"]
ICONS = {
    "Article": "article",
    "AuditEntry": "policy",
    "Channel": "category",
    "Notice": "notifications",
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

COUNTS = {"Notice": unread_count}
"""What stands beside a name, unless it is 0."""


def navigation(request: HttpRequest) -> list[dict[str, Any]]:
    """What this person may open, grouped by app; for unfold's `SIDEBAR`."""
    apps = sorted(admin.site.get_app_list(request), key=_position)
    items = {app["name"]: [*_links(app, request), *(_item(row, request) for row in app["models"])] for app in apps}
    return [{"title": name, "separator": True, "items": rows} for name, rows in items.items()]


def _position(app: dict[str, Any]) -> int:
    label = app["app_label"]
    return ORDER.index(label) if label in ORDER else len(ORDER)


def _links(app: dict[str, Any], request: HttpRequest) -> list[dict[str, Any]]:
    """What an app has beside its models."""
    if app["app_label"] != "articles" or not may_look(request.user):
        return []
    return [{"title": _("Calendar"), "link": reverse("calendar"), "icon": "calendar_month"}]


def _item(row: dict[str, Any], request: HttpRequest) -> dict[str, Any]:
    name = row["object_name"]
    item = {"title": row["name"], "link": row["admin_url"], "icon": ICONS.get(name, "table_rows")}
    count = COUNTS[name](request) if name in COUNTS else 0
    return item | ({"badge": count} if count else {})
