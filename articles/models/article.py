"""Articles, and the one condition that decides what readers see."""

from __future__ import annotations

from datetime import datetime
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.expressions import Combinable
from django.urls import reverse
from django.utils.translation import gettext_lazy as _


class ArticleQuerySet(models.QuerySet["Article"]):
    """The words in which the house asks for articles."""

    def live(self, now: datetime | Combinable) -> Self:
        """What readers may see at `now`: the clock decides, not the worker."""
        return self.filter(
            Q(embargo_until__isnull=True) | Q(embargo_until__lte=now),
            Q(unpublish_at__isnull=True) | Q(unpublish_at__gt=now),
            status__in=Article.Status.visible(),
            publish_at__lte=now,
        )

    def newest_first(self) -> Self:
        """In the order of a front page."""
        return self.order_by("-publish_at", "-id")


class Article(models.Model):
    """A piece of news, from its draft to its withdrawal."""

    class Status(models.IntegerChoices):
        """Where an article stands; `articles.workflow` says which way it may go."""

        DRAFT = 0, _("Draft")
        SUBMITTED = 1, _("Submitted")
        REJECTED = 2, _("Rejected")
        MANUAL_REVIEW = 3, _("Needs a reviewer")
        MANUALLY_APPROVED = 4, _("Approved by a person")
        APPROVED = 8, _("Approved")
        PUBLISHED = 9, _("Published")
        WITHDRAWN = 10, _("Withdrawn")

        @classmethod
        def waiting(cls) -> tuple[Article.Status, ...]:
            """Approved, and waiting for its time."""
            return cls.MANUALLY_APPROVED, cls.APPROVED

        @classmethod
        def visible(cls) -> tuple[Article.Status, ...]:
            """Shown to readers once its time has come."""
            return cls.MANUALLY_APPROVED, cls.APPROVED, cls.PUBLISHED

    title = models.CharField(_("headline"), max_length=200)
    slug = models.SlugField(_("slug"), max_length=200, allow_unicode=True, blank=True)
    summary = models.CharField(_("summary"), max_length=500, blank=True)
    body = models.TextField(_("body"), blank=True)
    channel = models.ForeignKey(
        "articles.Channel", on_delete=models.PROTECT, related_name="articles", verbose_name=_("channel"),
        null=True, blank=True,
    )
    tags = models.ManyToManyField("articles.Tag", related_name="articles", blank=True, verbose_name=_("tags"))
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="articles",
        verbose_name=_("author"),
    )
    byline = models.CharField(_("byline"), max_length=120, blank=True, help_text=_("Shown instead of the author."))
    status = models.SmallIntegerField(_("status"), choices=Status.choices, default=Status.DRAFT)
    status_reason = models.CharField(_("reason"), max_length=500, blank=True)
    publish_at = models.DateTimeField(_("publish at"), null=True, blank=True)
    unpublish_at = models.DateTimeField(_("take off at"), null=True, blank=True)
    embargo_until = models.DateTimeField(_("embargo until"), null=True, blank=True)
    published_at = models.DateTimeField(
        _("went live"), null=True, blank=True, editable=False, help_text=_("The real time, stamped by the task.")
    )
    external_id = models.CharField(  # noqa: DJ001 (unique unless null)
        _("external id"), max_length=191, null=True, blank=True, unique=True, editable=False
    )
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    updated_at = models.DateTimeField(_("last change"), auto_now=True)

    objects = ArticleQuerySet.as_manager()

    class Meta:
        verbose_name = _("article")
        verbose_name_plural = _("articles")
        indexes = [
            models.Index(fields=["status", "publish_at"], name="article_waiting"),
            models.Index(fields=["publish_at", "id"], name="article_newest"),
            models.Index(fields=["channel", "publish_at", "id"], name="article_channel_newest"),
        ]

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        """The article's page on the site."""
        return reverse("article", kwargs={"pk": self.pk, "slug": self.slug or "-"})
