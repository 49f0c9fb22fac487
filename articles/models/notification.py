"""Notifications for users, in the admin or by mail, by their preferences."""

from __future__ import annotations

import uuid
from typing import Any, Self

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from articles.limits import REASON_LENGTH, TITLE_LENGTH
from articles.models.article import Article
from articles.models.release import Release
from articles.models.translatable import TranslatableField


class NotificationQuerySet(models.QuerySet["Notification"]):
    """Queries for notifications."""

    def in_desk_of(self, user: Any) -> Self:
        """Those to show to this user in the admin."""
        return self.filter(user=user.pk, in_desk=True)

    def unread(self) -> Self:
        """Those that were not read yet."""
        return self.filter(read_at__isnull=True)


class Notification(models.Model):
    """A notification for one user.

    Written while articles go live, which must not wait for a lock on a user: the database checks no foreign key here.
    The reconciler removes notifications of deleted users.
    """

    class Kind(models.TextChoices):
        """The kinds of notifications."""

        SUBMITTED = "submitted", _("Waiting for review")
        REJECTED = "rejected", _("Rejected")
        APPROVED = "approved", _("Approved")
        PUBLISHED = "published", _("Published")
        FAILED = "failed", _("Failed")
        OVERDUE = "overdue", _("Overdue")
        PULLED_BACK = "pulled_back", _("Approval revoked")
        ROLLED_BACK = "rolled_back", _("Rolled back")
        MENTIONED = "mentioned", _("Mentioned")
        NOTED = "noted", _("New note")
        ASSIGNED = "assigned", _("Assigned")
        PROPOSED = "proposed", _("Proposed change")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        related_name="notifications",
        db_constraint=False,
        db_index=False,
    )
    kind = models.CharField(_("about"), max_length=20, choices=Kind.choices)
    article = models.ForeignKey(
        Article,
        on_delete=models.SET_NULL,
        null=True,
        related_name="+",
        verbose_name=_("article"),
        db_constraint=False,
        db_index=False,
    )
    article_title = models.CharField(_("article"), max_length=TITLE_LENGTH)
    release = models.ForeignKey(
        Release,
        on_delete=models.SET_NULL,
        null=True,
        related_name="+",
        verbose_name=_("release"),
        db_constraint=False,
    )
    reason = TranslatableField(_("reason"), max_length=REASON_LENGTH, blank=True)
    occasion = models.CharField(
        max_length=64, blank=True, db_index=True, help_text=_("One notification for each occasion.")
    )
    in_desk = models.BooleanField(default=True)
    at = models.DateTimeField(_("time"))
    read_at = models.DateTimeField(_("read"), null=True, blank=True)
    mailed_at = models.DateTimeField(_("mailed"), null=True, blank=True)

    objects = NotificationQuerySet.as_manager()

    class Meta:
        default_permissions = ()
        verbose_name = _("notification")
        verbose_name_plural = _("notifications")
        indexes = [  # each begins with a foreign key, which needs no index of its own
            models.Index(fields=["user", "in_desk", "read_at", "at"], name="notification_inbox"),
            models.Index(fields=["article", "kind"], name="notification_article"),
        ]

    def __str__(self) -> str:
        """The kind alone: the admin names objects by this also to a user who has lost the role that reads headlines."""
        return self.get_kind_display()

    @property
    def is_about_note(self) -> bool:
        """Whether it is about a note on the article."""
        return self.kind in (self.Kind.MENTIONED, self.Kind.NOTED)


def by_default_in_desk() -> list[str]:
    """All kinds are shown in the admin."""
    return list(Notification.Kind.values)


def by_default_mailed() -> list[str]:
    """Only kinds that need action are mailed."""
    Kind = Notification.Kind  # noqa: N806 (it is a class)
    mailed = [Kind.REJECTED, Kind.FAILED, Kind.OVERDUE, Kind.PULLED_BACK, Kind.ROLLED_BACK]
    mailed += [Kind.MENTIONED, Kind.ASSIGNED]
    return [kind.value for kind in mailed]


class NotificationPreference(models.Model):
    """A user's notification preferences."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="notification_preference"
    )
    desk = models.JSONField(_("in the admin"), default=by_default_in_desk, blank=True)
    mail = models.JSONField(_("by mail"), default=by_default_mailed, blank=True)

    class Meta:
        default_permissions = ()
        verbose_name = _("notification preferences")
        verbose_name_plural = _("notification preferences")

    def __str__(self) -> str:
        return str(self.user)
