"""The list of articles: its columns, filters, search, views and what can be done with many at once."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin import ShowFacets
from django.db.models import Q, QuerySet
from django.db.models.expressions import Combinable
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display
from unfold.views import ChangeList

from articles.audit import allows
from articles.desk.articles.filters import FILTERS
from articles.desk.articles.saved_views import tabs
from articles.desk.bulk.action import BULK_ACTIONS
from articles.desk.bulk.screens import recent, title_of
from articles.desk.releases.members import add_to_release
from articles.desk.retry import RetriedScreens
from articles.desk.transitions import may_take, stage_of
from articles.models import AT_RISK_WITHIN, Article, named
from articles.releases import RIGHT
from articles.text import spoken_briefly
from articles.workflow import Transition
from scheduling.services import database_now

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
"""The colour of each status."""


class ArticleChangeList(ChangeList):
    """Reads no texts, and asks the database for its time."""

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        """The rows, with the instant at which they were read."""
        rows: QuerySet[Any] = super().get_queryset(request, exclude_parameters)
        texts = [f"update__{text}__{name}" for text in ("approved", "draft") for name in ("body", "summary")]
        rows = rows.defer("body", *texts).annotate(asked_at=database_now())
        return rows


class ArticleList(RetriedScreens):
    """Adds the list to the screens of articles."""

    nothing_yet = _("Write an article: it is a draft until you submit it.")
    actions = [*BULK_ACTIONS, add_to_release]
    list_display = ["headline", "badge", "goes_live", "channel", "writer", "changed"]
    list_filter = tuple(FILTERS)
    list_filter_submit = True
    list_before_template = "articles/desk/list_before.html"  # type: ignore[assignment]
    list_select_related = ["channel", "author", "update__approved", "update__draft"]
    list_per_page = 50
    show_facets = ShowFacets.NEVER
    show_full_result_count = False
    search_fields = ["title"]
    search_help_text = _("Headline, summary, byline, tag or number")
    ordering = ["-updated_at"]

    def get_ordering(self, request: HttpRequest) -> list[str | Combinable]:
        """What is to come by its time; all else by its last change."""
        is_to_come = request.GET.get("stage") == "scheduled" or "concern" in request.GET
        return ["publish_at", "pk"] if is_to_come else ["-updated_at"]

    def get_changelist(self, request: HttpRequest, **options: Any) -> Any:
        """The list that reads no texts."""
        return ArticleChangeList

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """With the saved views above it."""
        batch = recent(request)
        above = {**tabs(request), "recent_bulk_action": batch, "recent_title": batch and title_of(batch)}
        return super().changelist_view(request, {**above, **(extra_context or {})})

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """What deleting these takes along, as editors name it: the articles; their revisions go without saying."""
        _all, _counts, permissions, protected = super().get_deleted_objects(objs, request)
        titles = [str(article) for article in objs]
        return titles, {Article._meta.verbose_name_plural: len(titles)}, permissions, protected

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Articles in which each word occurs: in headline, summary, byline, author's name or a tag; or the number."""
        words = search_term.split()
        if len(words) == 1 and words[0].lstrip("#").isdecimal() and len(words[0]) < 19:
            return queryset.filter(_having(words[0]) | Q(pk=int(words[0].lstrip("#")))), False
        for word in words:
            queryset = queryset.filter(_having(word))
        return queryset, False

    @admin.display(description=_("headline"), ordering="title")
    def headline(self, article: Article) -> str | SafeString:
        """What readers see or will see; below it the headline that a newer text brings, if that is another."""
        pending_update = article.pending_update.headline if article.pending_update else article.title
        if pending_update == article.title:
            return article.title
        text = gettext("newer text: “%(title)s”") % {"title": pending_update}
        return format_html('{}<br><span class="desk-newer">{}</span>', article.title, text)

    @display(label={str(status.value): colour for status, colour in BADGES.items()})
    @admin.display(description=_("status"), ordering="status")
    def badge(self, article: Article) -> tuple[str, str]:
        """The status in its colour."""
        text = stage_of(article)
        return str(article.status), f"{text} +" if article.pending_update else text

    @admin.display(description=_("goes live"), ordering="publish_at", empty_value="—")
    def goes_live(self, article: Any) -> str | SafeString | None:
        """When it goes, or went, live, with the zone; marked if it will not, as it stands."""
        moment = article.published_at or article.goes_live_at
        if moment is None:
            return None
        if article.status not in Status.unapproved() or moment > article.asked_at + AT_RISK_WITHIN:
            return spoken_briefly(moment)
        mark = gettext("overdue") if moment <= article.asked_at else gettext("at risk")
        return format_html('{} <strong class="desk-mark">{}</strong>', spoken_briefly(moment), mark)

    @admin.display(description=_("author"), ordering="author__username")
    def writer(self, article: Article) -> str:
        """Who wrote it, by name."""
        return named(article.author)

    @admin.display(description=_("last change"), ordering="updated_at")
    def changed(self, article: Article) -> str:
        """When it was last saved."""
        return spoken_briefly(article.changed_at)

    def has_schedule_release_permission(self, request: HttpRequest) -> bool:
        """Who may put articles into releases."""
        return allows(RIGHT, request.user)

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Offer the steps in bulk that this person may take."""
        barred = {transition.value for transition in Transition if not may_take(transition, request.user)}
        return {name: action for name, action in super().get_actions(request).items() if name not in barred}


_NEWER = ("update__approved__title", "update__draft__title")


def _having(word: str) -> Q:
    tagged = Article.tags.through.objects.filter(tag__name__icontains=word).values("article")
    columns = ("title", "summary", "byline", "author__first_name", "author__last_name", "author__username", *_NEWER)
    found = Q(pk__in=tagged)
    for column in columns:
        found |= Q(**{f"{column}__icontains": word})
    return found
