"""Stored responses for the `Idempotency-Key` header, API tokens and service accounts."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any, Self

from django.conf import settings
from django.db import models
from django.db.models.expressions import Combinable
from django.utils.translation import gettext_lazy as _

from articles.limits import LABEL_LENGTH, PURPOSE_LENGTH
from articles.models.base.timestamps import CreatedAtField
from scheduling.fields import ExactCharField

KEY_LENGTH = 255
RETENTION = timedelta(hours=24)


class IdempotentRequestQuerySet(models.QuerySet["IdempotentRequest"]):
    """Filters for stored requests."""

    def expired(self, now: datetime) -> Self:
        """Requests past their retention, whose key may be used again."""
        return self.filter(created_at__lte=now - RETENTION)


class IdempotentRequest(models.Model):
    """A successful request and its response, written in the transaction of its effect."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = ExactCharField(max_length=KEY_LENGTH)
    fingerprint = models.CharField(max_length=64, help_text=_("SHA-256 of method, address and body."))
    status = models.PositiveSmallIntegerField(null=True)
    body = models.TextField(blank=True)
    etag = models.CharField(max_length=64, blank=True, db_default="")  # which versions before this column leave out
    created_at = CreatedAtField(db_index=True)

    objects = IdempotentRequestQuerySet.as_manager()

    class Meta:
        verbose_name = _("remembered request")
        verbose_name_plural = _("remembered requests")
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="idempotent_request_once")]

    def __str__(self) -> str:
        return str(self.key)


class ServiceAccount(models.Model):
    """Marks a user that is a program: without password, address and second factor, it acts by tokens alone."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="service_account"
    )
    purpose = models.CharField(
        _("purpose"), max_length=PURPOSE_LENGTH, blank=True, help_text=_("What the program does.")
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+", verbose_name=_("created by")
    )
    created_at = CreatedAtField(_("created"))
    operators = models.JSONField(
        default=list, db_default=models.Value([], models.JSONField()), editable=False,
        help_text=_("Ids of the users who have issued its tokens; with its creator, they count as one person."),
    )  # fmt: skip

    class Meta:
        default_permissions = ()
        verbose_name = _("service account")
        verbose_name_plural = _("service accounts")

    def __str__(self) -> str:
        return str(self.user)


def is_service_account(user: Any) -> bool:
    """Whether this user is a program."""
    return ServiceAccount.objects.filter(pk=user.pk).exists()


class Scope(models.TextChoices):
    """Scopes of a token, within the permissions of its owner."""

    DESK_READ = "desk:read", _("read the newsroom")
    DESK_WRITE = "desk:write", _("change the newsroom")
    TASKS_READ = "tasks:read", _("read tasks")
    TASKS_WRITE = "tasks:write", _("change tasks")


class ApiTokenQuerySet(models.QuerySet["ApiToken"]):
    """Creates and filters tokens."""

    def issue(
        self, user: Any, *, name: str, scopes: Collection[str] = tuple(Scope), expires_at: datetime
    ) -> tuple[ApiToken, str]:
        """A new token and its secret, which is not stored."""
        secret = secrets.token_urlsafe(32)
        token = self.create(
            user=user, name=name, scopes=sorted(scopes), expires_at=expires_at, digest=digest_of(secret)
        )
        return token, secret

    def open_at(self, now: datetime | Combinable) -> Self:
        """Tokens that are valid at `now`."""
        return self.filter(expires_at__gt=now, user__is_active=True)

    def with_secret(self, secret: str) -> Self:
        """The token with this secret, if any."""
        return self.filter(digest=digest_of(secret))


def digest_of(secret: str) -> str:
    """The stored digest of a secret, which is long and random, so one round of SHA-256 is enough."""
    return hashlib.sha256(secret.encode()).hexdigest()


class ApiToken(models.Model):
    """A program's secret to act as its owner. It ends when it expires or its owner's password or account changes."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens", verbose_name=_("acts as")
    )
    name = models.CharField(
        _("name"), max_length=LABEL_LENGTH, help_text=_("What it is for, such as the program that uses it.")
    )
    scopes = models.JSONField(_("may"), default=list)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    created_at = CreatedAtField(_("created"))
    expires_at = models.DateTimeField(_("expires"))
    last_used_at = models.DateTimeField(_("last used"), null=True, blank=True)

    objects = ApiTokenQuerySet.as_manager()

    class Meta:
        default_permissions = ("view", "delete")
        verbose_name = _("API token")
        verbose_name_plural = _("API tokens")

    def __str__(self) -> str:
        return self.name
