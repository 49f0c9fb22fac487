"""The review queue: articles that need review, oldest first, with their reviewer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib import admin, messages
from django.db.models import Count, F, QuerySet
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _, gettext_lazy, ngettext

from articles.desk.review.decision import DecidingScreen
from articles.desk.transitions import may_take
from articles.exceptions import ArticleError
from articles.models import Article, QueuedArticle, ReviewStage, named
from articles.publishing import release_soft_lock, soft_lock
from articles.review import at_own_stage, with_stage
from articles.text import format_time
from articles.workflow import Transition
from scheduling.database import read_database_clock

SINCE = Coalesce(F("update__updated_at"), F("updated_at"))
"""Time of the last change or submission."""
HEADLINE = Coalesce(F("update__draft__title"), F("title"))
"""Headline of the text to review."""


class ReviewStageFilter(admin.SimpleListFilter):
    """Articles at one's own review stage, which come first, at another, or all. The tabs above the list choose."""

    title = gettext_lazy("stage")
    parameter_name = "stage"
    template = "articles/desk/review/stage_filter.html"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        """Own stages, all, and each."""
        stages = ReviewStage.in_order()
        if len(stages) == 1:
            return []
        return [("mine", _("My stage")), ("all", _("All")), *((stage.kind, stage.label) for stage in stages)]

    def value(self) -> str | None:
        """What is chosen; by default one's own stages."""
        return super().value() or ("mine" if self.lookup_choices else None)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """The articles at the chosen stage."""
        chosen = self.value()
        if chosen == "mine":
            return at_own_stage(queryset, request.user)
        return queryset.filter(review_stage=chosen) if chosen in ReviewStage.Kind else queryset


@dataclass(frozen=True)
class StageTab:
    """A stage, with the number of articles that wait there."""

    key: str
    name: Any
    count: int
    is_open: bool


@admin.register(QueuedArticle)
class ReviewQueueAdmin(DecidingScreen):
    """The queue; a row links to the review page."""

    counted = gettext_lazy("articles to review")
    nothing_yet = gettext_lazy("No articles need review. Those that are submitted for review appear here.")
    list_display = ["headline", "why", "writer", "channel", "waiting_since", "reviewer"]
    list_filter = [ReviewStageFilter, "channel"]
    list_before_template = "articles/desk/review/stages_before.html"  # type: ignore[assignment]
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
        return with_stage(waiting, ReviewStage.in_order())

    def get_list_display(self, request: HttpRequest) -> Any:
        """With the stage, if there are several."""
        columns = list(self.list_display)
        return [*columns[:1], "stage", *columns[1:]] if ReviewStage.objects.count() > 1 else columns

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """With a tab for each stage, if there are several, and with what an empty list of the own stage says."""
        changelist: Any = super().get_changelist_instance(request)
        changelist.stage_tabs = tabs = self._tabs(request)
        counts = {tab.key: tab.count for tab in tabs}
        if counts.get("all") and any(tab.key == "mine" and tab.is_open for tab in tabs):
            changelist.nothing_found = _nothing_at_own_stage(counts["all"])
        return changelist

    def _tabs(self, request: HttpRequest) -> list[StageTab]:
        found = ReviewStageFilter(request, request.GET.dict(), self.model, self)  # type: ignore[arg-type]
        if not found.lookup_choices:
            return []
        waiting = self.get_queryset(request)
        counts = dict(waiting.order_by().values_list("review_stage").annotate(number=Count("pk")))
        counts |= {"all": sum(counts.values()), "mine": at_own_stage(waiting, request.user).count()}
        return [StageTab(key, name, counts.get(key, 0), found.value() == key) for key, name in found.lookup_choices]

    @admin.display(description=gettext_lazy("stage"))
    def stage(self, article: QueuedArticle) -> str:
        """The review stage that it waits at."""
        kind = article.review_stage  # type: ignore[attr-defined]
        return next(str(stage.label) for stage in ReviewStage.in_order() if stage.kind == kind)

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

    @admin.display(description=gettext_lazy("reviewer"), ordering="soft_lock__user")
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


def _nothing_at_own_stage(others: int) -> tuple[str, str]:
    text = ngettext(
        "%d article waits for other reviewers. It is under “All”.",
        "%d articles wait for other reviewers. They are under “All”.",
        others,
    )
    return _("Nothing waits for your decision"), text % others
