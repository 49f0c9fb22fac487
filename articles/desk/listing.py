"""The list of articles: its columns, filters, search and what can be done with many at once."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.decorators import display

from articles.desk.bulk import BULK_ACTIONS
from articles.desk.steps import may_take
from articles.models import Article
from articles.times import spoken, spoken_exactly
from articles.workflow import Step

Status = Article.Status

BADGES = {
    Status.DRAFT: "default",
    Status.SUBMITTED: "info",
    Status.REJECTED: "danger",
    Status.MANUAL_REVIEW: "warning",
    Status.MANUALLY_APPROVED: "primary",
    Status.APPROVED: "primary",
    Status.PUBLISHED: "success",
    Status.WITHDRAWN: "default",
    Status.KILLED: "danger",
}
"""The colour of each status."""


class ArticleList(ModelAdmin):
    """Adds the list to the screens of articles."""

    actions = BULK_ACTIONS
    list_display = ["title", "badge", "goes_live", "channel", "author", "changed"]
    list_filter = ["status", "channel", ("publish_at", admin.DateFieldListFilter), "author"]
    list_select_related = ["channel", "author", "update"]
    list_per_page = 50
    show_full_result_count = False
    search_fields = ["title", "summary", "byline"]
    search_help_text = _("Headline, summary or byline")
    ordering = ["-updated_at"]

    @display(label={str(status.value): colour for status, colour in BADGES.items()})
    @admin.display(description=_("status"), ordering="status")
    def badge(self, article: Article) -> tuple[str, str]:
        """The status in its colour."""
        text = article.get_status_display()
        return str(article.status), f"{text} +" if article.newer else text

    @admin.display(description=_("goes live"), ordering="publish_at", empty_value="—")
    def goes_live(self, article: Article) -> str | None:
        """When it goes, or went, live, with the zone."""
        moment = article.published_at or article.goes_live_at
        return spoken_exactly(moment) if moment else None

    @admin.display(description=_("last change"), ordering="updated_at")
    def changed(self, article: Article) -> str:
        """When it was last saved."""
        return spoken(article.updated_at)

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Offer the steps in bulk that this person may take."""
        barred = {step.value for step in Step if not may_take(step, request.user)}
        return {name: action for name, action in super().get_actions(request).items() if name not in barred}
