"""Updates: new texts of articles that already have an approved one."""

from __future__ import annotations

from datetime import datetime
from typing import Self

from django.db import models
from django.utils.translation import gettext_lazy as _

from articles.limits import REASON_LENGTH
from articles.models.article import AT_RISK_WITHIN, Article, Instant
from articles.models.base.timestamps import ChangedAtField
from articles.models.translatable import TranslatableField


class UpdateQuerySet(models.QuerySet["Update"]):
    """Queries for updates."""

    def at_risk(self, now: datetime) -> Self:
        """Unapproved updates whose time is within `AT_RISK_WITHIN`."""
        return self.filter(approved__isnull=True, publish_at__gt=now, publish_at__lte=now + AT_RISK_WITHIN)

    def due(self, now: Instant) -> Self:
        """Approved updates whose time has come, and which no worker has stored yet."""
        return self.filter(approved__isnull=False, publish_at__lte=now)

    def overdue(self, now: datetime) -> Self:
        """Unapproved updates whose time is past; readers get approved ones by the clock."""
        return self.filter(approved__isnull=True, publish_at__lte=now)


class Update(models.Model):
    """The new text of an article whose own columns hold an approved one: a draft being written or reviewed, an
    approved text that waits to replace them, or both.
    """

    article = models.OneToOneField(Article, on_delete=models.CASCADE, related_name="update", verbose_name=_("article"))
    draft = models.ForeignKey(
        "articles.Revision", on_delete=models.CASCADE, null=True, related_name="+", verbose_name=_("draft")
    )
    status = models.SmallIntegerField(
        _("status"), choices=Article.Status.choices, default=Article.Status.DRAFT, help_text=_("Status of the draft.")
    )
    status_reason = TranslatableField(_("reason"), max_length=REASON_LENGTH, blank=True)
    approved = models.ForeignKey(
        "articles.Revision", on_delete=models.CASCADE, null=True, related_name="+", verbose_name=_("approved")
    )
    publish_at = models.DateTimeField(
        _("update goes live"),
        null=True,
        blank=True,
        help_text=_("The approved update replaces the live text at this time."),
    )
    updated_at = ChangedAtField(_("last modified"))

    objects = UpdateQuerySet.as_manager()

    class Meta:
        verbose_name = _("update")
        verbose_name_plural = _("updates")
        indexes = [models.Index(fields=["publish_at"], name="update_waiting")]

    def __str__(self) -> str:
        return f"{self.article_id}"

    @property
    def due_since(self) -> datetime:
        """From when readers see its approved text; one that was approved after its time is seen from then on."""
        assert self.publish_at is not None  # noqa: S101 (the caller chose one with a time)
        return max(self.publish_at, self.updated_at)

    @property
    def headline(self) -> str:
        """The headline of the approved text, or else of the draft."""
        text = self.approved or self.draft
        return text.title if text else ""
