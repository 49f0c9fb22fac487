"""The menus of the newsroom's screens: the news first, then the engine, then the people; and one's own."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

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
    items = {app["name"]: [_item(row, request) for row in app["models"]] for app in apps}
    return [{"title": name, "separator": True, "items": rows} for name, rows in items.items()]


def account(request: HttpRequest) -> list[dict[str, Any]]:
    """The menu of one's own name; for unfold's `ACCOUNT`."""
    links = [{"title": _("My settings"), "link": reverse("admin:articles_preferences_changelist")}]
    if request.user.is_authenticated and request.user.has_usable_password():
        links.append({"title": _("Change password"), "link": reverse("admin:password_change")})
    return links


def language_action(request: HttpRequest) -> str:
    """Where the choice of a language is sent: those who are signed in have it remembered."""
    return reverse("admin:articles_preferences_language" if request.user.is_staff else "set_language")


def _position(app: dict[str, Any]) -> int:
    label = app["app_label"]
    return ORDER.index(label) if label in ORDER else len(ORDER)


def _item(row: dict[str, Any], request: HttpRequest) -> dict[str, Any]:
    name = row["object_name"]
    item = {"title": row["name"], "link": row["admin_url"], "icon": ICONS.get(name, "table_rows")}
    count = COUNTS[name](request) if name in COUNTS else 0
    return item | ({"badge": count} if count else {})
