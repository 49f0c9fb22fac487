"""The change feed: the order in which articles went live, changed and left, for API clients."""

from __future__ import annotations

from django.db import models


class PendingChange(models.Model):
    """An article was written, and it has not been checked yet whether readers see a change.

    Triggers write it in the transaction of the change, whatever changes the article, so it is there when the change is,
    and not before: no change is missed because its transaction ended late.
    """

    article_id = models.BigIntegerField()
    is_visible = models.BooleanField()  # its text has changed, not only its times
    at = models.DateTimeField()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.article_id}"


FEED_EPOCH = 10**9
"""Sequence numbers of one epoch of the change feed; a restored backup begins another."""


class FeedEntry(models.Model):
    """The last change of an article that readers saw; outlives the article.

    `sequence` is higher than that of everything that was entered before. It is given under the lock of the `FeedHead`,
    so a client that has read up to a number misses nothing later.
    """

    class State(models.TextChoices):
        """What readers see of it."""

        LIVE = "live"
        UNPUBLISHED = "unpublished"
        RETRACTED = "retracted"
        DELETED = "deleted"

    article_id = models.BigIntegerField(primary_key=True)
    sequence = models.BigIntegerField(unique=True)
    state = models.CharField(max_length=12, choices=State.choices)
    at = models.DateTimeField()  # when readers saw it change
    entered_at = models.DateTimeField(db_index=True)  # when it was added to the feed; never decreases

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.article_id} {self.state}"


class FeedHead(models.Model):
    """The end of the feed: one row, whose lock protects the feed. Without it the feed is rebuilt."""

    sequence = models.BigIntegerField(default=0)
    looked_at = models.DateTimeField()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.sequence}"
