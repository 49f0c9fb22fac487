"""JSON-LD of articles: schema.org's NewsArticle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.templatetags.static import static
from django.utils.translation import gettext as _

from articles.addresses import page_address
from articles.images import absolute
from articles.models import Article, Tag


def structured(article: Article, tags: Sequence[Tag]) -> dict[str, Any]:
    """The JSON-LD of a live article; empty values are left out."""
    address = absolute(article.get_absolute_url())
    values = {
        "@context": "https://schema.org",
        "@type": "NewsArticle",
        "mainEntityOfPage": address,
        "url": address,
        "headline": article.title,
        "alternativeHeadline": article.search_title,
        "description": article.summary,
        "image": [absolute(cover.address(name)) for cover in article.covers for name in (cover.shared, cover.original)],
        "datePublished": article.out_since.isoformat(),
        "dateModified": article.modified_at.isoformat(),
        "author": _author(article),
        "publisher": _publisher(),
        "articleSection": article.channel.name if article.channel else "",
        "keywords": [tag.name for tag in tags],
        "isAccessibleForFree": True,
    }
    return {name: value for name, value in values.items() if value}


def _author(article: Article) -> dict[str, str]:
    """A byline may name an agency, so it is an organization; without an author it is the site."""
    if article.byline or not article.signed:
        return {"@type": "Organization", "name": article.byline or _("Headline")}
    page = absolute(page_address("author", pk=article.author_id))
    return {"@type": "Person", "name": article.signed, "url": page}


def _publisher() -> dict[str, Any]:
    logo = {"@type": "ImageObject", "url": absolute(static("articles/icon.svg"))}
    return {"@type": "NewsMediaOrganization", "name": _("Headline"), "url": settings.SITE_URL, "logo": logo}
