"""Events: what happened to articles, releases and fronts, for other systems. The change feed is a view of them."""

from __future__ import annotations

from typing import Self

from django.db import models
from django.utils.translation import gettext_lazy as _


class EventQuerySet(models.QuerySet["Event"]):
    """Events in the order of their numbers."""

    def in_feed(self) -> Self:
        """The change feed: the last event of each article that changed what readers see."""
        return self.filter(feed_seq__isnull=False)

    def unnumbered(self) -> Self:
        """Those that the sequencer has not seen yet."""
        return self.filter(seq__isnull=True)

    def of_articles(self) -> Self:
        """Those about articles."""
        return self.filter(kind__startswith="article.")


class Event(models.Model):
    """Something that happened, written in the transaction of the change (transactional outbox).

    `seq` is given after the commit, under the lock of the `FeedHead`, without gaps: who has read up to a number misses
    nothing later. The order of ids of one object is that of its transactions, which hold its lock.
    """

    class Kind(models.TextChoices):
        """What happened; the part before the full stop is what `object_id` is about."""

        PUBLISHED = "article.published", _("Article published")
        UPDATED = "article.updated", _("Article updated")
        CORRECTED = "article.corrected", _("Article corrected")
        UNPUBLISHED = "article.unpublished", _("Article unpublished")
        REPUBLISHED = "article.republished", _("Article republished")
        RETRACTED = "article.retracted", _("Article retracted")
        SCHEDULED = "article.scheduled", _("Article scheduled")
        UNSCHEDULED = "article.unscheduled", _("Article unscheduled")
        RELEASE_PUBLISHED = "release.published", _("Release published")
        RELEASE_FAILED = "release.failed", _("Release failed")
        RELEASE_ROLLED_BACK = "release.rolled_back", _("Release rolled back")
        FRONT_LIVE = "front.live", _("Front page changed")

    class State(models.TextChoices):
        """What readers see of an article after it."""

        LIVE = "live"
        UNPUBLISHED = "unpublished"
        RETRACTED = "retracted"
        DELETED = "deleted"

    kind = models.CharField(_("kind"), max_length=32, choices=Kind.choices)
    object_id = models.BigIntegerField(_("object ID"))
    revision = models.PositiveIntegerField(_("revision"), default=0)
    planned_at = models.DateTimeField(_("planned for"), null=True, blank=True)
    happened_at = models.DateTimeField(_("time"))
    payload = models.JSONField(_("more"), default=dict, blank=True)
    seq = models.BigIntegerField(_("number"), null=True, unique=True)
    numbered_at = models.DateTimeField(null=True, db_index=True)  # never decreases
    state = models.CharField(max_length=12, choices=State.choices, blank=True)
    feed_seq = models.BigIntegerField(null=True, unique=True)  # `seq`, until the article changes again for readers

    objects = EventQuerySet.as_manager()

    class Meta:
        default_permissions = ()
        verbose_name = _("event")
        verbose_name_plural = _("events")
        constraints = [
            models.UniqueConstraint(fields=["object_id", "kind", "revision", "happened_at"], name="event_once")
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.object_id}"
