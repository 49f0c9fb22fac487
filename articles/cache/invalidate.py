"""Invalidate cached responses and purge the CDN after the commit of a change."""

from __future__ import annotations

import threading
from collections.abc import Collection
from datetime import datetime, timedelta

from django.db import DatabaseError, transaction

from articles.cache.backend import CacheFailed
from articles.cache.cdn import purge_cdn, schedule_cdn_purge, schedule_missed_purge
from articles.cache.tags import SITE, tags_of
from articles.cache.ttl import MAX_TTL
from articles.cache.versions import invalidate
from scheduling.database import read_database_clock

_MAX_ARTICLES = 100
"""More articles than this are on so many pages that rebuilding all responses is cheaper than looking up the tags."""


_SKEW = timedelta(seconds=5)
"""How much longer than `MAX_TTL` a response may be valid on a host with another clock."""


class _Pending(threading.local):
    """Purges that wait for this thread's commit. Those of a rolled-back transaction are harmless extra purges."""

    def __init__(self) -> None:
        self.articles: set[int] = set()
        self.tags: set[str] = set()


_pending = _Pending()


def purge_articles(article_ids: Collection[int]) -> None:
    """After the commit, invalidate the responses that show these articles or list them in their channels and tags."""
    if len(article_ids) > _MAX_ARTICLES:
        return purge_tags(SITE)
    _pending.articles |= set(article_ids)
    schedule_cdn_purge(articles=article_ids)
    transaction.on_commit(_purge, robust=True)


def purge_tags(*tags: str) -> None:
    """After the commit, invalidate the responses with any of these tags."""
    _pending.tags |= set(tags)
    schedule_cdn_purge(tags=tags)
    transaction.on_commit(_purge, robust=True)


def purge_before(moment: datetime | None) -> None:
    """After the commit, invalidate the responses that are cached until after `moment`, which is a new next change."""
    if moment is not None and moment < read_database_clock() + MAX_TTL + _SKEW:
        purge_tags(SITE)


def purge_at_once(*tags: str) -> None:
    """Invalidate the responses with any of these tags without a commit. Raises `CacheFailed`."""
    schedule_cdn_purge(tags=tags)
    purge_cdn(tags)
    if not invalidate(tags):
        raise CacheFailed("The response cache could not be purged.")


def _purge() -> None:
    """Purge everything pending; later calls for the same transaction find nothing left."""
    articles, tags = _pending.articles, _pending.tags
    _pending.articles, _pending.tags = set(), set()
    if len(articles) > _MAX_ARTICLES:
        tags.add(SITE)
    if articles and SITE not in tags:
        try:
            # After the commit, so that the lists which the article has joined are found, too.
            tags |= tags_of(articles)
        except DatabaseError:  # the connection has ended since the commit
            tags = {SITE}
    if tags:
        tags = {SITE} if SITE in tags else tags
        if not invalidate(tags):
            schedule_missed_purge(tags)
        purge_cdn(tags)
