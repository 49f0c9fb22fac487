"""What the review found in a text, and which reviewer is on an article."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from articles.models.article import Article


class Review(models.Model):
    """What the automatic review found in a revision. Who approves the revision has accepted that."""

    revision = models.OneToOneField(
        "articles.Revision", on_delete=models.CASCADE, primary_key=True, related_name="review"
    )
    findings = models.JSONField(default=list, help_text=_("Words and faults, with their places."))
    reviewed_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = _("review")
        verbose_name_plural = _("reviews")
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.revision_id}"


class Claim(models.Model):
    """Which reviewer is on an article, so that no two read the same; it counts for `REVIEW_CLAIM`."""

    article = models.OneToOneField(Article, on_delete=models.CASCADE, primary_key=True, related_name="claim")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    claimed_at = models.DateTimeField()

    class Meta:
        verbose_name = _("claim")
        verbose_name_plural = _("claims")
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.person}: {self.article}"

    def counts_at(self, now: datetime) -> bool:
        """Whether it is not over yet."""
        return now < self.claimed_at + settings.REVIEW_CLAIM


class QueuedArticle(Article):
    """An article as the review queue lists it."""

    class Meta:
        proxy = True
        verbose_name = _("article for review")
        verbose_name_plural = _("review queue")
        default_permissions = ()
