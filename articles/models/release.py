"""Releases: articles, newer texts and take-offs that go live together, by one commit."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Self

from django.conf import settings
from django.db import models, transaction
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from articles.models.article import Article

MAX_MEMBERS = 500
"""Articles in one release: as many as go out in one transaction without holding up the others."""


class ReleaseQuerySet(models.QuerySet["Release"]):
    """The words in which the house asks for releases."""

    def pending(self) -> Self:
        """Those that have not gone out and still may: they keep their members."""
        return self.filter(status__in=Release.Status.pending())

    def scheduled(self) -> Self:
        """Those that wait for their time."""
        return self.filter(status=Release.Status.SCHEDULED, publish_at__isnull=False)


class Release(models.Model):
    """Several articles that readers see change in the same instant, or not at all.

    Whatever saves a release keeps its task true and its members bound, in the same transaction.
    """

    class Status(models.TextChoices):
        """Where a release stands; `articles.workflow` says which way it may go."""

        DRAFT = "draft", pgettext_lazy("status of a release", "Draft")
        SCHEDULED = "scheduled", _("Scheduled")
        PUBLISHED = "published", _("Published")
        FAILED = "failed", _("Failed")
        CANCELLED = "cancelled", _("Cancelled")
        ROLLED_BACK = "rolled_back", _("Rolled back")

        @classmethod
        def pending(cls) -> tuple[Release.Status, ...]:
            """It may still go out, and keeps its members."""
            return cls.DRAFT, cls.SCHEDULED, cls.FAILED

    name = models.CharField(_("name"), max_length=120)
    status = models.CharField(_("status"), max_length=20, choices=Status.choices, default=Status.DRAFT)
    reason = models.TextField(_("reason"), blank=True, help_text=_("The articles and their issues."))
    publish_at = models.DateTimeField(_("publish at"), null=True, blank=True)
    published_at = models.DateTimeField(
        _("went live"), null=True, blank=True, editable=False, help_text=_("The one real time of all its articles.")
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        editable=False,
        related_name="+",
        verbose_name=_("created by"),
    )
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    updated_at = models.DateTimeField(_("last modified"), auto_now=True)

    objects = ReleaseQuerySet.as_manager()

    class Meta:
        verbose_name = _("release")
        verbose_name_plural = _("releases")
        default_permissions = ["view"]
        permissions = [("schedule_release", _("Can create, schedule, publish and roll back releases"))]
        indexes = [models.Index(fields=["status", "publish_at"], name="release_waiting")]

    def __str__(self) -> str:
        return self.name

    def save(self, *args: Any, **options: Any) -> None:
        """Save it; its members are bound to it while it is pending, and free afterwards."""
        with transaction.atomic():
            super().save(*args, **options)
            self.bind_members()

    def bind_members(self) -> None:
        """Hold the members or let them go. Raises `IntegrityError` if one is held by another release."""
        self.members.update(holds=True if self.is_pending else None)

    @property
    def is_pending(self) -> bool:
        """Whether it has not gone out and still may."""
        return self.status in self.Status.pending()


class ReleaseMemberQuerySet(models.QuerySet["ReleaseMember"]):
    """The words in which the house asks who belongs to what."""

    def holding(self, article_ids: Collection[int], *actions: str) -> Self:
        """Those by which a pending release holds one of these articles, for one of these actions (none: any)."""
        held = self.filter(article__in=article_ids, holds=True)
        return held.filter(action__in=actions) if actions else held


class ReleaseMember(models.Model):
    """An article in a release, and what happens to it then.

    `holds` is true while the release is pending and null afterwards, so that the database itself refuses an article in
    two pending releases. A member outlives its article: a release does not go out with an article less than planned.
    """

    class Action(models.TextChoices):
        """What happens to the article."""

        PUBLISH = "publish", _("Publish")
        UPDATE = "update", _("Publish update")
        UNPUBLISH = "unpublish", _("Unpublish")

    release = models.ForeignKey(Release, on_delete=models.CASCADE, related_name="members", verbose_name=_("release"))
    article = models.ForeignKey(
        Article, on_delete=models.SET_NULL, null=True, related_name="memberships", verbose_name=_("article")
    )
    title = models.CharField(_("headline"), max_length=200, help_text=_("Kept if the article is deleted."))
    action = models.CharField(_("action"), max_length=10, choices=Action.choices)
    holds = models.BooleanField(null=True, default=True, editable=False)
    old_status = models.SmallIntegerField(
        choices=Article.Status.choices,
        null=True,
        editable=False,
        help_text=_("State of the article before the release."),
    )
    old_revision = models.PositiveIntegerField(
        null=True, editable=False, help_text=_("The live revision before its update.")
    )

    objects = ReleaseMemberQuerySet.as_manager()

    class Meta:
        verbose_name = _("article in a release")
        verbose_name_plural = _("articles in releases")
        default_permissions = ()
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["release", "article"], name="release_member_once"),
            models.UniqueConstraint(fields=["article", "holds"], name="release_member_held_once"),
        ]

    def __str__(self) -> str:
        return self.article.title if self.article else self.title
