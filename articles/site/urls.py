"""URLs of the readers' site."""

from __future__ import annotations

import re

from django.conf import settings
from django.urls import path, register_converter

from articles.site import archive, previews, search, shared_pages, sitemaps, views
from articles.site.feeds import views as feeds
from articles.site.media import media
from articles.site.push import subscription, worker


class SiteLanguage:
    """A path segment that is one of the site's languages."""

    regex = "|".join(re.escape(code) for code, _name in settings.LANGUAGES)

    def to_python(self, value: str) -> str:
        """The language's code."""
        return value

    def to_url(self, value: str) -> str:
        """The same."""
        return value


register_converter(SiteLanguage, "language")

urlpatterns = [
    path("", views.home, name="home"),
    path("<language:language>/", views.front, name="front"),
    path("front/<int:year>/<int:month>/<int:day>/<str:wall>", archive.front_then, name="front-archive"),
    path("latest/", views.latest, name="latest"),
    path("channel/<str:slug>/", views.channel, name="channel"),
    path("tag/<str:slug>/", views.tag, name="tag"),
    path("author/<int:pk>/", views.author, name="author"),
    path("media/<uuid:pk>/<str:name>", media, name="media"),
    path("preview/<str:token>/", previews.by_link, name="preview"),
    path("preview/page/<str:token>/", shared_pages.by_link, name="shared-page"),
    path("article/<int:pk>/", views.article, name="article-by-id"),
    path("article/<int:pk>/<str:slug>/", views.article, name="article"),
    path("search/", search.search, name="search"),
    path("push/", subscription, name="push"),
    path("push-worker.js", worker, name="push-worker"),
    path("feed/", feeds.site_feed, name="feed"),
    path("feed/<str:form>/", feeds.site_feed, name="feed"),
    path("channel/<str:slug>/feed/", feeds.channel_feed, name="channel-feed"),
    path("channel/<str:slug>/feed/<str:form>/", feeds.channel_feed, name="channel-feed"),
    path("tag/<str:slug>/feed/", feeds.tag_feed, name="tag-feed"),
    path("tag/<str:slug>/feed/<str:form>/", feeds.tag_feed, name="tag-feed"),
    path("author/<int:pk>/feed/", feeds.author_feed, name="author-feed"),
    path("author/<int:pk>/feed/<str:form>/", feeds.author_feed, name="author-feed"),
    path("sitemap.xml", sitemaps.index, name="sitemap"),
    path("sitemap-pages.xml", sitemaps.pages, name="sitemap-pages"),
    path("sitemap-<int:number>.xml", sitemaps.section, name="sitemap-section"),
    path("news-sitemap.xml", sitemaps.news, name="news-sitemap"),
    path("favicon.ico", views.icon, name="icon"),
    path("robots.txt", sitemaps.robots, name="robots"),
]
