"""Article templates: what a new article begins with, such as a match report."""

from __future__ import annotations

from typing import Self

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from articles.limits import BODY_LENGTH, LABEL_LENGTH, SUMMARY_LENGTH, TITLE_LENGTH
from articles.models.names import NameField


class ArticleTemplateQuerySet(models.QuerySet["ArticleTemplate"]):
    """Queries for article templates."""

    def offered(self) -> Self:
        """Those of enabled channels and of all channels, by channel."""
        offered = self.filter(Q(channel__isnull=True) | Q(channel__enabled=True)).select_related("channel")
        return offered.order_by("channel__position", "channel__name", "name")


class ArticleTemplate(models.Model):
    """The text and tags with which an article of a channel, or of any, may begin."""

    name = NameField(_("name"), max_length=LABEL_LENGTH, help_text=_("Such as “Match report”."))
    channel = models.ForeignKey(
        "articles.Channel",
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="templates",
        verbose_name=_("channel"),
        help_text=_("Empty: for articles of any channel."),
    )
    title = models.CharField(_("headline"), max_length=TITLE_LENGTH, blank=True)
    summary = models.CharField(_("summary"), max_length=SUMMARY_LENGTH, blank=True)
    body = models.TextField(_("body"), blank=True, max_length=BODY_LENGTH)
    tags = models.ManyToManyField("articles.Tag", blank=True, related_name="+", verbose_name=_("tags"))

    objects = ArticleTemplateQuerySet.as_manager()

    class Meta:
        verbose_name = _("article template")
        verbose_name_plural = _("article templates")
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["channel", "name"], name="article_template_name")]

    def __str__(self) -> str:
        return str(self.name)
