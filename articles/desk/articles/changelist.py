"""The article list: columns, filters, search, saved views and bulk actions."""

from __future__ import annotations

from functools import reduce
from operator import and_
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

from articles.desk.articles.filters import DAYS, FILTERS
from articles.desk.articles.saved_views import tabs
from articles.desk.bounded import MOST, BoundedAdmin
from articles.desk.bulk.action import BULK_ACTIONS
from articles.desk.bulk.screens import recent, title_of
from articles.desk.releases.members import add_to_release
from articles.desk.retry import RetriedScreens
from articles.desk.transitions import may_take, stage_of
from articles.models import AT_RISK_WITHIN, LINES, Article, in_any, named
from articles.permissions import allows
from articles.releases import RIGHT
from articles.search import find_headlines
from articles.text import format_time_briefly
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
"""Badge colour by status."""


SEARCHED = 20_000
"""Articles in which each search looks for any part of a word."""


class ArticleList(RetriedScreens, BoundedAdmin):  # type: ignore[misc]
    """Mixin with the article list."""

    nothing_yet = _("Write an article. It stays a draft until you submit it for review.")
    actions = [*BULK_ACTIONS, add_to_release]
    list_display = ["headline", "badge", "goes_live", "channel", "writer", "assigned", "changed"]
    list_filter = tuple(FILTERS)
    list_filter_submit = True
    list_before_template = "articles/desk/list_before.html"  # type: ignore[assignment]
    list_select_related = ["channel", "author", "owner", "update__approved", "update__draft"]
    list_per_page = 50
    show_facets = ShowFacets.NEVER
    indexed_orders = ("updated_at", "publish_at")
    search_fields = ["title"]
    search_help_text = _("Headline, summary, byline, tag or number")
    ordering = ["-updated_at"]

    def get_ordering(self, request: HttpRequest) -> list[str | Combinable]:
        """Upcoming articles by time, all others by last change."""
        is_to_come = request.GET.get("stage") == "scheduled" or "concern" in request.GET
        return ["publish_at", "pk"] if is_to_come else ["-updated_at"]

    def heads(self, request: HttpRequest, rows: QuerySet[Any], order: str) -> list[QuerySet[Any]]:
        """Also of scheduled articles and days, for which the database would walk all published ones."""
        if request.GET.get("stage") == "scheduled":
            return [rows.filter(status=status).order_by("publish_at", "pk") for status in Status.waiting()]
        if order != "publish_at" and not DAYS.isdisjoint(request.GET):
            return [rows.order_by("-publish_at", "-pk")]
        return super().heads(request, rows, order)

    def whole(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        """Without texts, and with the time at which they were read."""
        texts = [f"update__{text}__{name}" for text in ("approved", "draft") for name in ("body", "summary")]
        shown: QuerySet[Any] = rows.defer("body", *texts).annotate(asked_at=database_now())
        return shown

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """The list with its saved views."""
        batch = recent(request)
        above = {**tabs(request), "recent_bulk_action": batch, "recent_title": batch and title_of(batch)}
        return super().changelist_view(request, {**above, **(extra_context or {})})

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Related objects shown on deletion: the articles only."""
        _all, _counts, permissions, protected = super().get_deleted_objects(objs, request)
        titles = [str(article) for article in objs]
        return titles, {Article._meta.verbose_name_plural: len(titles)}, permissions, protected

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Articles that contain each word in headline, summary, byline, author name or a tag, or have this ID.

        Of more than `SEARCHED`, the most recently changed are read; others are found by the words of their headlines.
        """
        words = search_term.split()
        if not words:
            return queryset, False
        latest = queryset.order_by("-updated_at", "-pk").values("pk")[:SEARCHED]
        read = Article.objects.filter(reduce(and_, map(_having, words)), pk__in=in_any(latest)).values("pk")
        found = in_any(read, find_headlines(search_term, limit=MOST), _numbered(words))
        return queryset.filter(pk__in=found), False

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
        text = stage_of(article)
        return str(article.status), f"{text} +" if article.pending_update else text

    @admin.display(description=_("goes live"), ordering="publish_at", empty_value="—")
    def goes_live(self, article: Any) -> str | SafeString | None:
        """Publish time with its zone, marked if the article is overdue or at risk."""
        moment = article.published_at or article.goes_live_at
        if moment is None:
            return None
        if article.status not in Status.unapproved() or moment > article.asked_at + AT_RISK_WITHIN:
            return format_time_briefly(moment)
        mark = gettext("overdue") if moment <= article.asked_at else gettext("at risk")
        return format_html('{} <strong class="desk-mark">{}</strong>', format_time_briefly(moment), mark)

    @admin.display(description=_("author"), ordering="author__username")
    def writer(self, article: Article) -> str:
        """The author's display name."""
        return named(article.author)

    @admin.display(description=_("owner"), empty_value="—")
    def assigned(self, article: Any) -> str | SafeString | None:
        """The owner's display name and the due time, marked if it is past."""
        parts = [named(article.owner)] if article.owner else []
        if article.due_at:
            parts.append(gettext("due %(time)s") % {"time": format_time_briefly(article.due_at)})
        if not article.is_late_at(article.asked_at):
            return " · ".join(parts) or None
        return format_html('{} <strong class="desk-mark">{}</strong>', " · ".join(parts), gettext("overdue"))

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


def _numbered(words: list[str]) -> QuerySet[Any]:
    """The article with this number, if it is one."""
    number = words[0].lstrip("#")
    is_number = len(words) == 1 and number.isdecimal() and len(number) < 19
    return Article.objects.filter(pk=int(number) if is_number else 0).values("pk")


_NEWER = ("update__approved__title", "update__draft__title")


def _having(word: str) -> Q:
    tagged = Article.tags.through.objects.filter(tag__name__icontains=word).values("article")
    columns = (*LINES, "author__first_name", "author__last_name", "author__username", *_NEWER)
    found = Q(pk__in=tagged)
    for column in columns:
        found |= Q(**{f"{column}__icontains": word})
    return found
