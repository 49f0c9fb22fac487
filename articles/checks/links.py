"""Links in a text that lead to a page of the site that readers cannot see."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import unquote, urlsplit

from django.conf import settings
from django.urls import Resolver404, resolve

from articles.models import Article, Channel, Tag


@dataclass(frozen=True)
class BrokenLink:
    """An address, and the headline of the article it leads to; empty if there is none.

    `goes_live_at` is set if the article is approved, and live from then on.
    """

    address: str
    headline: str = ""
    goes_live_at: datetime | None = None


def broken_links(addresses: Iterable[str], now: datetime) -> Iterator[BrokenLink]:
    """Those of the site that are missing or, at the instant `now`, not live, each once. Other sites are not asked."""
    articles: dict[int, str] = {}
    for address in dict.fromkeys(addresses):
        path = _own_path(address)
        if path is None:
            continue
        try:
            match = resolve(path)
        except Resolver404:
            yield BrokenLink(address)
            continue
        if match.url_name in ("article", "article-by-id"):
            articles.setdefault(match.kwargs["pk"], address)
        elif _is_missing(match.url_name, match.kwargs):
            yield BrokenLink(address)
    yield from _not_live(articles, now)


def _own_path(address: str) -> str | None:
    """The path of an address on this site; None for those elsewhere, and for parts of the same page."""
    try:
        url = urlsplit(address)
    except ValueError:
        return None
    if url.path.startswith((settings.MEDIA_URL, settings.STATIC_URL)):
        return None
    if url.scheme not in ("", "http", "https") or not url.path:
        return None
    return unquote(url.path) if url.netloc in ("", urlsplit(settings.SITE_URL).netloc) else None


def _is_missing(name: str | None, values: dict[str, str]) -> bool:
    model = {"channel": Channel, "tag": Tag}.get(name or "")
    return model is not None and not model._default_manager.filter(slug=values.get("slug")).exists()


def _not_live(articles: dict[int, str], now: datetime) -> Iterator[BrokenLink]:
    live = set(Article.objects.live(now).filter(pk__in=articles).values_list("pk", flat=True))
    others = Article.objects.filter(pk__in=articles.keys() - live)
    found = others.only("title", "status", "publish_at", "embargo_until").in_bulk()
    for pk, address in articles.items():
        if pk not in live:
            yield _broken(address, found.get(pk), now)


def _broken(address: str, article: Article | None, now: datetime) -> BrokenLink:
    if article is None:
        return BrokenLink(address)
    due = article.goes_live_at if article.status in Article.Status.visible() else None
    return BrokenLink(address, article.title, due if due and due > now else None)
