"""The readers' pages. Each asks for `live` articles by the database's clock, so none shows anything early.

Nothing on them depends on who reads, but for the language: any cache may give one reader's page to the next.
"""

from __future__ import annotations

from http import HTTPStatus

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_safe

from articles.cache import NEWS, article_tag, cached, channel_tag, tagged, topic_tag
from articles.models import Article, Channel
from articles.pages import page_of_article
from articles.site.home import front_of
from articles.site.pagination import is_asked, page_of, size_asked
from articles.site.streams import Scope, author_scope, channel_scope, everything, tag_scope
from scheduling.services import database_now

JUST_IN = 25
"""Headlines that open pages are told of."""


@require_safe
@cached("after", "before", "page_size")
def home(request: HttpRequest) -> HttpResponseBase:
    """The front page; further pages of it are lists of all channels."""
    if is_asked(request.GET):
        return _list(request, everything())
    channels = list(Channel.objects.enabled())
    front = front_of(channels, size=size_asked(request.GET))
    context = {"scope": everything(), "channels": channels, "front": front, "page": front.page}
    return tagged(render(request, "articles/home.html", context), NEWS)


@require_safe
@cached("after", "before", "page_size")
def channel(request: HttpRequest, slug: str) -> HttpResponseBase:
    """The newest of one channel."""
    return _list(request, channel_scope(slug))


@require_safe
@cached("after", "before", "page_size")
def tag(request: HttpRequest, slug: str) -> HttpResponseBase:
    """The newest with one tag."""
    return _list(request, tag_scope(slug))


@require_safe
@cached("after", "before", "page_size")
def author(request: HttpRequest, pk: int) -> HttpResponseBase:
    """The newest by one author."""
    return _list(request, author_scope(pk))


@require_safe
@cached()
def article(request: HttpRequest, pk: int, slug: str = "") -> HttpResponseBase:
    """One article, at the one address that carries its present slug; from any other it leads there.

    It says so for good (301), but nobody may keep that answer: a slug that was changed may be changed back.
    """
    found = Article.objects.live(database_now()).select_related("channel", "author").filter(pk=pk).first()
    if found is None:
        killed = get_object_or_404(Article.objects.retracted(), pk=pk)
        return render(request, "articles/retracted.html", {"article": killed}, status=HTTPStatus.GONE)
    if slug != found.address_slug:
        return redirect(found, permanent=True)
    page = page_of_article(found)
    lists = [channel_tag(found.channel_id) if found.channel_id else NEWS, *(topic_tag(tag.pk) for tag in page["tags"])]
    return tagged(render(request, "articles/article.html", page), article_tag(pk), *lists)


@require_safe
@cached()
def latest(request: HttpRequest) -> HttpResponseBase:
    """The newest headlines, for pages that are open: the same for all of them, and made once for all."""
    newest = Article.objects.live(database_now()).newest_first().only("title", "slug", "publish_at")
    articles = list(newest[:JUST_IN])
    context = {"articles": articles, "are_all": len(articles) < JUST_IN}
    return tagged(render(request, "articles/latest.html", context), NEWS)


def _list(request: HttpRequest, scope: Scope) -> HttpResponseBase:
    page = page_of(scope, request.GET)
    return tagged(render(request, "articles/list.html", {"scope": scope, "page": page}), scope.surrogate)
