"""What the last review of an article found, and which reviewer is on it."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from articles.models.article import Article


class Review(models.Model):
    """The last review of an article: its findings, and the person who has claimed it."""

    article = models.OneToOneField(Article, on_delete=models.CASCADE, primary_key=True, related_name="review")
    findings = models.JSONField(default=list, help_text=_("Words and faults, with their places."))
    claimed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    claimed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = _("review")
        verbose_name_plural = _("reviews")
        default_permissions = ()

    def __str__(self) -> str:
        return str(self.article)

    def is_claimed_at(self, now: datetime) -> bool:
        """Whether somebody's claim still counts at `now`."""
        return bool(self.claimed_by_id and self.claimed_at and now < self.claimed_at + settings.REVIEW_CLAIM)


class QueuedArticle(Article):
    """An article as the review queue lists it."""

    class Meta:
        proxy = True
        verbose_name = _("article for review")
        verbose_name_plural = _("review queue")
        default_permissions = ()
