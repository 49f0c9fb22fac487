"""Releases: articles, updates and unpublishings that take effect together, in one commit."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any, Self

from django.conf import settings
from django.db import models, transaction
from django.utils.translation import gettext_lazy as _, pgettext_lazy

from articles.limits import RELEASE_NAME_LENGTH, TITLE_LENGTH
from articles.models.article import Article, Instant
from articles.models.base.timestamps import ChangedAtField, CreatedAtField
from scheduling.database import among
from scheduling.services import overdue_before


class ReleaseQuerySet(models.QuerySet["Release"]):
    """Queries for releases."""

    def pending(self) -> Self:
        """Those that may still be published."""
        return self.filter(status__in=Release.Status.pending())

    def scheduled(self) -> Self:
        """Scheduled releases."""
        return self.filter(status=Release.Status.SCHEDULED, publish_at__isnull=False)

    def due(self, now: Instant) -> Self:
        """Scheduled releases whose time has come, and which no worker has stored yet."""
        return self.scheduled().filter(publish_at__lte=now)

    def overdue(self, now: datetime) -> Self:
        """Scheduled releases that no worker has stored in time: readers have them, unless they fail."""
        return self.scheduled().filter(publish_at__lte=overdue_before(now))


class Release(models.Model):
    """Articles that change for readers in the same instant, or not at all.

    Every save syncs the release's task and its members in the same transaction.
    """

    class Status(models.TextChoices):
        """The status of a release; `articles.workflow` has the transitions."""

        DRAFT = "draft", pgettext_lazy("release", "Draft")
        SCHEDULED = "scheduled", _("Scheduled")
        PUBLISHED = "published", _("Published")
        FAILED = "failed", _("Failed")
        CANCELLED = "cancelled", _("Cancelled")
        ROLLED_BACK = "rolled_back", _("Rolled back")

        @classmethod
        def pending(cls) -> tuple[Release.Status, ...]:
            """It may still be published, and holds its members."""
            return cls.DRAFT, cls.SCHEDULED, cls.FAILED

    name = models.CharField(_("name"), max_length=RELEASE_NAME_LENGTH)
    status = models.CharField(_("status"), max_length=20, choices=Status.choices, default=Status.DRAFT)
    reason = models.TextField(
        _("reason"), blank=True, help_text=_("Why it failed: the articles and their blocking issues.")
    )
    publish_at = models.DateTimeField(_("publish at"), null=True, blank=True)
    published_at = models.DateTimeField(
        _("went live"), null=True, blank=True, editable=False, help_text=_("The actual time of all its articles.")
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        editable=False,
        related_name="+",
        verbose_name=_("created by"),
    )
    created_at = CreatedAtField(_("created"))
    updated_at = ChangedAtField(_("last modified"))

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
        """Save it; it holds its members while it is pending."""
        with transaction.atomic():
            super().save(*args, **options)
            self.bind_members()

    def bind_members(self) -> None:
        """Hold or release the members. Raises `IntegrityError` if another release holds one."""
        self.members.update(holds=True if self.is_pending else None)

    @property
    def due_since(self) -> datetime:
        """From when readers see it; one that was scheduled for a past time is seen from then on."""
        assert self.publish_at is not None  # noqa: S101 (the caller chose one with a time)
        return max(self.publish_at, self.updated_at)

    @property
    def is_pending(self) -> bool:
        """Whether it may still be published."""
        return self.status in self.Status.pending()


class ReleaseMemberQuerySet(models.QuerySet["ReleaseMember"]):
    """Queries for members of releases."""

    def holding(self, article_ids: Collection[int], *actions: str) -> Self:
        """The members of pending releases for these articles, with one of these actions (default: any)."""
        held = self.filter(article_id__in=among(article_ids), holds=True)
        return held.filter(action__in=actions) if actions else held


class ReleaseMember(models.Model):
    """An article in a release, and the action for it.

    `holds` is true while the release is pending and null afterwards, so that the database itself refuses an article in
    two pending releases. A member outlives its article: a release is not published without one of its articles.
    """

    class Action(models.TextChoices):
        """The action for the article."""

        PUBLISH = "publish", _("Publish")
        UPDATE = "update", _("Publish update")
        UNPUBLISH = "unpublish", _("Unpublish")

    release = models.ForeignKey(Release, on_delete=models.CASCADE, related_name="members", verbose_name=_("release"))
    article = models.ForeignKey(
        Article, on_delete=models.SET_NULL, null=True, related_name="memberships", verbose_name=_("article")
    )
    title = models.CharField(_("headline"), max_length=TITLE_LENGTH, help_text=_("Stays if the article is deleted."))
    action = models.CharField(_("action"), max_length=10, choices=Action.choices)
    holds = models.BooleanField(null=True, default=True, editable=False)
    old_status = models.SmallIntegerField(
        choices=Article.Status.choices, null=True, editable=False, help_text=_("Of the article, before the release.")
    )
    old_revision = models.PositiveIntegerField(
        null=True, editable=False, help_text=_("The live revision before the update.")
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
