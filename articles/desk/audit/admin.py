"""Read-only admin of the audit log."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.auth import get_user_model
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy as _

from articles.audit import ACTION_LABELS, label_of
from articles.desk.audit.details import details_of
from articles.desk.audit.instants import delay_of, seen_at, seen_before, who_of
from articles.desk.bounded import BoundedAdmin, first_words
from articles.models import Article, AuditEntry, Release
from articles.text import format_time_briefly, format_time_exactly

HISTORY_LENGTH = 20
"""Entries shown below an article's form."""


def history(subject: Article | Release) -> list[dict[str, str]]:
    """The latest entries about an article or release, for templates."""
    objects = AuditEntry.objects
    entries = objects.of(subject) if isinstance(subject, Article) else objects.of_release(subject)
    return [
        {
            "about": entry.article_title,
            "when": format_time_exactly(seen_at(entry)),
            "name": label_of(entry.action),
            "who": who_of(entry),
            "change": " · ".join((*entry.differences(), *delay_of(entry))),
            "reason": entry.reason,
        }
        for entry in entries.with_names()[:HISTORY_LENGTH]
    ]


class ActionFilter(admin.SimpleListFilter):
    """Filter by action."""

    title = _("action")
    parameter_name = "action"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(action, str(name)) for action, name in ACTION_LABELS.items()]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        return queryset.filter(action=self.value()) if self.value() else queryset


@admin.register(AuditEntry)
class AuditAdmin(BoundedAdmin):
    """The audit log, latest first; `article_id__exact`, `release_id__exact` and `user_id__exact` filter it."""

    keeps_history = False  # it is the history
    counted = _("audit entries")
    fields = [
        "moment", "deed", "user", "source", "article_title", "release_name", "change", "reason", "revision", "more",
    ]  # fmt: skip
    readonly_fields = ["moment", "deed", "user", "change", "more"]
    list_display = ["moment", "deed", "article_title", "release_name", "user", "source", "change", "reason"]
    list_display_links = ["moment"]
    list_filter = ["source", ActionFilter, ("at", admin.DateFieldListFilter)]
    list_per_page = 50
    ordering = ["-id"]
    indexed_orders = ("id", "at")
    search_fields = ["article_title", "release_name", "user_name"]
    search_help_text = _("Headline, release or user")

    @admin.display(description=_("time"), ordering="at")
    def moment(self, entry: AuditEntry) -> str:
        """Time with UTC offset."""
        return format_time_briefly(entry.at)

    @admin.display(description=_("action"), ordering="action")
    def deed(self, entry: AuditEntry) -> str:
        """The action."""
        return label_of(entry.action)

    @admin.display(description=_("user"), ordering="user_name")
    def user(self, entry: AuditEntry) -> str | None:
        """The user, or "System"."""
        return entry.who if entry.user_name else None

    def get_queryset(self, request: HttpRequest) -> QuerySet[AuditEntry]:
        """With display names of users."""
        entries: Any = super().get_queryset(request)
        rows: QuerySet[AuditEntry] = entries.with_names()
        return rows

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[AuditEntry], search_term: str
    ) -> tuple[QuerySet[AuditEntry], bool]:
        """Search by stored and by current names."""
        found, _may_repeat = super().get_search_results(request, queryset, search_term)
        words = first_words(search_term).split()
        users = get_user_model()._default_manager.all()
        for word in words:
            users = users.filter(Q(first_name__icontains=word) | Q(last_name__icontains=word))
        ids = list(users.values_list("pk", flat=True)) if words else []
        return (found | queryset.filter(user_id__in=ids) if ids else found), False

    @admin.display(description=_("change"))
    def change(self, entry: AuditEntry) -> str | None:
        """Status, time or text before and after, where they differ."""
        return " · ".join((*entry.differences(), *seen_before(entry))) or None

    @admin.display(description=_("more"))
    def more(self, entry: AuditEntry) -> str | None:
        """Other details of the entry."""
        return format_html_join(SafeString("<br>"), gettext("{}: {}"), details_of(entry))

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Allow links that filter by article, release or user."""
        narrowing = {"article_id__exact", "release_id__exact", "user_id__exact"}
        return lookup in narrowing or super().lookup_allowed(lookup, value, request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: AuditEntry | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: AuditEntry | None = None) -> bool:
        return False
