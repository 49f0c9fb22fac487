"""What the screens of an article say about its release."""

from __future__ import annotations

from typing import Any

from django import template

from articles.models import Article
from articles.publishing import membership

register = template.Library()


@register.inclusion_tag("articles/desk/releases/belongs.html")
def release_of(article: Article) -> dict[str, Any]:
    """A line with the pending release that holds the article; nothing if none does."""
    return {"member": membership(article)}
