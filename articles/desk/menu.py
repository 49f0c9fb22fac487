"""Admin menus: the sidebar, and the account menu."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy as _, pgettext_lazy

from articles.desk.calendar.base import may_look
from articles.desk.notifications import unread_count
from articles.desk.review.proposed_changes import count_to_decide, may_see_changes
from articles.models import Article
from articles.permissions import may_see_system
from articles.review import each_at_own_stage
from scheduling.database import count_up_to, in_any

MOST_COUNTED = 100
"""Articles at which the badge of the review queue stops counting."""

GROUPS: list[tuple[str | Promise, list[str]]] = [
    ("", ["Notification"]),
    (_("Write"), ["Monitoring", "Article", "ArticleTemplate", "Image", "Tag"]),
    (_("Review"), ["QueuedArticle", "ProposedChange", "SensitiveWord", "ReviewPolicy"]),
    (_("Publish"), ["Calendar", "Front", "Release", "Alert", "Channel"]),
    (
        pgettext_lazy("group of the menu", "System"),
        ["System", "Endpoint", "TaskInfo", "TaskInfoLog", "WorkerHeartbeat"],
    ),
    (_("Users"), ["User", "Group", "ServiceAccount", "ApiToken", "AuditEntry"]),
]
"""Sidebar groups by model name; models in no group come last."""

ICONS = {
    "Alert": "campaign",
    "Article": "article",
    "ArticleTemplate": "draft",
    "AuditEntry": "policy",
    "Calendar": "calendar_month",
    "Channel": "category",
    "Endpoint": "webhook",
    "Front": "newspaper",
    "Image": "photo_library",
    "Monitoring": "view_kanban",
    "Notification": "notifications",
    "System": "health_and_safety",
    "Tag": "sell",
    "ProposedChange": "published_with_changes",
    "QueuedArticle": "rate_review",
    "Release": "package_2",
    "ReviewPolicy": "verified_user",
    "SensitiveWord": "shield",
    "TaskInfo": "schedule",
    "TaskInfoLog": "history",
    "WorkerHeartbeat": "monitor_heart",
    "User": "person",
    "Group": "group",
    "ApiToken": "key",
    "ServiceAccount": "smart_toy",
}


def queue_length(request: HttpRequest) -> int:
    """Number of articles that need review at a stage of the user, `MOST_COUNTED` at most."""
    waiting = Article.objects.new_needing_review(), Article.objects.updates_needing_review()
    first = (rows.values("pk")[:MOST_COUNTED] for rows in each_at_own_stage(waiting, request.user))
    return count_up_to(MOST_COUNTED, Article.objects.filter(pk__in=in_any(*first)))


COUNTS: dict[str, Callable[[HttpRequest], int]] = {
    "Notification": unread_count,
    "ProposedChange": count_to_decide,
    "QueuedArticle": queue_length,
}
"""Badges of menu items; hidden when 0, and "99+" from `MOST_COUNTED` on."""


def navigation(request: HttpRequest) -> list[dict[str, Any]]:
    """Sidebar items that the user may open; for unfold's `SIDEBAR`."""
    rows = _rows(request)
    groups = [_group(title, [rows.pop(name) for name in names if name in rows], request) for title, names in GROUPS]
    start = reverse("admin:index")
    groups[0]["items"].insert(0, _link(gettext("Dashboard"), start, "home") | {"active": request.path == start})
    groups[0]["items"].append(_link(gettext("View site"), reverse("home"), "open_in_new") | {"active": False})
    return [group for group in [*groups, _group(_("More"), list(rows.values()), request)] if group["items"]]


def screens(request: HttpRequest) -> Iterator[tuple[str, str, str]]:
    """Title, address and icon of the screens that the user may open."""
    yield gettext("Dashboard"), reverse("admin:index"), "home"
    for name, row in _rows(request).items():
        yield str(row["name"]), row["admin_url"], ICONS.get(name, "table_rows")
    yield gettext("View site"), reverse("home"), "open_in_new"


def _rows(request: HttpRequest) -> dict[str, dict[str, Any]]:
    """The screens by model name."""
    rows = {row["object_name"]: row for app in admin.site.get_app_list(request) for row in app["models"]}
    if may_look(request.user):
        rows["Monitoring"] = _row("Monitoring", gettext("Monitoring"), "desk_monitoring")
        rows["Calendar"] = _row("Calendar", gettext("Calendar"), "calendar")
    if may_see_changes(request.user):
        rows["ProposedChange"] = _row("ProposedChange", gettext("Proposed changes"), "desk_proposed_changes")
    if may_see_system(request.user):
        rows["System"] = _row("System", gettext("System status"), "desk_system")
    return {name: row for name, row in rows.items() if row["admin_url"]}


def _row(model: str, title: str, url: str) -> dict[str, Any]:
    return {"object_name": model, "name": title, "admin_url": reverse(url)}


def account(request: HttpRequest) -> list[dict[str, Any]]:
    """The account menu; for unfold's `ACCOUNT`."""
    links = [
        {"title": _("My settings"), "link": reverse("admin:articles_preferences_changelist")},
        {"title": _("Security"), "link": reverse("mfa_index")},
        {"title": _("My API tokens"), "link": reverse("admin:headline_api_apitoken_changelist")},
    ]
    if request.user.is_authenticated and request.user.has_usable_password():
        links.append({"title": _("Change password"), "link": reverse("admin:password_change")})
    return links


def language_action(request: HttpRequest) -> str:
    """URL of the language switch; it is stored for signed-in users."""
    return reverse("admin:articles_preferences_language" if request.user.is_staff else "set_language")


def shows_history(request: HttpRequest) -> bool:
    """Whether a page shows the history button; an admin without one sets `keeps_history = False`."""
    view = request.resolver_match.func if request.resolver_match else None
    return getattr(getattr(view, "model_admin", None), "keeps_history", True)


def _group(title: str | Promise, rows: list[dict[str, Any]], request: HttpRequest) -> dict[str, Any]:
    return {"title": title, "separator": bool(title), "items": [_item(row, request) for row in rows]}


def _link(title: str, address: str, icon: str) -> dict[str, Any]:
    return {"title": title, "link": address, "icon": icon}


def _item(row: dict[str, Any], request: HttpRequest) -> dict[str, Any]:
    name = row["object_name"]
    count = COUNTS[name](request) if name in COUNTS else 0
    badge = count if count < MOST_COUNTED else f"{MOST_COUNTED - 1}+"
    return _link(row["name"], row["admin_url"], ICONS.get(name, "table_rows")) | ({"badge": badge} if count else {})
