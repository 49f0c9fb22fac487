"""Article history: revisions, their diffs, and restoring a revision."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST
from unfold.admin import ModelAdmin

from articles import publishing
from articles.desk.audit.admin import history
from articles.desk.parse import number_or_zero
from articles.exceptions import ArticleError
from articles.models import Article, Revision
from articles.pages import newest_number
from articles.publishing import compare
from articles.review import findings_of

PER_PAGE = 50


class HistoryScreens(ModelAdmin):
    """Mixin with the history views."""

    def get_urls(self) -> list[URLPattern]:
        """The history URLs, before those of the article itself."""
        view = self.admin_site.admin_view
        own = [
            path("<int:pk>/revisions/", view(self.revisions), name="articles_article_revisions"),
            path("<int:pk>/revisions/<int:number>/", view(self.revision), name="articles_article_revision"),
            path(
                "<int:pk>/revisions/<int:number>/restore/",
                view(require_POST(self.restore_revision)),
                name="articles_article_restore_revision",
            ),
        ]
        return [*own, *super().get_urls()]

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """Redirect Django's history view to the revisions."""
        return redirect("admin:articles_article_revisions", number_or_zero(object_id))

    def revisions(self, request: HttpRequest, pk: int) -> HttpResponse:
        """The revisions of an article, newest first, paginated."""
        article = self._article(request, pk)
        rows = article.revisions.without_text().select_related("author").newest_first()
        page = Paginator(rows, PER_PAGE).get_page(request.GET.get("page"))
        context = {"title": _("Revisions"), "revisions": page, "record": history(article)}
        return self._page(request, article, "revisions", context)

    def revision(self, request: HttpRequest, pk: int, number: int) -> HttpResponse:
        """The diff of a revision against the previous one, or against `?against=`; with `?all` no part is left out."""
        article = self._article(request, pk)
        shown = get_object_or_404(article.revisions.select_related("author", "channel"), number=number)
        older = _other(article, request.GET.get("against", ""), shown)
        context = {
            "title": _("Revision %d") % number,
            "shown": shown,
            "older": older,
            "fields": compare(older, shown),
            "is_cut": "all" not in request.GET,
            "findings": findings_of(shown),
            "may_restore": self.has_change_permission(request, article) and number != newest_number(article),
        }
        return self._page(request, article, "revision", context)

    def restore_revision(self, request: HttpRequest, pk: int, number: int) -> HttpResponse:
        """Save the text of this revision as a new revision."""
        article = self._article(request, pk)
        try:
            publishing.restore_revision(article, number=number, by=request.user)
        except ArticleError as refusal:
            self.message_user(request, str(refusal), messages.ERROR)
        else:
            text = _("Revision %d is restored as the newest revision.") % number
            self.message_user(request, text, messages.SUCCESS)
        return redirect("admin:articles_article_change", pk)

    def _article(self, request: HttpRequest, pk: int) -> Article:
        article: Article = get_object_or_404(self.get_queryset(request), pk=pk)
        if not self.has_view_or_change_permission(request, article):
            raise PermissionDenied
        return article

    def _page(self, request: HttpRequest, article: Article, name: str, context: dict[str, Any]) -> HttpResponse:
        pending_update = article.pending_update
        context |= {
            **self.admin_site.each_context(request),
            "article": article,
            "opts": self.model._meta,
            "columns_are_approved": article.status in Article.Status.passed(),
            "draft": pending_update.draft_id if pending_update else None,
            "draft_status": pending_update.get_status_display() if pending_update else "",
            "approved": pending_update.approved_id if pending_update else None,
        }
        return TemplateResponse(request, f"articles/desk/{name}.html", context)


def _other(article: Article, against: str, shown: Revision) -> Revision | None:
    """The revision to compare with; None for the first."""
    older = article.revisions.select_related("channel").newest_first()
    if not against:
        return older.filter(number__lt=shown.number).first()
    return get_object_or_404(older, number=number_or_zero(against))
