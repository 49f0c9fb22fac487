"""Steps taken with many articles at once: which articles, how far it got, and what became of each."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Self

from django.conf import settings
from django.db import models
from django.db.models import Count, Q
from django.utils.translation import gettext_lazy as _


class BulkActionQuerySet(models.QuerySet["BulkAction"]):
    """The words in which the house asks for batches."""

    def of(self, user: Any) -> Self:
        """One's own, the latest first."""
        return self.filter(user=user.pk).order_by("-pk")

    def outdated(self, now: datetime) -> Self:
        """Chosen the day before but never begun, or so old that nobody asks any more."""
        forgotten = Q(started_at__isnull=True, created_at__lt=now - timedelta(days=1))
        return self.filter(forgotten | Q(created_at__lt=now - BulkAction.KEPT_FOR))


class BulkAction(models.Model):
    """A step that one person takes with many articles, or takes back."""

    UNDO_WITHIN = timedelta(hours=1)
    """How long after its end a batch can be undone."""

    KEPT_FOR = timedelta(days=30)
    """How long people can look it up; the audit record keeps what was done."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="bulk_actions")
    transition = models.CharField(max_length=32)
    parameters = models.JSONField(default=dict, help_text=_("Time or duration, for actions that need one."))
    language = models.CharField(max_length=16, blank=True)
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    undoes = models.OneToOneField("self", on_delete=models.CASCADE, null=True, related_name="undone_by")

    objects = BulkActionQuerySet.as_manager()

    class Meta:
        default_permissions = ()
        verbose_name = _("bulk action")
        verbose_name_plural = _("bulk actions")

    def __str__(self) -> str:
        return f"{self.transition} {self.pk}"

    @property
    def is_undo(self) -> bool:
        """Whether it takes another batch back."""
        return self.undoes_id is not None

    def counts(self) -> dict[str, int]:
        """How many articles it has, and with how many it is done or was refused."""
        states = BulkActionItem.State
        return self.items.aggregate(
            total=Count("pk"),
            done=Count("pk", filter=Q(state=states.DONE)),
            refused=Count("pk", filter=Q(state=states.REFUSED)),
        )


class BulkActionItem(models.Model):
    """One article of a batch. Its id and title are kept as they were, because it may be deleted meanwhile."""

    class State(models.IntegerChoices):
        """What became of it."""

        PENDING = 0, _("Pending")
        DONE = 1, _("Done")
        REFUSED = 2, _("Skipped")

    bulk_action = models.ForeignKey(BulkAction, on_delete=models.CASCADE, related_name="items")
    article_id = models.BigIntegerField()
    title = models.CharField(max_length=200)
    state = models.SmallIntegerField(choices=State.choices, default=State.PENDING)
    reason = models.CharField(max_length=500, blank=True)
    revision = models.PositiveIntegerField(null=True, help_text=_("The revision shown, for an approval."))
    before = models.JSONField(default=dict, help_text=_("State before the action."))
    entry = models.BigIntegerField(null=True, help_text=_("The matching audit entry."))

    class Meta:
        default_permissions = ()
        verbose_name = _("article in a bulk action")
        verbose_name_plural = _("articles in bulk actions")
        indexes = [models.Index(fields=["bulk_action", "state", "article_id"], name="bulk_action_item_next")]

    def __str__(self) -> str:
        return self.title
