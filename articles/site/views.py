"""The readers' pages. Each asks for `live` articles by the database's clock, so none shows anything early.

Nothing on them depends on who reads, but for the language: any cache may give one reader's page to the next.
"""

from __future__ import annotations

from hashlib import sha256
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import get_language
from django.views.decorators.cache import cache_control
from django.views.decorators.http import condition, require_safe

from articles.models import Article, Channel
from articles.models.article import ArticleQuerySet
from articles.showing import page_of_article
from articles.site.front import front_of
from articles.site.pages import is_asked, page_of, size_asked
from articles.site.scopes import Scope, author_scope, channel_scope, everything, tag_scope
from scheduling.services import database_now

JUST_IN = 25
"""Headlines that open pages are told of."""


@require_safe
@cache_control(no_cache=True)
def home(request: HttpRequest) -> HttpResponse:
    """The front page; further pages of it are lists of all channels."""
    if is_asked(request.GET):
        return _list(request, everything())
    channels = list(Channel.objects.enabled())
    front = front_of(channels, size=size_asked(request.GET))
    context = {"scope": everything(), "channels": channels, "front": front, "page": front.page}
    return render(request, "articles/home.html", context)


@require_safe
@cache_control(no_cache=True)
def channel(request: HttpRequest, slug: str) -> HttpResponse:
    """The newest of one channel."""
    return _list(request, channel_scope(slug))


@require_safe
@cache_control(no_cache=True)
def tag(request: HttpRequest, slug: str) -> HttpResponse:
    """The newest with one tag."""
    return _list(request, tag_scope(slug))


@require_safe
@cache_control(no_cache=True)
def author(request: HttpRequest, pk: int) -> HttpResponse:
    """The newest by one author."""
    return _list(request, author_scope(pk))


@require_safe
@cache_control(no_cache=True)
def article(request: HttpRequest, pk: int, slug: str = "") -> HttpResponse:
    """One article, at the one address that carries its present slug; from any other it leads there.

    It says so for good (301), but nobody may keep that answer: a slug that was changed may be changed back.
    """
    found = live_articles().filter(pk=pk).first()
    if found is None:
        killed = get_object_or_404(Article.objects.killed(), pk=pk)
        return render(request, "articles/killed.html", {"article": killed}, status=HTTPStatus.GONE)
    if slug != found.address_slug:
        return redirect(found, permanent=True)
    return render(request, "articles/article.html", page_of_article(found))


def version_of_latest(request: HttpRequest) -> str:
    """Changes when the newest headlines do: which articles, in which version, in which language."""
    rows = live_articles().newest_first().values_list("pk", "updated_at")[:JUST_IN]
    return f'"{sha256(repr((list(rows), get_language())).encode()).hexdigest()[:32]}"'


@require_safe
@cache_control(no_cache=True)
@condition(etag_func=version_of_latest)
def latest(request: HttpRequest) -> HttpResponse:
    """The newest headlines, for pages that are open: the same for all of them, and one small query while they last."""
    articles = list(live_articles().defer("body").newest_first()[:JUST_IN])
    return render(request, "articles/latest.html", {"articles": articles, "are_all": len(articles) < JUST_IN})


def live_articles() -> ArticleQuerySet:
    """What readers may see now, with what a page says about each."""
    return Article.objects.live(database_now()).select_related("channel", "author")


def _list(request: HttpRequest, scope: Scope) -> HttpResponse:
    page = page_of(scope.of(live_articles()), request.GET)
    return render(request, "articles/list.html", {"scope": scope, "page": page})
