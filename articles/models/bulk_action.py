"""Bulk actions: their articles, progress and results."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Self

from django.conf import settings
from django.db import models
from django.db.models import Count, Q
from django.utils.translation import gettext_lazy as _

from articles.limits import REASON_LENGTH, TITLE_LENGTH


class BulkActionQuerySet(models.QuerySet["BulkAction"]):
    """Queries for bulk actions."""

    def of(self, user: Any) -> Self:
        """Those of a user, latest first."""
        return self.filter(user=user.pk).order_by("-pk")

    def outdated(self, now: datetime) -> Self:
        """Those that were not started for a day, or are past the time they are stored."""
        forgotten = Q(started_at__isnull=True, created_at__lt=now - timedelta(days=1))
        return self.filter(forgotten | Q(created_at__lt=now - BulkAction.KEPT_FOR))


class BulkAction(models.Model):
    """A transition that a user applies to many articles, or the undo of one."""

    UNDO_WITHIN = timedelta(hours=1)
    """How long after its end a bulk action can be undone."""

    KEPT_FOR = timedelta(days=30)
    """How long it is stored; the audit log is permanent."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="bulk_actions")
    transition = models.CharField(max_length=32)
    parameters = models.JSONField(default=dict, help_text=_("The time or the minutes that the transition needs."))
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
        """Whether it undoes another bulk action."""
        return self.undoes_id is not None

    def counts(self) -> dict[str, int]:
        """The numbers of its articles: in total, done and refused."""
        states = BulkActionItem.State
        return self.items.aggregate(
            total=Count("pk"),
            done=Count("pk", filter=Q(state=states.DONE)),
            refused=Count("pk", filter=Q(state=states.REFUSED)),
        )


class BulkActionItem(models.Model):
    """One article of a bulk action. Its id and title are stored, because it may be deleted."""

    class State(models.IntegerChoices):
        """The result for the article."""

        PENDING = 0, _("Pending")
        DONE = 1, _("Done")
        REFUSED = 2, _("Skipped")

    bulk_action = models.ForeignKey(BulkAction, on_delete=models.CASCADE, related_name="items")
    article_id = models.BigIntegerField()
    title = models.CharField(max_length=TITLE_LENGTH)
    state = models.SmallIntegerField(choices=State.choices, default=State.PENDING)
    reason = models.CharField(max_length=REASON_LENGTH, blank=True)
    revision = models.PositiveIntegerField(null=True, help_text=_("The revision that was shown, for an approval."))
    stage = models.CharField(
        max_length=12, blank=True, help_text=_("The review stage that was shown, for an approval.")
    )
    before = models.JSONField(default=dict, help_text=_("The state of the article before."))
    entry = models.BigIntegerField(null=True, help_text=_("The id of its audit entry."))

    class Meta:
        default_permissions = ()
        verbose_name = _("article of a bulk action")
        verbose_name_plural = _("articles of a bulk action")
        indexes = [models.Index(fields=["bulk_action", "state", "article_id"], name="bulk_action_item_next")]

    def __str__(self) -> str:
        return self.title
