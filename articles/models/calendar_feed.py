"""The secret address at which a user's calendar program fetches the newsroom calendar."""

from __future__ import annotations

import secrets
from typing import Any

from django.conf import settings
from django.db import models
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.translation import gettext_lazy as _

from articles.models.base.timestamps import ChangedAtField

NONCE_BYTES = 16


class CalendarFeedQuerySet(models.QuerySet["CalendarFeed"]):
    """Queries for calendar feeds."""

    def renew(self, user: Any) -> CalendarFeed:
        """Give a user a new address; the old one becomes invalid."""
        nonce = secrets.token_hex(NONCE_BYTES)
        return self.update_or_create(user_id=user.pk, defaults={"nonce": nonce})[0]

    def revoke(self, user: Any) -> None:
        """Delete the user's address."""
        self.filter(user_id=user.pk).delete()

    def with_secret(self, secret: str) -> CalendarFeed | None:
        """The feed of this secret, if it is valid and its user is active staff; else None."""
        number = secret.partition("-")[0]
        if not (number.isascii() and number.isdecimal() and len(number) < 19):
            return None
        feed = self.select_related("user").filter(pk=int(number), user__is_active=True, user__is_staff=True).first()
        if feed is None:
            return None
        keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
        return feed if any(constant_time_compare(feed.secret_by(key), secret) for key in keys) else None


class CalendarFeed(models.Model):
    """A user's calendar address.

    The secret is derived from this row and the site's secret key, so a copy of the database does not reveal it.
    """

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        primary_key=True,
        related_name="calendar_feed",
        verbose_name=_("user"),
    )
    nonce = models.CharField(max_length=2 * NONCE_BYTES)
    renewed_at = ChangedAtField(_("renewed"))

    objects = CalendarFeedQuerySet.as_manager()

    class Meta:
        default_permissions = ()
        verbose_name = _("calendar feed")
        verbose_name_plural = _("calendar feeds")

    def __str__(self) -> str:
        return str(self.user)

    @property
    def secret(self) -> str:
        """The last part of the address."""
        return self.secret_by(settings.SECRET_KEY)

    def secret_by(self, key: str) -> str:
        """The secret derived with this key, which may be a fallback key."""
        salt, value = "articles.calendar_feed", f"{self.pk}:{self.nonce}"
        return f"{self.pk}-{salted_hmac(salt, value, secret=key, algorithm='sha256').hexdigest()}"
