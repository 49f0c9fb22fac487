"""Who hears of what: the subscribers of each domain event, in the order in which they are called.

Nothing leaves this process before the commit. What is to leave it is written in the transaction of the change
(transactional outbox), and sent afterwards, at least once, and retried:

* WebSub, mail and CDN purge: a task of type `PING`, `MAIL` or `PURGE`, run by `articles.handlers`;
* webhooks and `EVENTS_SINK`: an `Event`, which the audit log writes, sent by `articles.webhooks`;
* pushes: a `Push`, which `articles.push` plans from what is published, at most once for each reader.
"""

from __future__ import annotations

from django.db import transaction

from articles.cache import compose_by, schedule_purge
from articles.distribution import ping_of_vanishing, ping_soon
from articles.events import (
    ArticlesPublished,
    ArticlesUnpublished,
    ArticlesVanishing,
    DueRecorded,
    EntriesRecorded,
    subscribe,
)
from articles.notifications import notify_authors_of_due, notify_of_entries, notify_reviewers
from articles.push import wake_pushes
from articles.releases import as_due
from articles.webhooks import wake


def purge_cdn(event: ArticlesUnpublished) -> None:
    """Purge again a second later, unless the cache entries expired by themselves at the set time."""
    if not event.at_set_time:
        schedule_purge(articles=event.article_ids)


def wake_webhooks(event: ArticlesPublished | ArticlesUnpublished) -> None:
    """Have events sent after the commit, if this process sends some, instead of at its next look."""
    transaction.on_commit(wake, robust=True)


def wake_sender_of_pushes(event: ArticlesPublished) -> None:
    """Have pushes sent after the commit, as above."""
    transaction.on_commit(wake_pushes, robust=True)


subscribe(
    {
        ArticlesPublished: (
            lambda event: ping_soon(event.article_ids),
            wake_webhooks,
            wake_sender_of_pushes,
        ),
        ArticlesUnpublished: (
            lambda event: ping_soon(event.article_ids, are_gone=True),
            purge_cdn,
            wake_webhooks,
        ),
        ArticlesVanishing: (lambda event: ping_of_vanishing(event.article_ids),),
        EntriesRecorded: (
            notify_of_entries,
            notify_reviewers,
        ),
        DueRecorded: (lambda event: notify_authors_of_due(event.action, event.article_ids),),
    }
)

compose_by(as_due)  # here, because the cache cannot know of releases
