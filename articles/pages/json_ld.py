"""Articles as search engines read them: schema.org's NewsArticle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.templatetags.static import static
from django.urls import reverse
from django.utils.translation import gettext as _

from articles.images import absolute
from articles.models import Article, Tag


def structured(article: Article, tags: Sequence[Tag]) -> dict[str, Any]:
    """A live article; what it does not have is left out."""
    address = absolute(article.get_absolute_url())
    told = {
        "@context": "https://schema.org",
        "@type": "NewsArticle",
        "mainEntityOfPage": address,
        "url": address,
        "headline": article.title,
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
    return {name: value for name, value in told.items() if value}


def _author(article: Article) -> dict[str, str]:
    """Who signed it; a byline may name an agency as well as a person, and without either the paper answers for it."""
    if article.byline or not article.signed:
        return {"@type": "Organization", "name": article.byline or _("Headline")}
    page = absolute(reverse("author", kwargs={"pk": article.author_id}))
    return {"@type": "Person", "name": article.signed, "url": page}


def _publisher() -> dict[str, Any]:
    logo = {"@type": "ImageObject", "url": absolute(static("articles/icon.svg"))}
    return {"@type": "NewsMediaOrganization", "name": _("Headline"), "url": settings.SITE_URL, "logo": logo}
