"""Findings of the automatic review, the review policy, and claims of reviewers."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from articles.models.article import Article
from articles.models.base.timestamps import ChangedAtField
from articles.models.review_stage import ReviewStage


class Review(models.Model):
    """The findings of the automatic review in a revision, which its approval accepts."""

    revision = models.OneToOneField(
        "articles.Revision", on_delete=models.CASCADE, primary_key=True, related_name="review"
    )
    findings = models.JSONField(default=list, help_text=_("Words and problems, with their places."))
    reviewed_at = ChangedAtField()

    class Meta:
        verbose_name = _("review")
        verbose_name_plural = _("reviews")
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.revision_id}"


class ReviewPolicy(models.Model):
    """Whether the automatic review may approve: one row, which the newsroom edits."""

    ROW = 1

    class Machine(models.TextChoices):
        """What the automatic review may do with a text without findings."""

        NEVER = "never", _("A reviewer approves every text")
        TEXTS = "texts", _("Automatic review approves, unless an author who may not schedule has set the time")
        ALL = "all", _("Automatic review approves, also at times set by authors who may not schedule")

    machine = models.CharField(_("who approves"), max_length=5, choices=Machine.choices, default=Machine.NEVER)

    class Meta:
        verbose_name = _("review policy")
        verbose_name_plural = _("review policy")
        default_permissions = ("view", "change")

    def __str__(self) -> str:
        return str(self.get_machine_display())

    @classmethod
    def chosen(cls) -> ReviewPolicy.Machine:
        """The effective policy: by default, with several stages and under the two-person rule, reviewers approve."""
        if settings.ARTICLES_TWO_PERSON_RULE or ReviewStage.objects.count() > 1:
            return cls.Machine.NEVER
        found = cls.objects.filter(pk=cls.ROW).values_list("machine", flat=True).first()
        return cls.Machine(found or cls.Machine.NEVER)


class SoftLock(models.Model):
    """A reviewer's claim on an article, which lasts for `REVIEW_SOFT_LOCK`."""

    article = models.OneToOneField(Article, on_delete=models.CASCADE, primary_key=True, related_name="soft_lock")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    locked_at = models.DateTimeField()
    until_left = models.BooleanField(default=False, help_text=_("Released when its user leaves the review page."))

    class Meta:
        verbose_name = _("claim")
        verbose_name_plural = _("claims")
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.user}: {self.article}"

    def counts_at(self, now: datetime) -> bool:
        """Whether it still applies."""
        return now < self.locked_at + settings.REVIEW_SOFT_LOCK


class QueuedArticle(Article):
    """An article as the review queue lists it."""

    class Meta:
        proxy = True
        verbose_name = _("article to review")
        verbose_name_plural = _("review queue")
        default_permissions = ()
