"""The readers' pages. All of them query `live` articles by the database's clock, so none shows an article early.

They depend on the language but not on the user, so any cache may share them.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.templatetags.static import static
from django.utils.translation import get_language, override
from django.views.decorators.http import require_safe

from articles.cache import NEWS, article_tag, cached, channel_tag, front_tag, tagged, topic_tag, version_tag
from articles.fronts import ShownFront, front_at
from articles.models import GOES_LIVE_COLUMNS, Article, Channel
from articles.pages import page_of_article
from articles.site.home import build_front_page, front_addresses
from articles.site.pagination import from_newest, has_cursor, page_of, page_size
from articles.site.streams import Stream, all_news, author_stream, channel_stream, tag_stream
from scheduling.database import compiled_once, database_now

JUST_IN = 25
"""Headlines in the response that open pages poll."""


@require_safe
def icon(request: HttpRequest) -> HttpResponseBase:
    """The icon at the address that browsers and feed readers ask for without having seen a page."""
    return redirect(static("articles/icon.svg"))


@require_safe
@cached("after", "before", "page_size")
def home(request: HttpRequest, language: str = "") -> HttpResponseBase:
    """The front of the reader's language, composed or automatic; further pages of it are lists of all channels."""
    if has_cursor(request.GET):
        return _news(request)
    channels, language, addresses = compiled_once(Channel.objects.enabled), get_language(), front_addresses()
    context = {"stream": all_news(), "channels": channels, "addresses": addresses, "address": addresses[language]}
    if front := front_at(database_now(), language=language):
        return _front(request, front, context)
    automatic = build_front_page(channels, size=page_size(request.GET), language=language)
    response = render(request, "articles/home.html", {**context, "front": automatic, "page": automatic.page})
    return tagged(response, NEWS, front_tag(language))


@require_safe
def front(request: HttpRequest, language: str) -> HttpResponseBase:
    """The front of a language at its own address, whatever the reader's language: caches do not vary it."""
    with override(language):
        response = home(request, language=language)
    response.headers["Content-Language"] = language
    return response


@require_safe
@cached("after", "before", "page_size")
def channel(request: HttpRequest, slug: str) -> HttpResponseBase:
    """The composed front of a channel, or its articles."""
    stream = channel_stream(slug)
    if has_cursor(request.GET):
        return _list(request, stream)
    front = front_at(database_now(), language=get_language(), channel=stream.channel)
    return _front(request, front, {"stream": stream, "address": stream.path}) if front else _list(request, stream)


@require_safe
@cached("after", "before", "page_size")
def tag(request: HttpRequest, slug: str) -> HttpResponseBase:
    """The articles with a tag."""
    return _list(request, tag_stream(slug))


@require_safe
@cached("after", "before", "page_size")
def author(request: HttpRequest, pk: int) -> HttpResponseBase:
    """The articles by an author."""
    return _list(request, author_stream(pk))


def _was_slug(article: Article, slug: str) -> bool:
    """Whether it was in an address of the article, up to case."""
    if slug == "-" or slug.casefold() == article.address_slug.casefold():
        return True
    former = article.revisions.filter(number__lt=article.revision).values_list("slug", flat=True)
    return slug.casefold() in {each.casefold() for each in former}


@require_safe
@cached()
def article(request: HttpRequest, pk: int, slug: str = "") -> HttpResponseBase:
    """A live article at its canonical URL, a redirect to it, or the retraction notice (410).

    Its former slugs redirect to it; others are 404. The redirect is permanent (301) but not cached, because a changed
    slug may be changed back.
    """
    found = Article.objects.live(database_now()).select_related("channel", "author").filter(pk=pk).first()
    if found is None:
        retracted = get_object_or_404(Article.objects.retracted(), pk=pk)
        return render(request, "articles/retracted.html", {"article": retracted}, status=HTTPStatus.GONE)
    if slug != found.address_slug:
        if slug and not _was_slug(found, slug):  # another newsroom's address, whose number this article has here
            raise Http404
        return redirect(found, permanent=True)
    page = page_of_article(found)
    lists = [channel_tag(found.channel_id) if found.channel_id else NEWS, *(topic_tag(tag.pk) for tag in page["tags"])]
    return tagged(render(request, "articles/article.html", page), article_tag(pk), *lists, *page["links"].tags)


@require_safe
@cached()
def latest(request: HttpRequest) -> HttpResponseBase:
    """The newest headlines, which open pages poll."""
    newest = Article.objects.live(database_now()).newest_first().only("title", "slug", *GOES_LIVE_COLUMNS)
    articles = list(newest[:JUST_IN])
    context = {"articles": articles, "are_all": len(articles) < JUST_IN}
    return tagged(render(request, "articles/latest.html", context), NEWS)


def _news(request: HttpRequest) -> HttpResponseBase:
    """The articles in the reader's language, or in all languages where none is in that."""
    try:
        return _list(request, all_news(get_language()))
    except Http404:
        return _list(request, all_news())


def _front(request: HttpRequest, front: ShownFront, context: dict[str, Any]) -> HttpResponseBase:
    """A composed front, followed by all articles."""
    version, shown_on = front.version, front.version.front
    page = {**context, "front": front, "page": {"older": from_newest()}}
    tags = NEWS, context["stream"].surrogate, front_tag(shown_on.language, shown_on.channel_id), version_tag(version.pk)
    return tagged(render(request, "articles/front.html", page), *tags)


def _list(request: HttpRequest, stream: Stream) -> HttpResponseBase:
    page = page_of(stream, request.GET)
    return tagged(render(request, "articles/list.html", {"stream": stream, "page": page}), stream.surrogate)
