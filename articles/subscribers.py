"""The subscribers of each domain event, in the order in which they are called."""

from __future__ import annotations

import logging
from functools import partial

from django.db import transaction

from articles.cache import compose_by, schedule_purge
from articles.distribution import ping_soon
from articles.events import ArticlesPublished, ArticlesUnpublished, DueRecorded, EntriesRecorded, subscribe
from articles.notifications import notify_authors_of_due, notify_of_entries, notify_reviewers
from articles.push import wake_pushes
from articles.releases import as_due
from articles.webhooks import wake

logger = logging.getLogger(__name__)


def wake_dispatcher(event: ArticlesPublished | ArticlesUnpublished) -> None:
    """Have the events sent after the commit, if this process sends some, instead of at its next look."""
    transaction.on_commit(wake, robust=True)
    transaction.on_commit(wake_pushes, robust=True)


def log_published(event: ArticlesPublished) -> None:
    """Log the ids after the commit."""
    transaction.on_commit(partial(logger.debug, "articles published: %s", list(event.article_ids)), robust=True)


def log_unpublished(event: ArticlesUnpublished) -> None:
    """Log the ids after the commit."""
    transaction.on_commit(partial(logger.debug, "articles unpublished: %s", list(event.article_ids)), robust=True)


def purge_unpublished(event: ArticlesUnpublished) -> None:
    """Purge again a second later, unless the cache entries expired by themselves at the set time."""
    if not event.at_set_time:
        schedule_purge(articles=event.article_ids)


subscribe(
    {
        ArticlesPublished: (
            lambda event: ping_soon(event.article_ids),
            wake_dispatcher,
            log_published,
        ),
        ArticlesUnpublished: (
            lambda event: ping_soon(event.article_ids, are_gone=True),
            purge_unpublished,
            wake_dispatcher,
            log_unpublished,
        ),
        EntriesRecorded: (
            lambda event: notify_of_entries(event.entries),
            lambda event: notify_reviewers(event.entries),
        ),
        DueRecorded: (lambda event: notify_authors_of_due(event.action, event.article_ids),),
    }
)

compose_by(as_due)  # here, because the cache cannot know of releases
