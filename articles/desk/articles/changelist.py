"""The article list: columns, filters, search, saved views and bulk actions."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from typing import Any

from django.contrib import admin
from django.contrib.admin import ShowFacets
from django.db.models import QuerySet
from django.db.models.expressions import Combinable
from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext, gettext_lazy as _
from unfold.decorators import display

from articles.desk.articles.duplicate import DuplicateScreens
from articles.desk.articles.filters import DAYS, FILTERS
from articles.desk.articles.saved_views import plain_query, tabs
from articles.desk.articles.search import matching
from articles.desk.articles.templates import StartFromTemplate
from articles.desk.bounded import BoundedAdmin, RetriedScreens
from articles.desk.bulk.action import BULK_ACTIONS
from articles.desk.bulk.screens import recent, title_of
from articles.desk.fronts.column import PutOnFront
from articles.desk.releases.members import add_to_release
from articles.desk.transitions import may_take
from articles.models import AT_RISK_WITHIN, Article, ReaderState, State, named, state_at, with_releases
from articles.permissions import allows
from articles.releases import RIGHT
from articles.text import format_time_briefly
from articles.workflow import Transition
from scheduling.database import database_now

Status = Article.Status

BADGES = {
    Status.DRAFT: "default",
    Status.SUBMITTED: "info",
    Status.REJECTED: "danger",
    Status.MANUAL_REVIEW: "warning",
    Status.MANUALLY_APPROVED: "primary",
    Status.APPROVED: "primary",
    Status.PUBLISHED: "success",
    Status.UNPUBLISHED: "default",
    Status.RETRACTED: "danger",
}
"""Badge colour by status."""


EMPTY_VIEWS: Mapping[str, tuple[str | Promise, str | Promise]] = {
    "whose=mine": (_("You have no articles yet"), _("Write one. It stays a draft until you submit it for review.")),
    "stage=draft": (_("No drafts"), _("A new article stays a draft until it is submitted for review.")),
    "stage=review": (_("Nothing to review"), _("Articles come here when they are submitted.")),
    "stage=ready": (_("All approved articles have a time"), _("Approved articles without a time come here.")),
    "stage=scheduled": (_("Nothing is scheduled"), _("Approve an article and give it a time.")),
    "concern=at_risk": (
        _("Nothing is at risk"),
        _("Articles that go live within 24 hours and are not approved come here."),
    ),
    "concern=overdue": (_("Nothing is overdue"), _("Articles that have missed their time come here.")),
}
"""What an empty view says, by its query: a heading and a sentence."""


class ArticleList(PutOnFront, DuplicateScreens, StartFromTemplate, RetriedScreens, BoundedAdmin):  # type: ignore[misc]
    """Mixin with the article list."""

    answers_refusals = True
    names_related = False
    nothing_yet = _("Write an article. It stays a draft until you submit it for review.")
    actions = [*BULK_ACTIONS, add_to_release]
    list_display = ["headline", "badge", "goes_live", "channel", "writer", "assigned", "changed"]
    list_filter = tuple(FILTERS)
    list_filter_submit = True
    list_before_template = "articles/desk/list_before.html"  # type: ignore[assignment]
    list_select_related = ["channel", "author", "owner", "update__approved", "update__draft"]
    list_per_page = 50
    show_facets = ShowFacets.NEVER
    indexed_orders = ("updated_at", "goes_live_at")
    search_fields = ["title"]
    search_help_text = _("Headline, text, author, tag or number")
    ordering = ["-updated_at"]

    def get_ordering(self, request: HttpRequest) -> list[str | Combinable]:
        """Upcoming articles by time, all others by last change."""
        is_to_come = request.GET.get("stage") == "scheduled" or "concern" in request.GET
        return ["goes_live_at", "pk"] if is_to_come else ["-updated_at"]

    def heads(self, request: HttpRequest, rows: QuerySet[Any], order: str) -> list[QuerySet[Any]]:
        """Also of scheduled articles and days, for which the database would walk all published ones."""
        if request.GET.get("stage") == "scheduled":
            return [rows.filter(status=status).order_by("goes_live_at", "pk") for status in Status.waiting()]
        if order != "goes_live_at" and not DAYS.isdisjoint(request.GET):
            return [rows.order_by("-goes_live_at", "-pk")]
        return super().heads(request, rows, order)

    def whole(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        """Without texts, and with the time at which they were read."""
        texts = [f"update__{text}__{name}" for text in ("approved", "draft") for name in ("body", "summary")]
        shown: QuerySet[Any] = with_releases(rows).defer("body", *texts).annotate(asked_at=database_now())  # type: ignore[arg-type]
        return shown

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """With what an empty view says, if it is one of `EMPTY_VIEWS`."""
        changelist = super().get_changelist_instance(request)
        changelist.nothing_found = EMPTY_VIEWS.get(plain_query(request.GET))  # type: ignore[attr-defined]
        return changelist

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """The list with its saved views."""
        batch = recent(request)
        above = {**tabs(request), "recent_bulk_action": batch, "recent_title": batch and title_of(batch)}
        return super().changelist_view(request, {**above, **(extra_context or {})})

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """See `matching`."""
        if not search_term.split():
            return queryset, False
        return queryset.filter(pk__in=matching(search_term, queryset)), False

    @admin.display(description=_("headline"), ordering="title")
    def headline(self, article: Article) -> str | SafeString:
        """The headline, and below it that of a pending update if it differs."""
        pending_update = article.pending_update.headline if article.pending_update else article.title
        if pending_update == article.title:
            return article.title
        text = gettext("pending update: “%(title)s”") % {"title": pending_update}
        return format_html('{}<br><span class="desk-newer">{}</span>', article.title, text)

    @display(label={str(status.value): colour for status, colour in BADGES.items()})
    @admin.display(description=_("status"), ordering="status")
    def badge(self, article: Article) -> tuple[str, str]:
        """The status with its colour."""
        found = _state_of(article)
        return str(found.status.value), f"{found.label} +" if article.pending_update else found.label

    @admin.display(description=_("goes live"), ordering="goes_live_at")
    def goes_live(self, article: Any) -> str | SafeString | None:
        """From when readers see it, with its zone; marked if it is overdue or at risk."""
        found = _state_of(article)
        if found.since is None:
            return None
        shown = format_time_briefly(found.since)
        if found.release:
            shown = gettext("%(time)s with “%(release)s”") % {"time": shown, "release": found.release}
        is_at_risk = found.state is State.WAITING and found.since <= article.asked_at + AT_RISK_WITHIN
        mark = gettext("overdue") if found.state is State.OVERDUE else gettext("at risk") if is_at_risk else ""
        return format_html('{} <strong class="desk-mark">{}</strong>', shown, mark) if mark else shown

    @admin.display(description=_("author"), ordering="author__username")
    def writer(self, article: Article) -> str:
        """The author's display name."""
        return named(article.author)

    @admin.display(description=_("owner"))
    def assigned(self, article: Any) -> str | SafeString | None:
        """The owner's display name, and below it the due time, marked if it is past."""
        lines = [named(article.owner)] if article.owner else []
        if article.due_at:
            lines.append(gettext("due %(time)s") % {"time": format_time_briefly(article.due_at)})
        shown = format_html_join(mark_safe("<br>"), "{}", ((line,) for line in lines))
        if not article.is_late_at(article.asked_at):
            return shown or None
        return format_html('{} <strong class="desk-mark">{}</strong>', shown, gettext("overdue"))

    @admin.display(description=_("last modified"), ordering="updated_at")
    def changed(self, article: Article) -> str:
        """Time of the last change."""
        return format_time_briefly(article.changed_at)

    def has_schedule_release_permission(self, request: HttpRequest) -> bool:
        """Whether the user may add articles to releases."""
        return allows(RIGHT, request.user)

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """The bulk actions that the user may run."""
        barred = {transition.value for transition in Transition if not may_take(transition, request.user)}
        return {name: action for name, action in super().get_actions(request).items() if name not in barred}


def _state_of(article: Any) -> ReaderState:
    """Its state when the list was read, computed once for a row."""
    if "shown_state" not in article.__dict__:
        article.__dict__["shown_state"] = state_at(article, article.asked_at.replace(tzinfo=UTC))
    found: ReaderState = article.__dict__["shown_state"]
    return found
