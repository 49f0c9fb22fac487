"""The page of an article: what its template shows, of an article that is out or of a text that nobody has published."""

from __future__ import annotations

from copy import copy
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import get_language_from_request, override

from articles.models import Article, Correction, Revision, Text
from articles.models.article import ArticleQuerySet
from scheduling.services import database_now

READ_NEXT = 4


def page_of_article(article: Article) -> dict[str, Any]:
    """What the page of a live article shows."""
    return {
        "article": article,
        "tags": article.tags.all(),
        "corrections": article.corrections.all(),
        "more": _read_next(article),
    }


def page_of_text(article: Article, text: Text, correction: str = "") -> dict[str, Any]:
    """What the page of `article` (which may be new) would show if `text` went out now."""
    shown = copy(article)
    for name, value in text.columns.items():
        setattr(shown, name, value)
    shown.publish_at = shown.publish_at or timezone.now()
    corrections = list(article.corrections.all()) if article.pk else []
    if correction:
        corrections.append(Correction(note=correction, published_at=timezone.now()))
    return {"article": shown, "tags": text.tags, "corrections": corrections, "more": _read_next(shown)}


def newest_text(article: Article) -> tuple[Text, str]:
    """The text that editors go on writing, and the correction that goes out with it; nothing is locked or written."""
    revision = _newer(article)
    return (revision.text, revision.correction) if revision else (Text.of(article), "")


def newest_number(article: Article) -> int:
    """The number of that text's revision."""
    revision = _newer(article)
    return revision.number if revision else article.revision


def preview(request: HttpRequest, page: dict[str, Any], **more: Any) -> HttpResponse:
    """The page as readers would get it: in the site's zone and this browser's language. Nobody keeps or indexes it."""
    with timezone.override(timezone.get_default_timezone()), override(get_language_from_request(request)):
        return kept_nowhere(render(request, "articles/preview.html", {**page, **more}))


def kept_nowhere(response: HttpResponse) -> HttpResponse:
    """No cache keeps it, no search engine lists it, and no other site is told its address."""
    response["Cache-Control"] = "private, no-store"
    response["Referrer-Policy"] = "no-referrer"
    response["X-Robots-Tag"] = "noindex, nofollow, noarchive"
    return response


def _newer(article: Article) -> Revision | None:
    newer = article.newer
    return (newer.draft or newer.approved) if newer else None


def _read_next(article: Article) -> ArticleQuerySet:
    live = Article.objects.live(database_now()).filter(channel=article.channel_id).exclude(pk=article.pk)
    return live.select_related("channel", "author").defer("body").newest_first()[:READ_NEXT]
