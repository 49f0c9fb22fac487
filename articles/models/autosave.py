"""Autosaves of unsaved forms, and presence: who has an article open."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta
from typing import Any, Self

from django.conf import settings
from django.db import models

from articles.models.article import Article, Instant


class AutosaveQuerySet(models.QuerySet["Autosave"]):
    """Queries for autosaves."""

    def left_by(self, user: Any, article: Article | None) -> Self:
        """A user's autosaves of an article (None: of new articles), latest first."""
        return self.filter(user=user.pk, article=article).order_by("-saved_at")

    def forgotten(self, now: datetime) -> Self:
        """Autosaves that are old enough to be deleted."""
        return self.filter(saved_at__lt=now - Autosave.KEPT_FOR)


class Autosave(models.Model):
    """The unsaved form content of one window, stored until the article is saved or the user discards it."""

    KEPT_FOR = timedelta(days=30)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    article = models.ForeignKey(Article, on_delete=models.CASCADE, null=True, related_name="+")
    typed = models.JSONField(default=dict)  # field name to list of texts, as a browser sends a form
    number = models.BigIntegerField(default=0)  # grows with each version that the window sends
    saved_at = models.DateTimeField()

    objects = AutosaveQuerySet.as_manager()

    class Meta:
        default_permissions = ()
        indexes = [
            models.Index(fields=["user", "article", "saved_at"], name="autosave_latest"),
            models.Index(fields=["saved_at"], name="autosave_age"),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def title(self) -> str:
        """The headline that was typed; empty without one."""
        return " ".join(self.typed.get("title", []))


class SubmittedForm(models.Model):
    """A form of a new article that created one: its window can create no second."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    window = models.UUIDField()
    article = models.ForeignKey(Article, on_delete=models.CASCADE, null=True, related_name="+")
    digest = models.CharField(max_length=64)  # of what was submitted
    submitted_at = models.DateTimeField()

    class Meta:
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["user", "window"], name="form_submitted_once")]
        indexes = [models.Index(fields=["submitted_at"], name="submitted_form_age")]

    def __str__(self) -> str:
        return f"{self.window}"


class PresenceQuerySet(models.QuerySet["Presence"]):
    """Queries for presence."""

    def at(self, now: Instant) -> Self:
        """Those whose window reported recently."""
        return self.filter(until__gt=now)


class Presence(models.Model):
    """One window in which a user has the form of an article open."""

    LASTS = timedelta(seconds=30)

    window = models.UUIDField(primary_key=True)
    article = models.ForeignKey(Article, on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    since = models.DateTimeField()
    until = models.DateTimeField()

    objects = PresenceQuerySet.as_manager()

    class Meta:
        default_permissions = ()
        indexes = [models.Index(fields=["article", "until"], name="presence_article")]

    def __str__(self) -> str:
        return str(self.user)
