"""Template tags about an article's release."""

from __future__ import annotations

from typing import Any

from django import template

from articles.models import Article
from articles.publishing import membership

register = template.Library()


@register.inclusion_tag("articles/desk/releases/membership.html")
def release_of(article: Article) -> dict[str, Any]:
    """A line about the pending release that contains the article; empty if there is none."""
    return {"member": membership(article)}
