"""The names of what answers show. A change makes void what carries its tags; proxies hear the same names."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from django.http.response import HttpResponseBase

from articles.models import Article

SITE = "site"
"""On every answer: for changes that may be seen anywhere, such as the name of a channel."""

NEWS = "news"
"""On every list over all channels."""

HEADER = "Surrogate-Key"
"""Where an answer names its tags, for Fastly and Varnish; `Cache-Tag` says the same to others."""


def article_tag(pk: int) -> str:
    """On the page of an article."""
    return f"article:{pk}"


def channel_tag(pk: int) -> str:
    """On everything that lists the articles of a channel."""
    return f"channel:{pk}"


def topic_tag(pk: int) -> str:
    """On everything that lists the articles with a tag of the newsroom's."""
    return f"tag:{pk}"


def author_tag(pk: int) -> str:
    """On everything that lists the articles of an author."""
    return f"author:{pk}"


def tagged(response: HttpResponseBase, *tags: str) -> HttpResponseBase:
    """`response`, which shows what these tags stand for."""
    response.headers[HEADER] = " ".join(dict.fromkeys([*tags_on(response), *tags]))
    return response


def tags_on(response: HttpResponseBase) -> list[str]:
    """What a response says it shows."""
    return str(response.headers.get(HEADER, "")).split()


def tags_of(article_ids: Collection[int]) -> set[str]:
    """Where these articles are shown now: on their pages and in lists. Two statements."""
    rows = list(Article.objects.filter(pk__in=article_ids).values_list("channel", "author"))
    topics = Article.tags.through.objects.filter(article_id__in=article_ids).values_list("tag_id", flat=True)
    return {
        NEWS,
        *map(article_tag, article_ids),
        *map(channel_tag, _known(channel for channel, _author in rows)),
        *map(author_tag, _known(author for _channel, author in rows)),
        *map(topic_tag, topics.distinct()),
    }


def _known(ids: Iterable[int | None]) -> set[int]:
    return {pk for pk in ids if pk is not None}
