"""The readers' pages. Each asks for `live` articles by the database's clock, so none shows anything early."""

from __future__ import annotations

from http import HTTPStatus

from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_safe

from articles.caching.pages import cached
from articles.caching.tags import NEWS, article_tag, channel_tag, tagged
from articles.models import Article, Channel
from articles.models.article import ArticleQuerySet
from articles.showing import page_of_article
from articles.site.pages import Page, page_of
from scheduling.services import database_now


@require_safe
@cached("before")
def home(request: HttpRequest) -> HttpResponseBase:
    """The front page: the newest of all channels."""
    return tagged(render(request, "articles/home.html", {"page": _page(request, live_articles())}), NEWS)


@require_safe
@cached("before")
def channel(request: HttpRequest, slug: str) -> HttpResponseBase:
    """The newest of one channel."""
    found = get_object_or_404(Channel.objects.enabled(), slug=slug)
    page = _page(request, live_articles().filter(channel=found))
    return tagged(render(request, "articles/channel.html", {"channel": found, "page": page}), channel_tag(found.pk))


@require_safe
@cached()
def article(request: HttpRequest, pk: int, slug: str = "") -> HttpResponseBase:
    """One article, at the one address that carries its present slug; from any other it leads there.

    It says so for good (301), but nobody may keep that answer: a slug that was changed may be changed back.
    """
    found = live_articles().prefetch_related("tags", "corrections").filter(pk=pk).first()
    if found is None:
        killed = get_object_or_404(Article.objects.killed(), pk=pk)
        return render(request, "articles/killed.html", {"article": killed}, status=HTTPStatus.GONE)
    if slug != found.address_slug:
        return redirect(found, permanent=True)
    page = render(request, "articles/article.html", page_of_article(found))
    return tagged(page, article_tag(pk), channel_tag(found.channel_id) if found.channel_id else NEWS)


@require_safe
@cached()
def latest(request: HttpRequest, slug: str | None = None) -> HttpResponseBase:
    """The list of a front page alone, for pages that are open."""
    return tagged(render(request, "articles/cards.html", {"page": page_of(_of_channel(slug))}), NEWS)


def live_articles() -> ArticleQuerySet:
    """What readers may see now, with what a page says about each."""
    return Article.objects.live(database_now()).select_related("channel", "author")


def _of_channel(slug: str | None) -> ArticleQuerySet:
    return live_articles() if slug is None else live_articles().filter(channel__slug=slug, channel__enabled=True)


def _page(request: HttpRequest, articles: ArticleQuerySet) -> Page:
    before = request.GET.get("before", "")
    if not before:
        return page_of(articles)
    if not before.isdecimal():
        raise Http404
    return page_of(articles, before=get_object_or_404(live_articles(), pk=before))
