"""Making void, after the commit, what shows something that was changed."""

from __future__ import annotations

import threading
from collections.abc import Collection

from django.db import transaction

from articles.cache.cdn import purge_cdn, purge_proxies_later
from articles.cache.tags import SITE, tags_of
from articles.cache.versions import renew

_MOST_ARTICLES = 100
"""More than these are on so many pages that looking for each costs more than making all of them anew."""


class _Pending(threading.local):
    """What this thread is about to purge. What a rolled-back transaction left here is purged without need."""

    def __init__(self) -> None:
        self.articles: set[int] = set()
        self.tags: set[str] = set()


_pending = _Pending()


def purge_articles(article_ids: Collection[int]) -> None:
    """After the commit, make void what shows these articles where they stand then; a few statements for many."""
    if len(article_ids) > _MOST_ARTICLES:
        return purge_tags(SITE)
    _pending.articles |= set(article_ids)
    purge_proxies_later(articles=article_ids)
    transaction.on_commit(_purge, robust=True)


def purge_tags(*tags: str) -> None:
    """After the commit, make void what carries one of these tags."""
    _pending.tags |= set(tags)
    purge_proxies_later(tags=tags)
    transaction.on_commit(_purge, robust=True)


def _purge() -> None:
    """All that is pending at once: the other calls of the same transaction find nothing left."""
    articles, tags = _pending.articles, _pending.tags
    _pending.articles, _pending.tags = set(), set()
    if len(articles) > _MOST_ARTICLES:
        tags.add(SITE)
    if articles and SITE not in tags:
        tags |= tags_of(articles)
    if tags:
        tags = {SITE} if SITE in tags else tags
        renew(tags)
        purge_cdn(tags)
