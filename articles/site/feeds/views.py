"""Feed views: `…/feed/` is RSS, `…/feed/atom/` Atom and `…/feed/json/` JSON Feed."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.feedgenerator import Enclosure
from django.utils.html import escape
from django.utils.translation import gettext as _, override
from django.views.decorators.http import require_safe

from articles.cache import cached, tagged
from articles.images import absolute, gather_covers
from articles.models import Article, ArticleQuerySet, Image
from articles.site.feeds.formats import FORMS, Atom, Json, Rss, feed_path, fit_for_xml
from articles.site.streams import Stream, all_news, author_stream, channel_stream, tag_stream
from scheduling.database import compiled_once

ENTRIES = 30


@require_safe
@cached(one_language=True)
def site_feed(request: HttpRequest, form: str = "rss") -> HttpResponseBase:
    """All news."""
    return _feed(all_news, form)


@require_safe
@cached(one_language=True)
def channel_feed(request: HttpRequest, slug: str, form: str = "rss") -> HttpResponseBase:
    """The articles of a channel."""
    return _feed(channel_stream, form, slug)


@require_safe
@cached(one_language=True)
def tag_feed(request: HttpRequest, slug: str, form: str = "rss") -> HttpResponseBase:
    """The articles with a tag."""
    return _feed(tag_stream, form, slug)


@require_safe
@cached(one_language=True)
def author_feed(request: HttpRequest, pk: int, form: str = "rss") -> HttpResponseBase:
    """The articles by an author."""
    return _feed(author_stream, form, pk)


def _feed(get_stream: Callable[..., Stream], form: str, *arguments: Any) -> HttpResponseBase:
    if form not in FORMS:
        raise Http404
    with override(settings.LANGUAGE_CODE):  # one feed for all readers
        stream = get_stream(*arguments)
        feed = _empty(stream, form)
        newest = compiled_once(_newest, stream)
        gather_covers(newest)
        for article in newest:
            feed.add_item(**_entry(article))
    text = StringIO()
    feed.write(text, "utf-8")
    return tagged(HttpResponse(text.getvalue(), content_type=feed.content_type), stream.surrogate)


def _newest(stream: Stream) -> ArticleQuerySet:
    return stream.live().select_related("channel", "author").prefetch_related("tags").defer("body")[:ENTRIES]


def _empty(stream: Stream, form: str = "rss") -> Rss | Atom | Json:
    name = _("Headline")
    return FORMS[form](
        title=fit_for_xml(name if stream.title == name else f"{stream.title} · {name}"),
        link=settings.SITE_URL + stream.path,
        description=fit_for_xml(stream.description),
        language=settings.LANGUAGE_CODE,
        author_name=name,
        feed_url=settings.SITE_URL + feed_path(stream.path, form),
        hubs=[settings.WEBSUB_HUB] if settings.WEBSUB_HUB else [],
    )


def _entry(article: Article) -> dict[str, Any]:
    """The id of an entry is the article's URL without the slug, because it never changes."""
    categories = [*([article.channel.name] if article.channel else []), *(tag.name for tag in article.tags.all())]
    return {
        "title": fit_for_xml(article.title),
        "link": settings.SITE_URL + article.get_absolute_url(),
        "description": escape(fit_for_xml(article.summary or article.title)),
        "author_name": fit_for_xml(article.signed) or None,  # an empty element would hide the feed's author
        "pubdate": article.out_since,
        "updateddate": article.modified_at,
        "unique_id": f"{settings.SITE_URL}/article/{article.pk}/",
        "unique_id_is_permalink": False,
        "categories": [fit_for_xml(category) for category in categories],
        "enclosures": [_enclosure(cover) for cover in article.covers[:1]],  # RSS allows one
    }


def _enclosure(image: Image) -> Enclosure:
    return Enclosure(absolute(image.address_in_full), str(image.size), f"image/{image.format}")
