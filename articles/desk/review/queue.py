"""The review queue: what waits for a reviewer, the longest first, and who is on it."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import F, Q, QuerySet
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
from articles.text import spoken
from articles.workflow import Transition
from scheduling.services import read_database_clock

Status = Article.Status

SINCE = Coalesce(F("update__updated_at"), F("updated_at"))
"""When a waiting text was last changed or handed in."""
HEADLINE = Coalesce(F("update__draft__title"), F("title"))
"""That of the text to be decided."""


@admin.register(QueuedArticle)
class ReviewQueueAdmin(DecidingScreen):
    """The list; a row leads to the screen on which a reviewer reads the text and decides."""

    counted = gettext_lazy("articles for review")
    list_display = ["headline", "why", "writer", "channel", "waiting_since", "reviewer"]
    list_filter = ["channel"]
    search_fields = ["title", "update__draft__title"]
    ordering = [SINCE.asc(), "pk"]
    list_per_page = 50
    show_full_result_count = False
    search_help_text = gettext_lazy("A word of the headline")
    list_select_related = ["author", "channel", "soft_lock__user", "update"]
    actions = ["claim", "unclaim"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """What needs a reviewer: articles, and the newer texts of articles; with its headline and when it came in."""
        pending_update = Q(update__draft__isnull=False, update__status=Status.MANUAL_REVIEW)
        own = Q(status=Status.MANUAL_REVIEW)
        articles: QuerySet[Any] = super().get_queryset(request)
        waiting: QuerySet[Any] = (
            articles.filter(own | pending_update).defer("body").annotate(since=SINCE, headline=HEADLINE)
        )
        return waiting

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Articles come here by themselves."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """They leave by a decision."""
        return False

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """For reviewers."""
        return may_take(Transition.APPROVE, request.user)

    has_change_permission = has_view_permission
    has_module_permission = has_view_permission

    @admin.display(description=gettext_lazy("headline"), ordering="headline")
    def headline(self, article: QueuedArticle) -> str:
        """What the text is called now."""
        return str(article.headline)  # type: ignore[attr-defined]

    @admin.display(description=gettext_lazy("why"))
    def why(self, article: QueuedArticle) -> str:
        """What the automatic review says."""
        pending_update = article.pending_update
        reason = pending_update.status_reason if pending_update and pending_update.draft_id else article.status_reason
        return reason or _("A person decides.")

    @admin.display(description=gettext_lazy("author"), ordering="author__username")
    def writer(self, article: QueuedArticle) -> str:
        """Who wrote it, by name."""
        return named(article.author)

    @admin.display(description=gettext_lazy("waiting since"), ordering="since")
    def waiting_since(self, article: QueuedArticle) -> str:
        """When its text was last changed or handed in."""
        return spoken(article.since)  # type: ignore[attr-defined]

    @admin.display(description=gettext_lazy("reviewer"), ordering="soft_lock__user", empty_value="—")
    def reviewer(self, article: QueuedArticle) -> str | None:
        """Who is on it."""
        found = getattr(article, "soft_lock", None)
        return named(found.user) if found and found.counts_at(read_database_clock()) else None

    @admin.action(description=gettext_lazy("Claim"))
    def claim(self, request: HttpRequest, chosen: QuerySet[Any]) -> HttpResponse | None:
        """Take the chosen articles; a single one is opened."""
        done = self._for_each(request, chosen, soft_lock)
        if len(done) == 1:
            return redirect("admin:articles_queuedarticle_change", done[0].pk)
        return None

    @admin.action(description=gettext_lazy("Unclaim"))
    def unclaim(self, request: HttpRequest, chosen: QuerySet[Any]) -> None:
        """Let others have the chosen articles."""
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
            text = ngettext("Done with %d article.", "Done with %d articles.", len(done)) % len(done)
            self.message_user(request, text, messages.SUCCESS)
        return done
