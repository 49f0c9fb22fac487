"""The change feed: in which order readers saw articles come, change and go, for programs that follow them."""

from __future__ import annotations

from django.db import models


class PendingChange(models.Model):
    """Somebody wrote something that readers may see differently, and nobody has looked yet whether they do.

    Triggers write it in the transaction of the change, whatever changes the article, so it is there when the change is,
    and not before: no change is missed because its transaction ended late.
    """

    article_id = models.BigIntegerField()
    is_visible = models.BooleanField()  # its text has changed, and not only from when to when it is shown
    at = models.DateTimeField()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.article_id}"


class FeedEntry(models.Model):
    """An article that readers saw, and what last became of it; outlives the article.

    `sequence` is higher than that of everything that was entered before. It is given under the lock of the `FeedHead`,
    so who has read up to a number misses nothing that comes later.
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
    entered_at = models.DateTimeField(db_index=True)  # when it was entered here; never earlier than before

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.article_id} {self.state}"


class FeedHead(models.Model):
    """How far the feed has got: one row, whose lock is that of the feed. Without it the feed is written anew."""

    sequence = models.BigIntegerField(default=0)
    looked_at = models.DateTimeField()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.sequence}"
