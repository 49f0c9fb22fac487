"""Read-only admin of the audit log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import admin
from django.contrib.auth import get_user_model
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from articles.audit import (
    ADD_GROUP,
    ADD_NOTE,
    ADD_SECOND_FACTOR,
    ADD_TOKEN,
    ADD_USER,
    ADD_WORDS,
    ASSIGN,
    CHANGE_GROUP,
    CHANGE_PASSWORD,
    CHANGE_USER,
    CHANGE_WORDS,
    CREATE,
    DELETE,
    DELETE_GROUP,
    DELETE_NOTE,
    DELETE_USER,
    DELETE_WORDS,
    EDIT,
    EDIT_NOTE,
    END_SESSIONS,
    IMPORT,
    INVITE_USER,
    KEEP_BYLINE,
    LINK_IDENTITY,
    LOCKED_OUT,
    LOG_IN_FAILED,
    LOGGED_IN,
    NEW_RECOVERY_CODES,
    PASSED_STAGE,
    PUBLISHED,
    PULLED_BACK,
    REMOVE_SECOND_FACTOR,
    REOPEN_NOTE,
    REPLY,
    RESOLVE_NOTE,
    REVIEWED,
    REVOKE_TOKEN,
    SAVE,
    SIGN_IN_LINK,
    UNDONE,
    UNLINK_IDENTITY,
    UNPUBLISHED,
    UPDATED,
)
from articles.desk.audit.details import details_of
from articles.desk.audit.instants import delay_of, seen_at, seen_before, who_of
from articles.desk.bounded import BoundedAdmin, first_words
from articles.images import CHANGE_IMAGE, DELETE_IMAGE, UPLOAD
from articles.models import Article, AuditEntry, Release
from articles.publishing import DELETE_TAG, LINK, RENAME_TAG, UNLINK
from articles.releases import CREATED, JOINED, LEFT, RELEASED, TAKEN_BACK
from articles.releases import FAILED as RELEASE_FAILED
from articles.review import APPROVE_CHANGE, CHANGE_POLICY, CHANGE_STAGES, PROPOSE_CHANGE, REJECT_CHANGE
from articles.text import format_time_briefly, format_time_exactly
from articles.workflow import RELEASE_TRANSITIONS, TRANSITIONS, ReleaseTransition, Transition

NAMES: Mapping[str, str | Promise] = {
    CREATE: _("Created"),
    EDIT: _("Edited"),
    SAVE: _("Saved by the system"),
    DELETE: _("Deleted"),
    IMPORT: _("Imported"),
    PUBLISHED: _("Went live"),
    UNPUBLISHED: _("Unpublished on schedule"),
    UPDATED: _("Update published"),
    REVIEWED: _("Automatic review"),
    PASSED_STAGE: _("Review stage passed"),
    PULLED_BACK: _("Approval revoked"),
    UNDONE: _("Undone"),
    LINK: _("Preview link created"),
    UNLINK: _("Preview link revoked"),
    UPLOAD: _("Image uploaded"),
    CHANGE_IMAGE: _("Image changed"),
    DELETE_IMAGE: _("Image deleted"),
    ADD_WORDS: _("Sensitive words added"),
    CHANGE_WORDS: _("Sensitive words changed"),
    DELETE_WORDS: _("Sensitive words deleted"),
    LOGGED_IN: _("Logged in"),
    LOG_IN_FAILED: _("Log-in failed"),
    LOCKED_OUT: _("Log-in locked"),
    SIGN_IN_LINK: _("One-time sign-in link created"),
    END_SESSIONS: _("Sessions ended"),
    ADD_SECOND_FACTOR: _("Second factor added"),
    REMOVE_SECOND_FACTOR: _("Second factor removed"),
    NEW_RECOVERY_CODES: _("Recovery codes created"),
    LINK_IDENTITY: _("Single sign-on linked"),
    UNLINK_IDENTITY: _("Single sign-on unlinked"),
    ADD_USER: _("User added"),
    INVITE_USER: _("Invitation sent"),
    CHANGE_USER: _("User changed"),
    DELETE_USER: _("User deleted"),
    CHANGE_PASSWORD: _("Password changed"),
    ADD_GROUP: _("Group added"),
    CHANGE_GROUP: _("Group changed"),
    DELETE_GROUP: _("Group deleted"),
    ADD_TOKEN: _("API token added"),
    REVOKE_TOKEN: _("API token revoked"),
    CHANGE_POLICY: _("Review policy changed"),
    ADD_NOTE: _("Note added"),
    REPLY: _("Reply to a note"),
    EDIT_NOTE: _("Note edited"),
    DELETE_NOTE: _("Note deleted"),
    RESOLVE_NOTE: _("Note resolved"),
    REOPEN_NOTE: _("Note reopened"),
    ASSIGN: _("Assigned"),
    KEEP_BYLINE: _("Author’s name kept as byline"),
    CHANGE_STAGES: _("Review stages changed"),
    PROPOSE_CHANGE: _("Change proposed"),
    APPROVE_CHANGE: _("Proposed change approved"),
    REJECT_CHANGE: _("Proposed change rejected"),
    RENAME_TAG: _("Tag renamed"),
    DELETE_TAG: _("Tag deleted"),
    **{transition.value: TRANSITIONS[transition].label for transition in Transition},
    CREATED: _("Release created"),
    JOINED: _("Added to a release"),
    LEFT: _("Removed from a release"),
    RELEASED: _("Release published"),
    RELEASE_FAILED: _("Release failed"),
    TAKEN_BACK: _("Rolled back with its release"),
    **{transition.value: RELEASE_TRANSITIONS[transition].label for transition in ReleaseTransition},
}
"""Display names of audit actions."""

SHOWN = 20
"""Entries shown below an article's form."""


def name_of(action: str) -> str:
    """The display name of an action, or its stored name."""
    return str(NAMES.get(action, action))


def history(subject: Article | Release) -> list[dict[str, str]]:
    """The latest entries about an article or release, for templates."""
    objects = AuditEntry.objects
    entries = objects.of(subject) if isinstance(subject, Article) else objects.of_release(subject)
    return [
        {
            "about": entry.article_title,
            "when": format_time_exactly(seen_at(entry)),
            "name": name_of(entry.action),
            "who": who_of(entry),
            "change": " · ".join((*entry.differences(), *delay_of(entry))),
            "reason": entry.reason,
        }
        for entry in entries.with_names()[:SHOWN]
    ]


class ActionFilter(admin.SimpleListFilter):
    """Filter by action."""

    title = _("action")
    parameter_name = "action"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(action, str(name)) for action, name in NAMES.items()]

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
        return name_of(entry.action)

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
