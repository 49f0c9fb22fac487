"""What the sequencer of events works on: changes that it has not seen, and its last number."""

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
"""Numbers of one epoch of events; a restored backup begins another."""


class FeedHead(models.Model):
    """The last number of events: one row, whose lock protects the order. Without it the feed is rebuilt."""

    sequence = models.BigIntegerField(default=0)
    looked_at = models.DateTimeField()
    lost = models.PositiveIntegerField(default=0)  # events that webhooks have missed lately, the last of them:
    lost_at = models.DateTimeField(null=True)
    pruned_until = models.DateTimeField(null=True)  # when the last deleted event got its number; by a trigger

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.sequence}"
