"""Tags (surrogate keys) that say what a response shows, for the response cache and for proxies."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from django.http.response import HttpResponseBase

from articles.models import Article

SITE = "site"
"""On every response: for changes that may be visible anywhere, such as the name of a channel."""

NEWS = "news"
"""On every list over all channels."""

HEADER = "Surrogate-Key"
"""The header with a response's tags for Fastly and Varnish; `Cache-Tag` is the same for other proxies."""


def article_tag(pk: int) -> str:
    """On the page of an article."""
    return f"article:{pk}"


def channel_tag(pk: int) -> str:
    """On every list of a channel's articles."""
    return f"channel:{pk}"


def topic_tag(pk: int) -> str:
    """On every list of the articles with a newsroom tag."""
    return f"tag:{pk}"


def author_tag(pk: int) -> str:
    """On every list of an author's articles."""
    return f"author:{pk}"


def front_tag(language: str, channel: int | None = None) -> str:
    """On every page of the front of the site or of a channel; not with its slug, as headers are ASCII."""
    return f"front:{language}:{channel}" if channel else f"front:{language}"


def version_tag(pk: int) -> str:
    """On every page of a version of a front."""
    return f"version:{pk}"


def tagged(response: HttpResponseBase, *tags: str) -> HttpResponseBase:
    """Add tags to `response` and return it."""
    response.headers[HEADER] = " ".join(dict.fromkeys([*tags_on(response), *tags]))
    return response


def tags_on(response: HttpResponseBase) -> list[str]:
    """The tags of a response."""
    return str(response.headers.get(HEADER, "")).split()


def tags_of(article_ids: Collection[int]) -> set[str]:
    """The tags of the pages and lists that show these articles now: all pages if one has an open breaking alert."""
    columns = ("channel", "author", "tags", "alert__is_open")
    rows = list(Article.objects.filter(pk__in=article_ids).values_list(*columns))
    channels, authors, topics = (_known(row[position] for row in rows) for position in range(3))
    everywhere = {SITE} if any(is_open for *_ids, is_open in rows) else ()
    return {
        NEWS,
        *everywhere,
        *map(article_tag, article_ids),
        *map(channel_tag, channels),
        *map(author_tag, authors),
        *map(topic_tag, topics),
    }


def _known(ids: Iterable[int | None]) -> set[int]:
    return {pk for pk in ids if pk is not None}
