"""The tab *Checks* of the article editor, as saved and as typed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import URLPattern, path
from unfold.admin import ModelAdmin

from articles.checks import Draft, problems
from articles.desk.editor.preview import typed_form, typed_text
from articles.desk.parse import number_or_zero
from articles.models import Article, Text
from articles.pages import newest_text
from scheduling.database import read_database_clock

TEMPLATE = "articles/desk/editor/checks.html"


class ChecksScreens(ModelAdmin):
    """Mixin with the endpoint that checks what is typed."""

    def get_urls(self) -> list[URLPattern]:
        """The endpoint's URL."""
        own = [path("checks/", self.admin_site.admin_view(self.checks), name="articles_article_checks")]
        return [*own, *super().get_urls()]

    def checks(self, request: HttpRequest) -> HttpResponse:
        """The list for `?article=` (none for a new one) with the autosaved content of the window in `?copy=`."""
        article = None
        if "article" in request.GET:
            article = get_object_or_404(self.get_queryset(request), pk=number_or_zero(request.GET["article"]))
        if not self.has_view_or_change_permission(request, article):
            raise PermissionDenied
        draft = typed_draft(request, article, request.GET.get("copy", ""))
        return render(request, TEMPLATE, {"data": {"problems": problems(draft), "has_run": True}})


def typed_draft(request: HttpRequest, article: Article | None, window: str) -> Draft:
    """The newest text with what is autosaved of the user's window, if anything."""
    draft = draft_of(article) if article else Draft(Text.of(Article(), ()), read_database_clock())
    form = typed_form(request, article, window) if window else None
    if form is None:
        return draft
    text, correction = typed_text(form, draft.text)
    typed = form.cleaned_data.get("publish_at", draft.publish_at) if "publish_at" in form.data else draft.publish_at
    return replace(draft, text=text, correction=correction, publish_at=typed)


def draft_of(article: Article) -> Draft:
    """The newest saved text."""
    text, correction = newest_text(article)
    return Draft.of(article, text, correction, read_database_clock())


def checked(article: Article | None) -> dict[str, Any]:
    """The tab's content for the saved article; nothing is found in one that has not begun."""
    return {"problems": problems(draft_of(article)) if article else [], "has_run": article is not None}
