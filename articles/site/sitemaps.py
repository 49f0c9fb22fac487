"""Sitemap index, sitemap sections, news sitemap and robots.txt.

A section holds the live articles of a range of ids, so an article never changes its section and each section is one
range scan of the primary key. Django's sitemaps use OFFSET, which reads all earlier rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from itertools import chain
from xml.sax.saxutils import escape

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.translation import gettext as _, override
from django.views.decorators.http import require_safe

from articles.cache import NEWS, cached, tagged
from articles.images import absolute, gather_covers
from articles.models import GOES_LIVE_COLUMNS, Article, ArticleQuerySet, Channel
from articles.site.feeds.formats import fit_for_xml
from articles.site.home import front_addresses
from scheduling.database import database_now, in_any, read_database_clock

SECTION = 5000
"""Ids in one section; the protocol allows 50,000 URLs."""

NEWS_AGE = timedelta(hours=48)
NEWS_LIMIT = 1000
"""Google News accepts articles of two days, and at most this number."""

_RECENT_CHANGES = 200  # articles from which the index derives the `lastmod` of sections
_SITEMAP = "http://www.sitemaps.org/schemas/sitemap/0.9"
_IMAGE = "http://www.google.com/schemas/sitemap-image/1.1"
_NEWS = "http://www.google.com/schemas/sitemap-news/0.9"
_COLUMNS = ("pk", "slug", *GOES_LIVE_COLUMNS, "text_changed_at")


@require_safe
@cached(one_language=True)
def index(request: HttpRequest) -> HttpResponseBase:
    """All sections, with `lastmod` for those with recent changes."""
    changed = _recently_changed()
    newest = _live().order_by("-pk").values_list("pk", flat=True).first()
    numbers = range(newest // SECTION + 1) if newest else ()
    sections = (_element("sitemap", _address("sitemap-section", number=n), changed.get(n)) for n in numbers)
    pages = _element("sitemap", _address("sitemap-pages"), None)
    return _xml("sitemapindex", chain([pages], sections))


@require_safe
@cached(one_language=True)
def pages(request: HttpRequest) -> HttpResponseBase:
    """The front of each language, and the channels."""
    paths = [*front_addresses().values(), *(channel.get_absolute_url() for channel in Channel.objects.enabled())]
    return _xml("urlset", (_element("url", settings.SITE_URL + path, None) for path in paths))


@require_safe
@cached(one_language=True)
def section(request: HttpRequest, number: int) -> HttpResponseBase:
    """The live articles of one range of ids; 404 for a range beyond the newest live article."""
    if number * SECTION >= 2**62:
        raise Http404
    articles = (
        _live().filter(pk__gte=number * SECTION, pk__lt=(number + 1) * SECTION).order_by("pk").only("cover", *_COLUMNS)
    )
    found = list(articles)
    if not found and not _live().filter(pk__gte=number * SECTION).exists():
        raise Http404
    gather_covers(found)
    entries = (_element("url", _link(article), article.modified_at, _images_of(article)) for article in found)
    return _xml("urlset", entries, f' xmlns:image="{_IMAGE}"')


@require_safe
@cached(one_language=True)
def news(request: HttpRequest) -> HttpResponseBase:
    """The news sitemap: articles of the last two days, newest first."""
    now = read_database_clock()
    recent = _live().filter(goes_live_at__gt=now - NEWS_AGE).newest_first().only("title", *_COLUMNS)[:NEWS_LIMIT]
    with override(settings.LANGUAGE_CODE):
        name = _("Headline")
    entries = (_element("url", _link(article), None, _news_of(article, name)) for article in recent)
    return _xml("urlset", entries, f' xmlns:news="{_NEWS}"')


@require_safe
def robots(request: HttpRequest) -> HttpResponse:
    """Paths that robots must not crawl, and the sitemaps."""
    disallowed = [reverse("admin:index"), reverse("search"), "/api/"]
    lines = ["User-agent: *", *(f"Disallow: {path}" for path in disallowed), ""]
    lines += [f"Sitemap: {_address(name)}" for name in ("sitemap", "news-sitemap")]
    return HttpResponse("\n".join(lines) + "\n", content_type="text/plain; charset=utf-8")


def _live() -> ArticleQuerySet:
    return Article.objects.live(database_now())


def _recently_changed() -> dict[int, datetime]:
    """The last change of each section that contains a recently published or changed article."""
    live = _live()
    recent = live.order_by("-text_changed_at"), live.newest_first()
    ids = in_any(*(articles.values("pk")[:_RECENT_CHANGES] for articles in recent))
    changed: dict[int, datetime] = {}
    for article in Article.objects.filter(pk__in=ids).only(*_COLUMNS):
        number = article.pk // SECTION
        changed[number] = max(changed.get(number, article.modified_at), article.modified_at)
    return changed


def _link(article: Article) -> str:
    return settings.SITE_URL + article.get_absolute_url()


def _address(name: str, **arguments: object) -> str:
    return settings.SITE_URL + reverse(name, kwargs=arguments)


def _element(kind: str, address: str, changed: datetime | None, more: str = "") -> str:
    lastmod = f"<lastmod>{changed.isoformat()}</lastmod>" if changed else ""
    return f"<{kind}><loc>{escape(address)}</loc>{lastmod}{more}</{kind}>"


def _news_of(article: Article, name: str) -> str:
    language = {"zh-hans": "zh-cn"}.get(settings.LANGUAGE_CODE, settings.LANGUAGE_CODE)
    published = article.out_since.isoformat()
    publication = f"<news:name>{escape(name)}</news:name><news:language>{language}</news:language>"
    return (
        f"<news:news><news:publication>{publication}</news:publication>"
        f"<news:publication_date>{published}</news:publication_date>"
        f"<news:title>{escape(fit_for_xml(article.title))}</news:title></news:news>"
    )


def _images_of(article: Article) -> str:
    addresses = (escape(absolute(cover.address_in_full)) for cover in article.covers)
    return "".join(f"<image:image><image:loc>{address}</image:loc></image:image>" for address in addresses)


def _xml(root: str, elements: Iterable[str], more: str = "") -> HttpResponseBase:
    return tagged(HttpResponse("\n".join(_lines(root, elements, more)), content_type="application/xml"), NEWS)


def _lines(root: str, elements: Iterable[str], more: str) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield f'<{root} xmlns="{_SITEMAP}"{more}>'
    yield from elements
    yield f"</{root}>"
