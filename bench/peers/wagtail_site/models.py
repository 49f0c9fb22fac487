"""A home page that lists the newest articles, and articles."""

from __future__ import annotations

from typing import Any

from django.db import models
from wagtail.fields import RichTextField
from wagtail.models import Page
from wagtailcache.cache import WagtailCacheMixin

LISTED = 20


class HomePage(WagtailCacheMixin, Page):
    """The front page."""

    template = "home.html"

    def get_context(self, request: Any, *args: Any, **options: Any) -> dict[str, Any]:
        """With the newest articles."""
        context: dict[str, Any] = super().get_context(request, *args, **options)
        newest = ArticlePage.objects.live().child_of(self).order_by("-first_published_at")
        return context | {"articles": newest[:LISTED]}


class ArticlePage(WagtailCacheMixin, Page):
    """An article."""

    template = "article.html"
    summary = models.CharField(max_length=500, blank=True)
    body = RichTextField()
