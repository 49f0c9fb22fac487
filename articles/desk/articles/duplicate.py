"""Duplicating an article from the list, the board or the editor."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext, gettext_lazy as _
from django.views.decorators.http import require_POST
from unfold.admin import ModelAdmin

from articles.exceptions import ArticleError
from articles.models import Article
from articles.permissions import ADD, allows
from articles.publishing import duplicate


class DuplicateScreens(ModelAdmin):
    """Mixin with the URL `admin:articles_article_duplicate`, which takes a POST."""

    def get_urls(self) -> list[URLPattern]:
        """The URL, before those of the article itself."""
        view = self.admin_site.admin_view(require_POST(self.duplicate))
        return [path("<int:pk>/duplicate/", view, name="articles_article_duplicate"), *super().get_urls()]

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        """With a button for users who may add articles."""
        shown = list(super().get_list_display(request))
        return [*shown, "duplicate_button"] if allows(ADD, request.user) else shown

    @admin.display(description=_("copy"))
    def duplicate_button(self, article: Article) -> SafeString:
        """A button that posts the form below the tabs; it works without a script."""
        name = gettext("Duplicate “%(title)s”") % {"title": article.title}
        address = reverse("admin:articles_article_duplicate", args=[article.pk])
        icon = '<span class="material-symbols-outlined" aria-hidden="true">content_copy</span>'
        button = '<button class="desk-icon" form="row-form" formaction="{}" aria-label="{}" title="{}">{}</button>'
        return format_html(button, address, name, gettext("Duplicate"), mark_safe(icon))  # noqa: S308 (a constant)

    def duplicate(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Open the copy; or the original, with the reason why there is none."""
        article = get_object_or_404(Article, pk=pk)
        try:
            shown = duplicate(article, by=request.user)
        except ArticleError as refusal:
            shown = article
            self.message_user(request, str(refusal), messages.ERROR)
        else:
            text = gettext("This is a copy of “%(title)s”, with a new headline to choose and without its times.")
            self.message_user(request, text % {"title": article.title}, messages.SUCCESS)
        return redirect("admin:articles_article_change", shown.pk)
