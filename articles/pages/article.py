"""The page of an article: what its template shows, of an article that is out or of a text that nobody has published."""

from __future__ import annotations

from copy import copy
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import get_language_from_request, override

from articles.images import gather_images
from articles.models import Article, Correction, PreviewLink, Revision, Tag, Text
from articles.pages.related import related_to


def page_of_article(article: Article) -> dict[str, Any]:
    """What the page of a live article shows."""
    tags, corrections = tags_and_corrections(article)
    return _page(article, tags, corrections)


def page_of_text(article: Article, text: Text, correction: str = "") -> dict[str, Any]:
    """What the page of `article` (which may be new) would show if `text` went out now."""
    shown = copy(article)
    for name, value in text.columns.items():
        setattr(shown, name, value)
    shown.publish_at = shown.publish_at or timezone.now()
    corrections = list(article.corrections.all()) if article.pk else []
    if correction:
        corrections.append(Correction(article=article, note=correction, published_at=timezone.now()))
    return _page(shown, list(Tag.objects.filter(name__in=text.tags)), corrections)


def tags_and_corrections(article: Article) -> tuple[list[Tag], list[Correction]]:
    """Both with one statement, which gives each tag beside each correction: an article has few of either."""
    tag, correction = ("pk", "name", "slug"), ("pk", "note", "published_at")
    columns = [*(f"tags__{name}" for name in tag), *(f"corrections__{name}" for name in correction)]
    ordered = Article.objects.filter(pk=article.pk).order_by("tags__name", "corrections__published_at", "corrections")
    rows = list(ordered.values_list(*columns))
    tags = dict.fromkeys(Tag(**dict(zip(tag, row[:3], strict=True))) for row in rows if row[0])
    reconciled = (dict(zip(correction, row[3:], strict=True)) for row in rows if row[3])
    corrections = dict.fromkeys(Correction(**values, article=article) for values in reconciled)
    return list(tags), list(corrections)


def _page(article: Article, tags: list[Tag], corrections: list[Correction]) -> dict[str, Any]:
    related = related_to(article, tags)
    gather_images(article, related)
    return {"article": article, "tags": tags, "corrections": corrections, "related": related}


def newest_text(article: Article) -> tuple[Text, str]:
    """The text that editors go on writing, and the correction that goes out with it; nothing is locked or written."""
    revision = _newer(article)
    return (revision.text, revision.correction) if revision else (Text.of(article), "")


def text_of_link(link: PreviewLink) -> tuple[Text, str]:
    """The text that a preview link leads to, and the correction that goes out with it."""
    revision = link.revision
    return (revision.text, revision.correction) if revision else newest_text(link.article)


def newest_number(article: Article) -> int:
    """The number of that text's revision."""
    revision = _newer(article)
    return revision.number if revision else article.revision


def preview(request: HttpRequest, page: dict[str, Any], **more: Any) -> HttpResponse:
    """The page as readers would get it: in the site's zone and this browser's language. Nobody keeps or indexes it."""
    with timezone.override(timezone.get_default_timezone()), override(get_language_from_request(request)):
        return uncached(render(request, "articles/preview.html", {**page, **more}))


def uncached(response: HttpResponse) -> HttpResponse:
    """No cache keeps it, no search engine lists it, and no other site is told its address."""
    response["Cache-Control"] = "private, no-store"
    response["Referrer-Policy"] = "no-referrer"
    response["X-Robots-Tag"] = "noindex, nofollow, noarchive"
    return response


def _newer(article: Article) -> Revision | None:
    newer = article.pending_update
    return (newer.draft or newer.approved) if newer else None
