"""The review queue: articles that need review, oldest first, with their reviewer."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import F, QuerySet
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from articles.desk.review.decision import DecidingScreen
from articles.desk.transitions import may_take
from articles.exceptions import ArticleError
from articles.models import Article, QueuedArticle, named
from articles.publishing import release_soft_lock, soft_lock
from articles.text import format_time
from articles.workflow import Transition
from scheduling.services import read_database_clock

SINCE = Coalesce(F("update__updated_at"), F("updated_at"))
"""Time of the last change or submission."""
HEADLINE = Coalesce(F("update__draft__title"), F("title"))
"""Headline of the text to review."""


@admin.register(QueuedArticle)
class ReviewQueueAdmin(DecidingScreen):
    """The queue; a row links to the review page."""

    counted = gettext_lazy("articles to review")
    nothing_yet = gettext_lazy("No articles need review. Those that are submitted for review appear here.")
    list_display = ["headline", "why", "writer", "channel", "waiting_since", "reviewer"]
    list_filter = ["channel"]
    search_fields = ["title", "update__draft__title"]
    ordering = [SINCE.asc(), "pk"]
    list_per_page = 50
    show_full_result_count = False
    search_help_text = gettext_lazy("Search headlines")
    list_select_related = ["author", "channel", "soft_lock__user", "update"]
    actions = ["claim", "unclaim"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Articles and updates that need review, with headline and time."""
        articles: Any = super().get_queryset(request)
        waiting: QuerySet[Any] = articles.needing_review().defer("body").annotate(since=SINCE, headline=HEADLINE)
        return waiting

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """For reviewers."""
        return may_take(Transition.APPROVE, request.user)

    has_change_permission = has_view_permission
    has_module_permission = has_view_permission

    @admin.display(description=gettext_lazy("headline"), ordering="headline")
    def headline(self, article: QueuedArticle) -> str:
        """The current headline."""
        return str(article.headline)  # type: ignore[attr-defined]

    @admin.display(description=gettext_lazy("reason"))
    def why(self, article: QueuedArticle) -> str:
        """Result of the automatic review."""
        pending_update = article.pending_update
        reason = pending_update.status_reason if pending_update and pending_update.draft_id else article.status_reason
        return reason or _("Needs human review.")

    @admin.display(description=gettext_lazy("author"), ordering="author__username")
    def writer(self, article: QueuedArticle) -> str:
        """The author's display name."""
        return named(article.author)

    @admin.display(description=gettext_lazy("waiting since"), ordering="since")
    def waiting_since(self, article: QueuedArticle) -> str:
        """Time of the last change or submission."""
        return format_time(article.since)  # type: ignore[attr-defined]

    @admin.display(description=gettext_lazy("reviewer"), ordering="soft_lock__user", empty_value="—")
    def reviewer(self, article: QueuedArticle) -> str | None:
        """The reviewer who claimed it."""
        found = getattr(article, "soft_lock", None)
        return named(found.user) if found and found.counts_at(read_database_clock()) else None

    @admin.action(description=gettext_lazy("Claim"))
    def claim(self, request: HttpRequest, chosen: QuerySet[Any]) -> HttpResponse | None:
        """Claim the selected articles; a single one is opened."""
        done = self._for_each(request, chosen, soft_lock)
        if len(done) == 1:
            return redirect("admin:articles_queuedarticle_change", done[0].pk)
        return None

    @admin.action(description=gettext_lazy("Unclaim"))
    def unclaim(self, request: HttpRequest, chosen: QuerySet[Any]) -> None:
        """Unclaim the selected articles."""
        self._for_each(request, chosen, release_soft_lock)

    def _for_each(self, request: HttpRequest, chosen: QuerySet[Any], act: Any) -> list[Article]:
        done = []
        for article in Article.objects.filter(pk__in=chosen.values("pk")).order_by("pk"):
            try:
                act(article, by=request.user)
                done.append(article)
            except ArticleError as refusal:
                self.message_user(request, f"{article}: {refusal}", messages.WARNING)
        if done:
            text = ngettext("%d article updated", "%d articles updated", len(done)) % len(done)
            self.message_user(request, text, messages.SUCCESS)
        return done
