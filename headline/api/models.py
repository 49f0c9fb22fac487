"""The memory behind the `Idempotency-Key` header."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Self

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from scheduling.fields import ExactCharField

KEY_LENGTH = 255
RETENTION = timedelta(hours=24)


class IdempotentRequestQuerySet(models.QuerySet["IdempotentRequest"]):
    """The words in which old requests are asked for."""

    def expired(self, now: datetime) -> Self:
        """Requests whose key may be used afresh."""
        return self.filter(created_at__lte=now - RETENTION)


class IdempotentRequest(models.Model):
    """A request that was carried out, and its answer; written in the transaction of its effect."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = ExactCharField(max_length=KEY_LENGTH)
    fingerprint = models.CharField(max_length=64, help_text=_("SHA-256 of method, address and body."))
    status = models.PositiveSmallIntegerField(null=True)
    body = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    objects = IdempotentRequestQuerySet.as_manager()

    class Meta:
        verbose_name = _("remembered request")
        verbose_name_plural = _("remembered requests")
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="idempotent_request_once")]

    def __str__(self) -> str:
        return str(self.key)
