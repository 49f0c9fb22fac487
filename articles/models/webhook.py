"""Webhooks: endpoints of other systems, and what was delivered to them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Self

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from articles.limits import ADDRESS_LENGTH, DESCRIPTION_LENGTH, WEBHOOK_ANSWER_LENGTH
from articles.models.base.timestamps import CreatedAtField
from articles.models.event import Event

NEWSROOM_KINDS = (Event.Kind.SCHEDULED, Event.Kind.UNSCHEDULED, Event.Kind.RELEASE_FAILED)
"""Kinds that tell what is not out: only for endpoints that may hear of it."""

PUBLIC_KINDS = tuple(kind for kind in Event.Kind if kind not in NEWSROOM_KINDS)


class Endpoint(models.Model):
    """A URL to which events are sent, in the order of their numbers up to `position`."""

    url = models.CharField(_("URL"), max_length=ADDRESS_LENGTH)
    description = models.CharField(_("description"), max_length=DESCRIPTION_LENGTH, blank=True)
    kinds = models.JSONField(_("events"), default=list, blank=True)  # empty: all public ones
    channels = models.ManyToManyField(
        "articles.Channel", blank=True, verbose_name=_("channels"), related_name="+", help_text=_("Empty: all.")
    )
    languages = models.JSONField(_("languages"), default=list, blank=True)
    is_full = models.BooleanField(
        _("with headline and summary"),
        default=False,
        help_text=_("Otherwise only the kind of the event, the number and the address of the article."),
    )
    hears_newsroom = models.BooleanField(
        _("also what is not out"),
        default=False,
        help_text=_("Schedules and failed releases, without any text. Needs a permission of its own."),
    )
    enabled = models.BooleanField(_("enabled"), default=True, help_text=_("While it is paused, events wait for it."))
    secret = models.CharField(max_length=100, editable=False)
    old_secret = models.CharField(max_length=100, blank=True, editable=False)
    old_secret_until = models.DateTimeField(null=True, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+", verbose_name=_("owner")
    )
    created_at = CreatedAtField(_("created"))
    position = models.BigIntegerField(default=0, editable=False)
    failing_since = models.DateTimeField(null=True, editable=False)
    failed_at = models.DateTimeField(null=True, editable=False)
    is_owner_mailed = models.BooleanField(default=False, editable=False)
    paused_because = models.CharField(max_length=20, blank=True, editable=False)  # by the system
    resumes_at = models.DateTimeField(null=True, editable=False)  # it asked for a pause
    leased_until = models.DateTimeField(null=True, editable=False)
    lease_token = models.CharField(max_length=36, blank=True, editable=False)

    class Meta:
        default_permissions = ()
        permissions = [
            ("manage_webhooks", _("Can manage webhooks")),
            ("send_schedules", _("Can let webhooks hear of what is not out")),
        ]
        verbose_name = _("webhook")
        verbose_name_plural = _("webhooks")
        ordering = ["pk"]

    def __str__(self) -> str:
        return self.description or self.url

    def heard_kinds(self) -> list[str]:
        """The kinds of events that are sent."""
        allowed = [*PUBLIC_KINDS, *(NEWSROOM_KINDS if self.hears_newsroom else ())]
        return [kind for kind in allowed if not self.kinds or kind in self.kinds]

    def secrets_at(self, now: datetime) -> list[str]:
        """The secrets that are valid: two for a while after a rotation."""
        is_rotating = self.old_secret and self.old_secret_until and self.old_secret_until > now
        return [self.secret, *([self.old_secret] if is_rotating else [])]


class DeliveryQuerySet(models.QuerySet["Delivery"]):
    """Queries for deliveries."""

    def pending(self) -> Self:
        """Those that are still to be sent."""
        return self.filter(state=Delivery.State.PENDING)


class Delivery(models.Model):
    """An event for an endpoint, and the last attempt to send it. Without an event it is a test."""

    class State(models.TextChoices):
        """What has become of it."""

        PENDING = "pending", _("Waiting")
        DELIVERED = "delivered", _("Delivered")
        FAILED = "failed", _("Failed for good")
        DROPPED = "dropped", _("Dropped")

    endpoint = models.ForeignKey(
        Endpoint, on_delete=models.CASCADE, related_name="deliveries", verbose_name=_("webhook"), db_index=False
    )
    event = models.ForeignKey(
        Event, on_delete=models.CASCADE, related_name="deliveries", null=True, verbose_name=_("event")
    )
    object_id = models.BigIntegerField(_("object ID"), null=True)
    state = models.CharField(_("state"), max_length=10, choices=State.choices, default=State.PENDING)
    attempts = models.PositiveSmallIntegerField(_("attempts"), default=0)
    due_at = models.DateTimeField(_("next attempt"))
    sent_at = models.DateTimeField(_("last attempt"), null=True)
    kind = models.CharField(_("sent as"), max_length=32, blank=True)
    code = models.PositiveSmallIntegerField(_("answer"), null=True)
    ms = models.PositiveIntegerField(_("duration in ms"), null=True)
    late_ms = models.BigIntegerField(_("late by ms"), null=True)
    error = models.CharField(_("error"), max_length=200, blank=True)
    body = models.TextField(_("request"), blank=True)
    response = models.CharField(_("text of the answer"), max_length=WEBHOOK_ANSWER_LENGTH, blank=True)

    objects = DeliveryQuerySet.as_manager()

    class Meta:
        default_permissions = ()
        verbose_name = _("delivery")
        verbose_name_plural = _("deliveries")
        ordering = ["-pk"]
        constraints = [models.UniqueConstraint(fields=["endpoint", "event"], name="delivery_once")]
        indexes = [
            models.Index(fields=["endpoint", "state", "due_at"], name="delivery_due"),
            models.Index(fields=["endpoint", "sent_at"], name="delivery_sent"),
            models.Index(fields=["endpoint", "object_id"], name="delivery_object"),
        ]

    def __str__(self) -> str:
        return f"{self.kind or self.pk}"


class EventSink(models.Model):
    """How far the sink of `EVENTS_SINK` has got: one row."""

    ONLY = "sink"

    name = models.CharField(max_length=20, unique=True, default=ONLY)
    position = models.BigIntegerField(default=0)
    leased_until = models.DateTimeField(null=True)
    lease_token = models.CharField(max_length=36, blank=True)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.name} {self.position}"


ROTATION = timedelta(days=1)
"""How long the old secret stays valid."""
