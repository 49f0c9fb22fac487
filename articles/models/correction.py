"""Corrections of published mistakes, as shown to readers."""

from __future__ import annotations

from datetime import datetime

from django.db import models
from django.utils.translation import gettext_lazy as _

from articles.limits import REASON_LENGTH


class Correction(models.Model):
    """A public note at the foot of an article, from the time the corrected text went live."""

    article = models.ForeignKey(
        "articles.Article", on_delete=models.CASCADE, related_name="corrections", verbose_name=_("article")
    )
    revision = models.ForeignKey(
        "articles.Revision", on_delete=models.CASCADE, related_name="+", verbose_name=_("revision")
    )
    note = models.CharField(_("correction"), max_length=REASON_LENGTH)
    published_at = models.DateTimeField(_("went live"))

    class Meta:
        verbose_name = _("correction")
        verbose_name_plural = _("corrections")
        ordering = ["published_at", "id"]

    def __str__(self) -> str:
        return self.note

    @property
    def shown_since(self) -> datetime:
        """When readers first saw it: with the article, if the text was corrected before that went live."""
        return max(self.published_at, self.article.goes_live_at or self.published_at)
