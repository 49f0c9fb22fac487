"""The context of an article page, for live articles and for previews of other texts."""

from __future__ import annotations

from copy import copy
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import get_language_from_request, override

from articles.images import gather_images
from articles.models import Article, Correction, PreviewLink, Revision, Tag, Text
from articles.pages.links import links_in
from articles.pages.related import related_to
from scheduling.database import read_database_clock


def page_of_article(article: Article) -> dict[str, Any]:
    """The page of a live article."""
    tags, corrections = tags_and_corrections(article)
    return _page(article, tags, corrections)


def page_of_text(article: Article, text: Text, correction: str = "") -> dict[str, Any]:
    """The page of `article` (which may be unsaved) as if `text` were live now."""
    shown = copy(article)
    for name, value in text.columns.items():
        setattr(shown, name, value)
    shown.publish_at = shown.publish_at or read_database_clock()
    corrections = list(article.corrections.all()) if article.pk else []
    if correction:
        corrections.append(Correction(article=article, note=correction, published_at=read_database_clock()))
    return _page(shown, list(Tag.objects.filter(name__in=text.tags)), corrections)


def tags_and_corrections(article: Article) -> tuple[list[Tag], list[Correction]]:
    """Both in one statement: a cross join, which is small because an article has few of either."""
    tag, correction = ("pk", "name", "slug"), ("pk", "note", "published_at")
    columns = [*(f"tags__{name}" for name in tag), *(f"corrections__{name}" for name in correction)]
    ordered = Article.objects.filter(pk=article.pk).order_by("tags__name", "corrections__published_at", "corrections")
    rows = list(ordered.values_list(*columns))
    tags = dict.fromkeys(Tag(**dict(zip(tag, row[:3], strict=True))) for row in rows if row[0])
    values = (dict(zip(correction, row[3:], strict=True)) for row in rows if row[3])
    corrections = dict.fromkeys(Correction(**each, article=article) for each in values)
    return list(tags), list(corrections)


def _page(article: Article, tags: list[Tag], corrections: list[Correction]) -> dict[str, Any]:
    related = related_to(article, tags)
    gather_images(article, related)
    changes = (article.updated_after_publication, *(one.published_at for one in corrections))
    updated = max(filter(None, changes), default=None)
    shown = {"article": article, "tags": tags, "corrections": corrections, "related": related, "updated": updated}
    return {**shown, "links": links_in([article.body])}


def newest_text(article: Article) -> tuple[Text, str]:
    """The text that editors continue (a pending update or the article's own) and its correction. Takes no locks."""
    revision = _pending_revision(article)
    return (revision.text, revision.correction) if revision else (Text.of(article), "")


def text_of_link(link: PreviewLink) -> tuple[Text, str]:
    """The text of a preview link and its correction."""
    revision = link.revision
    return (revision.text, revision.correction) if revision else newest_text(link.article)


def newest_number(article: Article) -> int:
    """The revision number of `newest_text`."""
    revision = _pending_revision(article)
    return revision.number if revision else article.revision


def preview(request: HttpRequest, page: dict[str, Any], **more: Any) -> HttpResponse:
    """The page as readers would see it, in the site's time zone and the browser's language; not cached or indexed."""
    with timezone.override(timezone.get_default_timezone()), override(get_language_from_request(request)):
        return uncached(render(request, "articles/preview.html", {**page, **more}))


def uncached(response: HttpResponse) -> HttpResponse:
    """Add the headers against caching, indexing and referrers."""
    response["Cache-Control"] = "private, no-store"
    response["Referrer-Policy"] = "no-referrer"
    response["X-Robots-Tag"] = "noindex, nofollow, noarchive"
    return response


def _pending_revision(article: Article) -> Revision | None:
    update = article.pending_update
    return (update.draft or update.approved) if update else None
