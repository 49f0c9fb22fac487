"""The article templates that a page offers."""

from __future__ import annotations

from collections.abc import Sequence

from django import template

from articles.models import ArticleTemplate

register = template.Library()


@register.simple_tag
def offered_templates() -> Sequence[ArticleTemplate]:
    """Those with which an article may begin."""
    return list(ArticleTemplate.objects.offered())
