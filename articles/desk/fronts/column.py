"""The button *Put on the front…* in the list of articles."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext, gettext_lazy as _
from unfold.admin import ModelAdmin

from articles.models import Article
from articles.permissions import PUBLISH, allows


class PutOnFront(ModelAdmin):
    """Mixin of the list of articles."""

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        """With a link for users who may publish."""
        shown = list(super().get_list_display(request))
        if not allows(PUBLISH, request.user):
            return shown
        if "duplicate_button" not in shown:
            return [*shown, "front_link"]
        return [*(name for name in shown if name != "duplicate_button"), "row_tools"]

    @admin.display(description=_("copy, front"))
    def row_tools(self, article: Article) -> SafeString:
        """What a row offers, in one column."""
        duplicate = self.duplicate_button(article)  # type: ignore[attr-defined]
        return format_html('<span class="desk-row-tools">{}{}</span>', duplicate, self.front_link(article))

    @admin.display(description=_("front"))
    def front_link(self, article: Article) -> SafeString:
        """A link to the choice of the front."""
        name = gettext("Put on the front: %(title)s") % {"title": article.title}
        address = f"{reverse('admin:articles_front_put')}?article={article.pk}"
        icon = '<span class="material-symbols-outlined" aria-hidden="true">newspaper</span>'
        link = '<a class="desk-icon" href="{}" aria-label="{}" title="{}">{}</a>'
        return format_html(link, address, name, gettext("Put on the front…"), mark_safe(icon))  # noqa: S308 (a constant)
