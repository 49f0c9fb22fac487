"""Web push: who wants to hear of breaking news, what was pushed, and to whom."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Count, Exists, OuterRef, Q
from django.utils.translation import gettext_lazy as _

from articles.limits import ALERT_LENGTH, PUSH_ADDRESS_LENGTH
from articles.models.alert import Alert
from articles.models.base.timestamps import CreatedAtField

_DAY = timedelta(days=1)


class PushSubscriptionQuerySet(models.QuerySet["PushSubscription"]):
    """Queries for subscriptions."""

    def of_topics(self, channel_id: int | None) -> Self:
        """Those that hear of a breaking alert about an article of this channel."""
        chosen = PushSubscription.channels.through.objects.filter(pushsubscription=OuterRef("pk"), channel=channel_id)
        return self.filter(Q(breaking=True) | Exists(chosen))

    def not_full(self, now: datetime, *, most: int) -> Self:
        """Those that have heard of fewer than so many alerts in a day."""
        day = (now - _DAY, now + _DAY)  # what is later was sent before the clock was set back
        rows = PushMessage.objects.filter(subscription=OuterRef("pk"), sent_at__range=day).order_by()
        full = rows.values("subscription").annotate(number=Count("pk")).filter(number__gte=most)
        return self.exclude(Exists(full))


class PushSubscription(models.Model):
    """A browser that wants to hear of breaking news, by the address that its push service gave it.

    It names no person: no cookie, no address of the network and no language.
    """

    endpoint = models.CharField(max_length=PUSH_ADDRESS_LENGTH)
    digest = models.CharField(max_length=64, unique=True)  # of the endpoint, which is too long for an index
    host = models.CharField(max_length=255)  # with the scheme and the port, if they are not the usual ones
    p256dh = models.CharField(max_length=100)
    auth = models.CharField(max_length=30)
    breaking = models.BooleanField(default=False)
    channels = models.ManyToManyField("articles.Channel", related_name="+")
    created_at = CreatedAtField()

    objects = PushSubscriptionQuerySet.as_manager()

    class Meta:
        default_permissions = ()
        verbose_name = _("push subscription")
        verbose_name_plural = _("push subscriptions")
        indexes = [models.Index(fields=["host"], name="push_subscription_host")]

    def __str__(self) -> str:
        return f"{self.host} {self.pk}"


class Push(models.Model):
    """One alert on its way to those who want to hear of it, once for each `key`."""

    class State(models.TextChoices):
        """What has become of it."""

        SENDING = "sending", _("Sending")
        SENT = "sent", _("Sent")
        CANCELLED = "cancelled", _("Cancelled")

    class Reason(models.TextChoices):
        """Why it was cancelled."""

        OFF = "off", _("the alert was turned off or deleted")
        NOT_LIVE = "not_live", _("readers no longer saw the article")
        OVER = "over", _("the time of the alert was over")
        QUIET = "quiet", _("it was due in quiet hours")
        RESTORED = "restored", _("a backup was restored")

    key = models.CharField(max_length=60, unique=True)
    alert = models.ForeignKey(Alert, on_delete=models.SET_NULL, null=True, related_name="pushes")
    article = models.ForeignKey("articles.Article", on_delete=models.CASCADE, related_name="+")
    text = models.CharField(max_length=ALERT_LENGTH)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    state = models.CharField(max_length=10, choices=State.choices, default=State.SENDING)
    reason = models.CharField(max_length=10, choices=Reason.choices, blank=True)
    last_subscription = models.BigIntegerField(default=0)  # who subscribes later does not hear of it
    created_at = models.DateTimeField()
    due_at = models.DateTimeField()  # when more is to be sent
    ended_at = models.DateTimeField(null=True)
    accepted = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0)
    doubtful = models.PositiveIntegerField(default=0)
    gone = models.PositiveIntegerField(default=0)
    leased_until = models.DateTimeField(null=True)
    lease_token = models.CharField(max_length=36, blank=True)

    class Meta:
        default_permissions = ()
        verbose_name = _("push")
        verbose_name_plural = _("pushes")
        ordering = ["-pk"]
        indexes = [models.Index(fields=["state", "due_at"], name="push_due")]

    def __str__(self) -> str:
        return self.text


class PushMessage(models.Model):
    """The ledger: a push for one subscription, written before it is sent, so that it is never sent twice."""

    class State(models.TextChoices):
        """What is known of it."""

        SENDING = "sending"
        ACCEPTED = "accepted"
        WAITING = "waiting"  # the service has said that it did not take it
        FAILED = "failed"
        DOUBTFUL = "doubtful"  # it may have arrived, and is not repeated

    push = models.ForeignKey(Push, on_delete=models.CASCADE, related_name="messages", db_index=False)
    subscription = models.ForeignKey(PushSubscription, on_delete=models.CASCADE, related_name="+", db_index=False)
    state = models.CharField(max_length=10, choices=State.choices, default=State.SENDING)
    attempts = models.PositiveSmallIntegerField(default=1)
    code = models.PositiveSmallIntegerField(null=True)
    sent_at = models.DateTimeField()
    due_at = models.DateTimeField(null=True)

    class Meta:
        default_permissions = ()
        verbose_name = _("push message")
        verbose_name_plural = _("push messages")
        constraints = [models.UniqueConstraint(fields=["push", "subscription"], name="push_once")]
        indexes = [
            models.Index(fields=["subscription", "sent_at"], name="push_message_sent"),
            models.Index(fields=["push", "state", "due_at"], name="push_message_due"),
        ]

    def __str__(self) -> str:
        return f"{self.push_id} {self.subscription_id}"
