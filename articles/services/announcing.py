"""Where the rest of the world will notice that articles came or went: caches, feeds, search, webhooks.

The clock shows an article to readers without any of this; what is told here is what a clock cannot do.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from functools import partial

from django.db import transaction

from articles.caching.proxies import purge_again
from articles.services.pinging import ping_soon

logger = logging.getLogger(__name__)


def announce_published(article_ids: Collection[int]) -> None:
    """After the commit: these articles are out, or have a new text."""
    ping_soon(article_ids)
    transaction.on_commit(partial(logger.debug, "articles out: %s", list(article_ids)), robust=True)


def announce_withdrawn(article_ids: Collection[int], *, by_the_clock: bool = False) -> None:
    """After the commit: these articles are unpublished; caches know beforehand when the clock does it."""
    ping_soon(article_ids, are_gone=True)
    if not by_the_clock:
        purge_again(articles=article_ids)
    transaction.on_commit(partial(logger.debug, "articles taken off: %s", list(article_ids)), robust=True)
